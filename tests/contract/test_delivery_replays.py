"""Asking for replays by REST: of one delivery, and of many (delivery profile, "Outcome"). The operator makes them;
`tests/cluster/test_replay_by_rest.py` has both at work."""

import asyncio
from typing import Any

import pytest

from checklist_api import replay_directory
from checklist_crds.delivery_types import REPLAY_ANNOTATION, REPLAY_BY_ANNOTATION, LastReplay, ReplayRequest
from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import DELIVERY_REPLAY, RUN, WEBHOOK_DELIVERY
from checklist_crds.outcome_class import OutcomeClass
from checklist_crds.resource_types import ORGANIZATION_LABEL
from checklist_crds.times import format_timestamp, parse_timestamp, utc_now

from .conftest import Account, Api, StartApi, owned
from .delivery_stories import dispatched, eventually, five_failures, sent

KEY = {"Idempotency-Key": "mondays-outage"}


async def replay_objects(account: Account, api: Api) -> list[dict[str, Any]]:
    label = f"{ORGANIZATION_LABEL}={account.organization}"
    found, _ = await api.kube.list_all(DELIVERY_REPLAY, account.namespace, label_selector=label)
    return found


async def a_failed_one(api: Api) -> str:
    story = await dispatched(api)
    await story.completes()
    return await story.keeps(*five_failures())


async def test_a_replay_of_a_failed_delivery_is_an_annotation_that_says_when_and_who(api: Api) -> None:
    event_id = await a_failed_one(api)
    before = utc_now()
    response = await api.http.post(f"/v1/deliveries/{event_id}/replay")
    assert response.status_code == 202
    shown = response.json()
    assert (shown["status"], shown["replayable"], shown["replay_refusal"]) == ("failed", False, "replay_under_way")
    annotations = (await api.kube.get(WEBHOOK_DELIVERY, event_id, api.namespace))["metadata"]["annotations"]
    assert before <= parse_timestamp(annotations[REPLAY_ANNOTATION]) <= utc_now()
    assert annotations[REPLAY_BY_ANNOTATION] == "Ada Lovelace"
    assert (await api.http.get(f"/v1/deliveries/{event_id}")).json() == shown
    [listed] = (await api.http.get("/v1/deliveries?status=failed")).json()["data"]
    assert listed == shown


async def test_a_second_replay_is_refused_until_the_first_has_ended(api: Api) -> None:
    event_id = await a_failed_one(api)
    path = f"/v1/deliveries/{event_id}"
    assert (await api.http.post(f"{path}/replay")).status_code == 202
    for _ in range(2):  # asked for; then, as the operator accepted it
        refused = await api.http.post(f"{path}/replay")
        assert (refused.status_code, refused.json()["error"]) == (409, "replay_refused")
        accepted = ReplayRequest(requested_at=utc_now(), requested_by="Ada").to_kube()
        await api.kube.patch_status(WEBHOOK_DELIVERY, event_id, {"replay": accepted, "settled": None}, api.namespace)
        await api.kube.patch(
            WEBHOOK_DELIVERY, event_id, {"metadata": {"annotations": {REPLAY_ANNOTATION: None}}}, api.namespace
        )
    assert (await api.http.get(path)).json()["replay_refusal"] == "replay_under_way"
    at = utc_now()
    ended = LastReplay(
        requested_at=at, requested_by="Ada", attempted_at=at, outcome=OutcomeClass.HTTP_5XX, http_status=503
    ).to_kube()
    again = sent(5, status=503).model_copy(update={"manual": True})
    attempts = [attempt.to_kube() for attempt in (*five_failures(), again)]
    await api.kube.patch_status(
        WEBHOOK_DELIVERY,
        event_id,
        {"replay": None, "lastReplay": ended, "settled": True, "attempts": attempts},
        api.namespace,
    )
    shown = (await api.http.get(path)).json()
    assert (shown["status"], shown["replayable"]) == ("failed", True)
    assert [(attempt["number"], attempt["manual"]) for attempt in shown["attempts"]][4:] == [(5, False), (5, True)]
    assert shown["last_replay"] == {
        "requested_at": format_timestamp(at),
        "requested_by": "Ada",
        "attempted_at": format_timestamp(at),
        "outcome": "http_5xx",
        "http_status": 503,
    }
    [listed] = await eventually(
        lambda: _listed(api, status="failed"), lambda found: found[0]["last_replay"] is not None
    )
    assert listed == shown
    assert (await api.http.post(f"{path}/replay")).status_code == 202


async def test_while_a_retry_is_to_come_a_replay_is_refused_and_asks_for_nothing(api: Api) -> None:
    story = await dispatched(api)
    await story.completes()
    retried = await story.keeps(*five_failures(utc_now())[:2], seq=1)
    waiting = (await story.run()).status.outbox[0].event_id
    for event_id in (retried, waiting):
        refused = await api.http.post(f"/v1/deliveries/{event_id}/replay")
        assert (refused.status_code, refused.json()["error"]) == (409, "replay_refused")
    body = await api.kube.get(WEBHOOK_DELIVERY, retried, api.namespace)
    assert REPLAY_ANNOTATION not in body["metadata"].get("annotations", {})
    assert await replay_objects(api.account, api) == []


async def test_what_a_step_said_is_no_longer_kept_once_it_was_delivered(api: Api) -> None:
    story = await dispatched(api)
    await story.completes()
    event_id = await story.records(sent(), seq=1)
    refused = await api.http.post(f"/v1/deliveries/{event_id}/replay")
    assert (refused.status_code, refused.json()["error"]) == (409, "payload_not_kept")
    assert await replay_objects(api.account, api) == []


async def test_the_event_of_a_final_run_is_replayed_through_an_object_for_just_that_event(api: Api) -> None:
    story = await dispatched(api)
    await story.completes()
    event_id = await story.records(sent(), seq=2)
    response = await api.http.post(f"/v1/deliveries/{event_id}/replay")
    assert (response.status_code, response.json()["replay_refusal"]) == (202, "replay_under_way")
    [made] = await replay_objects(api.account, api)
    assert made["spec"] == {
        "organizationRef": {"name": api.organization},
        "filter": {"runRef": {"name": story.run_id}, "eventIds": [event_id]},
        "requestedBy": "Ada Lovelace",
    }
    again = await api.http.post(f"/v1/deliveries/{event_id}/replay")
    assert (again.status_code, again.json()["error"]) == (409, "replay_refused")
    await api.kube.patch_status(DELIVERY_REPLAY, made["metadata"]["name"], {"phase": "Completed"}, api.namespace)
    await eventually(lambda: story.shown(event_id), lambda shown: shown["replayable"])
    assert (await api.http.post(f"/v1/deliveries/{event_id}/replay")).status_code == 202
    assert len(await replay_objects(api.account, api)) == 2


async def test_a_key_makes_a_replay_of_one_delivery_safe_to_ask_for_again(start_api: StartApi) -> None:
    one, other = await start_api(), await start_api()
    event_id = await a_failed_one(one)
    path = f"/v1/deliveries/{event_id}/replay"
    await eventually(lambda: _listed(other, status="failed"), lambda found: len(found) == 1)
    first = await one.http.post(path, headers=KEY)
    second = await other.http.post(path, headers=KEY)
    assert (first.status_code, second.status_code) == (202, 202)
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    [made] = await replay_objects(one.account, one)
    assert made["spec"]["filter"]["eventIds"] == [event_id]
    reused = await one.http.post(f"/v1/deliveries/{await a_failed_one(one)}/replay", headers=KEY)
    assert (reused.status_code, reused.json()["error"]) == (422, "idempotency_key_reused")


async def test_many_who_ask_at_once_get_one_replay(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    event_id = await a_failed_one(api)
    await eventually(lambda: _listed(api, status="failed"), lambda found: len(found) == 1)
    patch, all_have_read = api.services.client.patch, asyncio.Barrier(4)
    waited = 0

    async def patch_when_all_have_read(*arguments: Any, **options: Any) -> dict[str, Any]:
        nonlocal waited
        if waited < 4:
            waited += 1
            await all_have_read.wait()
        return await patch(*arguments, **options)

    monkeypatch.setattr(api.services.client, "patch", patch_when_all_have_read)
    answers = await asyncio.gather(*(api.http.post(f"/v1/deliveries/{event_id}/replay") for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]


async def test_a_bulk_replay_is_an_object_that_says_what_and_who(api: Api) -> None:
    run_id, event_id = new_id("r"), new_id("evt")
    wanted = {
        "status": "failed",
        "run_id": run_id,
        "event_ids": [event_id, event_id],
        "event": "run.completed",
        "host": "Hooks.Example.com",
        "outcome": "timeout",
        "finished_after": "2026-11-21T07:00:00+01:00",
        "finished_before": None,
    }
    response = await api.http.post("/v1/deliveries/replay", json={"filter": wanted, "dry_run": True})
    assert response.status_code == 202
    shown = response.json()
    assert response.headers["Location"] == f"/v1/deliveries/replays/{shown['replay_id']}"
    understood = {
        "status": "failed",
        "run_id": run_id,
        "event_ids": [event_id],
        "event": "run.completed",
        "host": "hooks.example.com",
        "outcome": "timeout",
        "finished_after": "2026-11-21T06:00:00.000Z",
        "finished_before": None,
    }
    requested_at = shown.pop("requested_at")
    assert parse_timestamp(requested_at) <= utc_now()
    assert shown == {
        "replay_id": shown["replay_id"],
        "status": "pending",
        "filter": understood,
        "dry_run": True,
        "requested_by": "Ada Lovelace",
        "total": None,
        "done": 0,
        "delivered": 0,
        "failed": 0,
        "refused": 0,
        "refusals": [],
        "started_at": None,
        "finished_at": None,
    }
    [made] = await replay_objects(api.account, api)
    assert made["spec"] == {
        "organizationRef": {"name": api.organization},
        "dryRun": True,
        "requestedBy": "Ada Lovelace",
        "filter": {
            "phase": "Failed",
            "runRef": {"name": run_id},
            "eventIds": [event_id],
            "event": "run.completed",
            "host": "hooks.example.com",
            "outcome": "timeout",
            "finishedAfter": "2026-11-21T06:00:00.000Z",
        },
    }


async def test_its_progress_is_shown_as_the_operator_writes_it(api: Api) -> None:
    replay_id = (await api.http.post("/v1/deliveries/replay", json={"filter": {}})).json()["replay_id"]
    status = {
        "phase": "Running",
        "total": 7,
        "done": 4,
        "delivered": 1,
        "failed": 1,
        "refused": 2,
        "refusals": [{"reason": "payload_not_kept", "count": 2}],
        "startedAt": "2026-11-21T09:00:00.500Z",
    }
    await api.kube.patch_status(DELIVERY_REPLAY, replay_id, status, api.namespace)
    shown = (await api.http.get(f"/v1/deliveries/replays/{replay_id}")).json()
    assert shown["status"] == "running"
    assert [shown[name] for name in ("total", "done", "delivered", "failed", "refused")] == [7, 4, 1, 1, 2]
    assert shown["refusals"] == status["refusals"]
    assert (shown["started_at"], shown["finished_at"]) == ("2026-11-21T09:00:00.500Z", None)
    await eventually(lambda: _listed(api, "/v1/deliveries/replays"), lambda found: found == [shown])


async def test_replays_are_listed_newest_first_and_each_for_its_organization_only(api: Api) -> None:
    ids = []
    for _ in range(3):
        ids.append((await api.http.post("/v1/deliveries/replay", json={"filter": {}})).json()["replay_id"])
        await asyncio.sleep(0.002)
    page = (await api.http.get("/v1/deliveries/replays", params={"per_page": 2})).json()
    assert [each["replay_id"] for each in page["data"]] == [ids[2], ids[1]]
    assert page["pagination"] == {"total": 3, "page": 1, "per_page": 2, "next_page": 2}
    stranger = await api.make_account()
    assert (await stranger.http.get("/v1/deliveries/replays")).json()["data"] == []
    answers = []
    for name in (ids[0], new_id("rpl"), "no", "No", "%2e%2e", "x" * 300):
        response = await stranger.http.get(f"/v1/deliveries/replays/{name}")
        body = response.json()
        body.pop("request_id")
        answers.append((response.status_code, body))
    assert answers == [answers[0]] * 6
    assert (answers[0][0], answers[0][1]["error"]) == (404, "replay_not_found")


async def test_a_replay_is_stopped_by_its_owner_and_by_nobody_else(api: Api) -> None:
    path = (await api.http.post("/v1/deliveries/replay", json={"filter": {}})).headers["Location"]
    stranger = await api.make_account()
    assert (await stranger.http.delete(path)).status_code == 404
    assert len(await replay_objects(api.account, api)) == 1
    stopped = await api.http.delete(path)
    assert (stopped.status_code, stopped.content) == (204, b"")
    assert await replay_objects(api.account, api) == []
    assert await _listed(api, "/v1/deliveries/replays") == []
    for method in ("GET", "DELETE"):
        gone = await api.http.request(method, path)
        assert (gone.status_code, gone.json()["error"]) == (404, "replay_not_found")


async def test_an_organization_has_so_many_replays_and_no_more_until_some_are_gone(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_directory, "MAX_KEPT", 3)
    body: dict[str, Any] = {"filter": {}}
    paths = [(await api.http.post("/v1/deliveries/replay", json=body)).headers["Location"] for _ in range(2)]
    first = await api.http.post("/v1/deliveries/replay", json=body, headers=KEY)
    refused = await api.http.post("/v1/deliveries/replay", json=body)
    assert (refused.status_code, refused.json()["error"]) == (429, "rate_limited")
    assert int(refused.headers["Retry-After"]) >= 1
    again = await api.http.post("/v1/deliveries/replay", json=body, headers=KEY)
    assert (again.status_code, again.json()) == (202, first.json())
    stranger = await api.make_account()
    assert (await stranger.http.post("/v1/deliveries/replay", json=body)).status_code == 202
    assert (await api.http.delete(paths[0])).status_code == 204
    assert (await api.http.post("/v1/deliveries/replay", json=body)).status_code == 202
    assert len(await replay_objects(api.account, api)) == 3


async def test_a_replay_made_with_kubectl_is_listed_like_the_others(api: Api) -> None:
    body = owned(
        DELIVERY_REPLAY, "after-the-outage", api.organization, api.namespace, {"filter": {"host": "a.example"}}
    )
    await api.kube.create(DELIVERY_REPLAY, body, api.namespace)
    [shown] = await eventually(lambda: _listed(api, "/v1/deliveries/replays"), lambda found: len(found) == 1)
    assert (shown["replay_id"], shown["filter"]["host"], shown["requested_by"]) == (
        "after-the-outage",
        "a.example",
        None,
    )
    assert (await api.http.get("/v1/deliveries/replays/after-the-outage")).json() == shown


async def test_a_key_makes_a_bulk_replay_safe_to_ask_for_again(start_api: StartApi) -> None:
    one, other = await start_api(), await start_api()
    body = {"filter": {"host": "hooks.example.com"}}
    first = await one.http.post("/v1/deliveries/replay", json=body, headers=KEY)
    second = await other.http.post("/v1/deliveries/replay", json=body, headers=KEY)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert first.json() == second.json()
    assert len(await replay_objects(one.account, one)) == 1
    reused = await one.http.post("/v1/deliveries/replay", json={"filter": {}}, headers=KEY)
    assert (reused.status_code, reused.json()["error"]) == (422, "idempotency_key_reused")


UNCLEAR: list[tuple[dict[str, Any], int, list[str]]] = [
    ({}, 400, ["filter"]),
    ({"filter": None}, 422, ["filter"]),
    ({"filter": []}, 422, ["filter"]),
    ({"filter": {}, "dryrun": True}, 422, ["dryrun"]),
    ({"filter": {}, "dry_run": "yes"}, 422, ["dry_run"]),
    ({"filter": {"hots": "x"}}, 422, ["filter.hots"]),
    ({"filter": {"status": "pending", "event": 1}}, 422, ["filter.status", "filter.event"]),
    ({"filter": {"outcome": "bad", "host": ""}}, 422, ["filter.outcome", "filter.host"]),
    ({"filter": {"host": "x" * 254}}, 422, ["filter.host"]),
    ({"filter": {"run_id": "r-1"}}, 422, ["filter.run_id"]),
    ({"filter": {"event_ids": [new_id("evt")]}}, 422, ["filter.run_id"]),
    ({"filter": {"run_id": new_id("r"), "event_ids": []}}, 422, ["filter.event_ids"]),
    ({"filter": {"run_id": new_id("r"), "event_ids": [new_id("evt")] * 101}}, 422, ["filter.event_ids"]),
    ({"filter": {"run_id": new_id("r"), "event_ids": ["evt-1"]}}, 422, ["filter.event_ids"]),
    ({"filter": {"finished_after": "yesterday"}}, 422, ["filter.finished_after"]),
    ({"filter": {"finished_before": 5}}, 422, ["filter.finished_before"]),
]


async def test_a_bulk_replay_that_is_not_clear_is_refused_whole(api: Api) -> None:
    for body, status, paths in UNCLEAR:
        response = await api.http.post("/v1/deliveries/replay", json=body)
        assert response.status_code == status, response.text
        assert [problem["path"] for problem in response.json()["details"]] == paths, body
    assert await replay_objects(api.account, api) == []


async def test_checks_come_in_their_order_whatever_else_is_wrong(api: Api) -> None:
    json_type, one, many = (
        {"Content-Type": "application/json"},
        f"/v1/deliveries/{new_id('evt')}/replay",
        "/v1/deliveries/replay",
    )
    for path in (one, many):
        calls: tuple[tuple[Any, bytes, dict[str, str], int, str], ...] = (
            (api.anonymous, b"{", {}, 401, "unauthorized"),
            (api.http, b"x" * 300_000, json_type, 413, "payload_too_large"),
            (api.http, b"{}", {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
            (api.http, b"{", json_type, 400, "malformed_json"),
            (api.http, b"{}", json_type | {"Idempotency-Key": "not visible"}, 400, "invalid_parameter"),
        )
        for client, content, headers, status, code in calls:
            response = await client.post(path, content=content, headers=headers)
            assert (response.status_code, response.json()["error"]) == (status, code), path
    assert (await api.http.post(one, content=b"{}", headers=json_type)).status_code == 404
    for method, path in (("GET", one), ("DELETE", one), ("DELETE", "/v1/deliveries"), ("POST", "/v1/endpoints")):
        assert (await api.http.request(method, path)).status_code == 405


async def test_a_delivery_whose_run_was_deleted_meanwhile_is_told_by_what_is_left(api: Api) -> None:
    story = await dispatched(api)
    await story.completes()
    kept, gone = await story.keeps(*five_failures(), seq=1), (await story.run()).status.outbox[0].event_id
    await api.kube.delete(RUN, story.run_id, api.namespace)
    assert (await story.shown(kept))["status"] == "failed"
    assert (await api.http.post(f"/v1/deliveries/{gone}/replay")).status_code == 404


async def test_what_outlived_its_run_says_beforehand_that_it_cannot_be_replayed(start_api: StartApi) -> None:
    api = await start_api()
    story = await dispatched(api)
    await story.completes()
    kept = await story.keeps(*five_failures(), seq=1)
    await eventually(lambda: _listed(api, status="failed"), lambda found: len(found) == 1)
    await api.kube.delete(RUN, story.run_id, api.namespace)
    [listed] = await eventually(lambda: _listed(api), lambda found: len(found) == 1 and not found[0]["replayable"])
    shown = await story.shown(kept)
    assert shown["replay_refusal"] == listed["replay_refusal"] == "run_deleted"
    for headers in ({}, KEY):
        refused = await api.http.post(f"/v1/deliveries/{kept}/replay", headers=headers)
        assert (refused.status_code, refused.json()["error"]) == (409, "replay_refused")
    assert "annotations" not in (await api.kube.get(WEBHOOK_DELIVERY, kept, api.namespace))["metadata"]
    assert await replay_objects(api.account, api) == []
    assert (await _listed(await start_api())) == [shown]


async def _listed(api: Api, path: str = "/v1/deliveries", **query: str) -> list[dict[str, Any]]:
    response = await api.http.get(path, params=query)
    assert response.status_code == 200, response.text
    return list(response.json()["data"])
