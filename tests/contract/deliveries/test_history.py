"""History of deliveries by REST: lists, filters, one run, one delivery, endpoints (contract sections 5, 7 and 8)."""

from datetime import timedelta
from typing import Any

import pytest
from tests.contract.conftest import Account, Api, StartApi, shared_api, until
from tests.contract.delivery_stories import completed_story, dispatched, five_failures, listed, sent
from tests.contract.executor_client import error_of, without_request_id

from checklist_crds.ids import new_id
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.runs.commands import AnswerStep, Submit
from checklist_crds.times import format_timestamp, parse_timestamp, utc_now

api = shared_api


async def test_the_history_shows_an_event_from_pending_to_delivered_or_retried(api: Api) -> None:
    story = await dispatched(api)
    path = f"/v1/runs/{story.run_id}/deliveries"
    assert await listed(api.account) == await listed(api.account, path) == []
    await story.does(AnswerStep(step_id="s-clean", value=True))
    [entry] = (await story.run()).status.outbox
    event = {"event_id": entry.event_id, "event": "step.completed", "seq": 1, "ts": format_timestamp(entry.ts)}
    nothing_yet = {
        "attempts_made": 0,
        "attempts": [],
        "next_attempt_at": None,
        "finished_at": None,
        "last_replay": None,
    }
    expected = event | nothing_yet | {"run_id": story.run_id, "status": "pending", "host": "hooks.example.com"}
    expected |= {"replayable": False, "replay_refusal": "retry_pending"}
    assert await listed(api.account) == await listed(api.account, path) == [expected]
    assert await story.shown(entry.event_id) == expected

    first, second, *_ = five_failures(utc_now())
    retried = await story.shown(await story.keeps(first, second))
    assert [attempt["number"] for attempt in retried["attempts"]] == [1, 2]
    assert retried["attempts"][0]["detail"] == "The endpoint answered with 503."
    assert retried["attempts"][0]["next_attempt_at"] == retried["attempts"][1]["started_at"]
    due = {"attempts_made": 2, "next_attempt_at": format_timestamp(second.next_attempt_at or utc_now())}
    assert retried == expected | due | {"attempts": retried["attempts"]}
    await until(lambda: listed(api.account, event="step.completed"), lambda found: found == [retried])

    await story.does(Submit())
    at = utc_now()
    final = await story.shown(await story.records(sent(at=at, took_ms=41), seq=2))
    answer = {"outcome": "success", "http_status": 200, "detail": None, "manual": False, "next_attempt_at": None}
    assert final["attempts"] == [answer | {"number": 1, "started_at": format_timestamp(at), "duration_ms": 41}]
    ended = format_timestamp(at + timedelta(milliseconds=41))
    assert (final["event"], final["status"], final["finished_at"]) == ("run.completed", "delivered", ended)
    # What a final run says of itself can be sent again; what a step said is not kept.
    assert (final["replayable"], final["replay_refusal"]) == (True, None)
    second_page = {"data": [final], "pagination": {"total": 2, "page": 2, "per_page": 1, "next_page": None}}
    await until(
        lambda: api.http.get(path, params={"page": 2, "per_page": 1}), lambda answer: answer.json() == second_page
    )
    other = await completed_story(api)
    flying = await other.shown(await other.keeps(five_failures()[0], seq=2, phase=DeliveryPhase.IN_FLIGHT))
    assert (flying["status"], flying["replayable"]) == ("in_flight", False)
    step = await other.shown(await other.records(sent(), seq=1))
    assert (step["status"], step["replayable"], step["replay_refusal"]) == ("delivered", False, "payload_not_kept")
    assert [each["seq"] for each in await listed(api.account, path)] == [1, 2]


async def test_the_list_filters_by_status_event_run_host_and_outcome(api: Api) -> None:
    one, two = await completed_story(api), await completed_story(api, url="https://other.example.com/")
    failed, delivered = await one.keeps(*five_failures(), seq=1), await two.records(sent(), seq=2)

    async def ids(**query: str) -> set[str]:
        return {each["event_id"] for each in await listed(api.account, **query)}

    await until(lambda: ids(status="failed"), lambda found: found == {failed})
    await until(lambda: ids(status="delivered"), lambda found: found == {delivered})
    assert len(await ids()) == 4
    assert len(await ids(status="pending")) == 2
    assert delivered in await ids(event="run.completed")
    assert len(await ids(event="run.completed")) == 2
    assert await ids(run_id=one.run_id) == await ids(host="HOOKS.example.com")
    assert await ids(run_id=one.run_id, status="failed", outcome="http_5xx") == {failed}
    assert await ids(outcome="success") == {delivered}
    for nothing in ({"outcome": "timeout"}, {"host": "nowhere.example.com"}, {"run_id": "r-nonsense"}):
        assert await ids(**nothing) == set()
    moments = [each["ts"] for each in await listed(api.account)]
    assert moments == sorted(moments, reverse=True)
    after = await listed(api.account, created_after=moments[2])
    before = await listed(api.account, created_before=moments[2])
    assert {each["ts"] for each in (*after, *before)} == set(moments) - {moments[2]}


async def test_a_filter_or_a_window_that_makes_no_sense_is_refused(api: Api) -> None:
    filters = (
        *("status=open", "status=", "status=failed&status=pending", "event=step.started", "outcome=bad"),
        *("created_after=yesterday", "created_before=2026-11-21T13:50:00", "page=0", "per_page=x"),
    )
    windows = ("0", "-1", "x", "745", "1.5", "", "9999999999")
    for path in (*(f"deliveries?{query}" for query in filters), *(f"endpoints?window_hours={w}" for w in windows)):
        assert error_of(await api.http.get(f"/v1/{path}")) == (400, "invalid_parameter"), path


async def test_a_foreign_delivery_is_answered_like_one_that_never_was(api: Api) -> None:
    story = await completed_story(api)
    event_id = await story.keeps(*five_failures())
    stranger = await api.make_account()
    for method, suffix in (("GET", ""), ("POST", "/replay")):
        answers = {
            without_request_id(await stranger.http.request(method, f"/v1/deliveries/{id_}{suffix}"))
            for id_ in (event_id, new_id("evt"), "evt-nonsense", "%2e%2e")
        }
        [(status, body)] = answers
        assert (status, b"delivery_not_found" in body) == (404, True)
    foreign_run = await stranger.http.get(f"/v1/runs/{story.run_id}/deliveries")
    assert error_of(foreign_run) == (404, "run_not_found")
    assert await listed(stranger) == []
    assert await endpoints(stranger) == []
    assert (await story.shown(event_id))["last_replay"] is None


async def test_what_the_url_says_beyond_its_host_is_shown_nowhere_and_what_is_deleted_leaves_the_list(api: Api) -> None:
    story = await completed_story(api)
    event_id = await story.keeps(*five_failures())
    await until(lambda: listed(api.account, status="failed"), lambda found: len(found) == 1)
    one = f"/v1/deliveries/{event_id}"
    for path in ("/v1/deliveries", one, f"/v1/runs/{story.run_id}/deliveries", "/v1/endpoints"):
        text = (await api.http.get(path)).text
        assert "hooks.example.com" in text
        assert "T0-a-token" not in text
        assert "a-password" not in text
    await api.kube.delete(RUN, story.run_id, api.namespace)
    await api.kube.delete(WEBHOOK_DELIVERY, event_id, api.namespace)
    await until(lambda: listed(api.account), lambda found: found == [])
    assert (await api.http.get(one)).status_code == 404


async def endpoints(account: Account, **query: Any) -> list[dict[str, Any]]:
    return await listed(account, "/v1/endpoints", **query)


async def test_an_endpoint_shows_how_it_does(api: Api) -> None:
    bad, good = await completed_story(api), await completed_story(api, url="https://good.example.com/hook")
    failures = five_failures()
    await bad.keeps(*failures, seq=1)
    at = utc_now()
    await good.records(sent(at=at, took_ms=100), seq=1)
    await good.records(sent(at=at, took_ms=1000), seq=2)
    found = await until(lambda: endpoints(api.account), lambda found: [each["attempts"] for each in found] == [2, 5])
    names = ("host", "deliveries", "success_rate", "pending", "failed", "last_error", "last_success_at")
    last_error = {"at": format_timestamp(failures[-1].started_at), "outcome": "http_5xx", "http_status": 503}
    assert [tuple(each[name] for name in names) for each in found] == [
        ("good.example.com", 2, 1.0, 0, 0, None, format_timestamp(at)),
        ("hooks.example.com", 2, 0.0, 1, 1, last_error, None),
    ]
    assert found[0]["latency_p50_ms"] == pytest.approx(100, rel=0.05)
    assert found[0]["latency_p95_ms"] == pytest.approx(1000, rel=0.05)


async def test_the_window_of_the_endpoints_is_in_full_hours(start_api: StartApi) -> None:
    now = utc_now()
    api = await start_api(clock=lambda: now)
    await (await completed_story(api)).records(sent(at=now), seq=1)
    await until(lambda: endpoints(api.account), lambda found: found[0]["attempts"] == 1)
    now += timedelta(hours=3)
    response = (await api.http.get("/v1/endpoints", params={"window_hours": 2})).json()
    assert parse_timestamp(response["since"]) == (now - timedelta(hours=2)).replace(minute=0, second=0, microsecond=0)
    [gone] = response["data"]
    assert (gone["attempts"], gone["deliveries"], gone["success_rate"], gone["latency_p50_ms"]) == (0, 0, None, None)
    assert gone["last_success_at"] is not None
    [there] = await endpoints(api.account, window_hours=4)
    assert (there["attempts"], there["success_rate"]) == (1, 1.0)
