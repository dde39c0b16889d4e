"""Asking for replays by REST: of one delivery, and of many (delivery profile, "Outcome"). The operator makes them;
`tests/cluster/delivery/test_replay.py` has both at work."""

import asyncio
from typing import Any

import httpx
import pytest
from tests.contract.conftest import Api, StartApi, owned, shared_api, until
from tests.contract.delivery_stories import completed_story, five_failures, listed, sent
from tests.contract.executor_client import error_of, paths, without_request_id

from checklist_api.deliveries import replays as replay_directory
from checklist_crds.ids import new_id
from checklist_crds.resources.delivery import REPLAY_ANNOTATION, REPLAY_BY_ANNOTATION
from checklist_crds.resources.kinds import DELIVERY_REPLAY, RUN, WEBHOOK_DELIVERY
from checklist_crds.times import parse_timestamp, utc_now

api = shared_api

KEY, OTHER_KEY = {"Idempotency-Key": "mondays-outage"}, {"Idempotency-Key": "all-of-monday"}
REPLAYS = "/v1/deliveries/replays"


async def a_failed_one(api: Api) -> str:
    return await (await completed_story(api)).keeps(*five_failures())


async def replay_of(api: Api, event_id: str, **headers: str) -> httpx.Response:
    return await api.http.post(f"/v1/deliveries/{event_id}/replay", headers=headers)


async def bulk(api: Api, headers: dict[str, str] | None = None, **wanted: Any) -> httpx.Response:
    return await api.http.post("/v1/deliveries/replay", json={"filter": wanted}, headers=headers)


async def test_a_replay_of_a_failed_delivery_is_an_annotation_that_says_when_and_who(api: Api) -> None:
    event_id = await a_failed_one(api)
    before = utc_now()
    response = await replay_of(api, event_id)
    assert response.status_code == 202
    shown = response.json()
    assert (shown["status"], shown["replayable"], shown["replay_refusal"]) == ("failed", False, "replay_under_way")
    annotations = (await api.kube.get(WEBHOOK_DELIVERY, event_id, api.namespace))["metadata"]["annotations"]
    assert before <= parse_timestamp(annotations[REPLAY_ANNOTATION]) <= utc_now()
    assert annotations[REPLAY_BY_ANNOTATION] == "Ada Lovelace"
    assert (await api.http.get(f"/v1/deliveries/{event_id}")).json() == shown
    assert await listed(api.account, status="failed") == [shown]
    assert error_of(await replay_of(api, event_id)) == (409, "replay_refused")


async def test_the_last_event_of_a_final_run_is_replayed_through_an_object(
    api: Api,
) -> None:
    story = await completed_story(api)
    retried = await story.keeps(*five_failures(utc_now())[:2], seq=1)
    event_id = (await story.run()).status.outbox[0].event_id
    for waits in (retried, event_id):
        assert error_of(await replay_of(api, waits)) == (409, "replay_refused")
    body = await api.kube.get(WEBHOOK_DELIVERY, retried, api.namespace)
    assert REPLAY_ANNOTATION not in body["metadata"].get("annotations", {})
    delivered_step = await (await completed_story(api)).records(sent(), seq=1)
    assert error_of(await replay_of(api, delivered_step)) == (409, "payload_not_kept")
    assert await api.all_of(DELIVERY_REPLAY) == []

    await story.records(sent(), seq=2)
    response = await replay_of(api, event_id)
    assert (response.status_code, response.json()["replay_refusal"]) == (202, "replay_under_way")
    [made] = await api.all_of(DELIVERY_REPLAY)
    assert made["spec"] == {
        "organizationRef": {"name": api.organization},
        "filter": {"runRef": {"name": story.run_id}, "eventIds": [event_id]},
        "requestedBy": "Ada Lovelace",
    }
    assert error_of(await replay_of(api, event_id)) == (409, "replay_refused")
    await api.kube.patch_status(DELIVERY_REPLAY, made["metadata"]["name"], {"phase": "Completed"}, api.namespace)
    await until(lambda: story.shown(event_id), lambda shown: shown["replayable"])
    assert (await replay_of(api, event_id)).status_code == 202
    assert len(await api.all_of(DELIVERY_REPLAY)) == 2


async def test_a_key_makes_a_replay_safe_to_ask_for_again_through_any_process(start_api: StartApi) -> None:
    one, other = await start_api(), await start_api()
    event_id = await a_failed_one(one)
    await until(lambda: listed(other.account, status="failed"), lambda found: len(found) == 1)
    single = [await replay_of(api, event_id, **KEY) for api in (one, other)]
    many = [await bulk(api, OTHER_KEY, host="hooks.example.com") for api in (one, other)]
    for first, second in (single, many):
        assert (first.status_code, second.status_code) == (202, 202)
        assert "Idempotency-Replayed" not in first.headers
        assert second.headers["Idempotency-Replayed"] == "true"
    assert many[0].json() == many[1].json()
    filters = [body["spec"]["filter"] for body in await one.all_of(DELIVERY_REPLAY)]
    assert sorted(str(each.get("host") or each["eventIds"]) for each in filters) == [
        f"['{event_id}']",
        "hooks.example.com",
    ]
    for reused in (await replay_of(one, await a_failed_one(one), **KEY), await bulk(one, OTHER_KEY)):
        assert error_of(reused) == (422, "idempotency_key_reused")


async def test_many_who_ask_at_once_get_one_replay(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    event_id = await a_failed_one(api)
    await until(lambda: listed(api.account, status="failed"), lambda found: len(found) == 1)
    patch, all_have_read = api.services.client.patch, asyncio.Barrier(4)
    waited = 0

    async def patch_when_all_have_read(*arguments: Any, **options: Any) -> dict[str, Any]:
        nonlocal waited
        if waited < 4:
            waited += 1
            await all_have_read.wait()
        return await patch(*arguments, **options)

    monkeypatch.setattr(api.services.client, "patch", patch_when_all_have_read)
    answers = await asyncio.gather(*(replay_of(api, event_id) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]


async def test_a_bulk_replay_is_an_object_that_says_what_and_who(api: Api) -> None:
    run_id, event_id = new_id("r"), new_id("evt")
    same = {"event": "run.completed", "outcome": "timeout"}
    wanted = same | {
        "status": "failed",
        "run_id": run_id,
        "event_ids": [event_id, event_id],
        "host": "Hooks.Example.com",
        "finished_after": "2026-11-21T07:00:00+01:00",
        "finished_before": None,
    }
    response = await api.http.post("/v1/deliveries/replay", json={"filter": wanted, "dry_run": True})
    assert response.status_code == 202
    shown = response.json()
    assert response.headers["Location"] == f"{REPLAYS}/{shown['replay_id']}"
    instant = "2026-11-21T06:00:00.000Z"
    assert parse_timestamp(shown.pop("requested_at")) <= utc_now()
    filter_shown = wanted | {"event_ids": [event_id], "host": "hooks.example.com", "finished_after": instant}
    counts = {"total": None, "done": 0, "delivered": 0, "failed": 0, "refused": 0, "refusals": []}
    asked = {"status": "pending", "filter": filter_shown, "dry_run": True, "requested_by": "Ada Lovelace"}
    times = {"started_at": None, "finished_at": None}
    assert shown == counts | asked | times | {"replay_id": shown["replay_id"]}
    [made] = await api.all_of(DELIVERY_REPLAY)
    names = {"phase": "Failed", "runRef": {"name": run_id}, "eventIds": [event_id], "host": "hooks.example.com"}
    assert made["spec"] == {
        "organizationRef": {"name": api.organization},
        "dryRun": True,
        "requestedBy": "Ada Lovelace",
        "filter": same | names | {"finishedAfter": instant},
    }


async def test_replays_are_listed_newest_first_and_stopped_each_by_its_organization_only(api: Api) -> None:
    name = f"after-the-outage-{api.organization[-4:]}"
    body = owned(DELIVERY_REPLAY, name, api.organization, api.namespace, {"filter": {"host": "a.example"}})
    await api.kube.create(DELIVERY_REPLAY, body, api.namespace)
    [by_kubectl] = await until(lambda: listed(api.account, REPLAYS), lambda found: len(found) == 1)
    shown = (by_kubectl["replay_id"], by_kubectl["filter"]["host"], by_kubectl["requested_by"])
    assert shown == (name, "a.example", None)
    assert (await api.http.get(f"{REPLAYS}/{name}")).json() == by_kubectl
    await asyncio.sleep(0.002)
    ids = []
    for _ in range(3):
        ids.append((await bulk(api)).json()["replay_id"])
        await asyncio.sleep(0.002)
    page = (await api.http.get(REPLAYS, params={"per_page": 2})).json()
    assert [each["replay_id"] for each in page["data"]] == [ids[2], ids[1]]
    assert page["pagination"] == {"total": 4, "page": 1, "per_page": 2, "next_page": 2}
    stranger = await api.make_account()
    assert (await stranger.http.get(REPLAYS)).json()["data"] == []
    [(status, answer)] = {
        without_request_id(await stranger.http.get(f"{REPLAYS}/{name}"))
        for name in (ids[0], new_id("rpl"), "no", "No", "%2e%2e", "x" * 300)
    }
    assert (status, b"replay_not_found" in answer) == (404, True)
    # It is stopped by its owner and by no other.
    assert (await stranger.http.delete(f"{REPLAYS}/{name}")).status_code == 404
    stopped = await api.http.delete(f"{REPLAYS}/{name}")
    assert (stopped.status_code, stopped.content) == (204, b"")
    assert {each["replay_id"] for each in await listed(api.account, REPLAYS)} == set(ids)
    assert {body["metadata"]["name"] for body in await api.all_of(DELIVERY_REPLAY)} == set(ids)
    for method in ("GET", "DELETE"):
        assert error_of(await api.http.request(method, f"{REPLAYS}/{name}")) == (404, "replay_not_found")


async def test_an_organization_has_so_many_replays_and_no_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_directory, "MAX_KEPT", 3)
    paths = [(await bulk(api)).headers["Location"] for _ in range(2)]
    first = await bulk(api, KEY)
    refused = await bulk(api)
    assert error_of(refused) == (429, "rate_limited")
    assert int(refused.headers["Retry-After"]) >= 1
    again = await bulk(api, KEY)
    assert (again.status_code, again.json()) == (202, first.json())
    stranger = await api.make_account()
    for number in range(4):  # by hand, in a namespace that is not the stranger's
        spec = {"organizationRef": {"name": stranger.organization}, "filter": {}}
        body = DELIVERY_REPLAY.manifest(f"by-hand-{number}", "default", spec)
        await api.kube.create(DELIVERY_REPLAY, body, "default")
    assert (await stranger.http.post("/v1/deliveries/replay", json={"filter": {}})).status_code == 202
    assert (await api.http.delete(paths[0])).status_code == 204
    assert (await bulk(api)).status_code == 202
    assert len(await api.all_of(DELIVERY_REPLAY)) == 3


UNCLEAR: list[tuple[dict[str, Any], int, list[str]]] = [
    ({}, 400, ["filter"]),
    ({"filter": None}, 422, ["filter"]),
    ({"filter": {}, "dryrun": True}, 422, ["dryrun"]),
    ({"filter": {}, "dry_run": "yes"}, 422, ["dry_run"]),
    ({"filter": {"hots": "x"}}, 422, ["filter.hots"]),
    ({"filter": {"status": "pending", "event": 1}}, 422, ["filter.status", "filter.event"]),
    ({"filter": {"outcome": "bad", "host": ""}}, 422, ["filter.outcome", "filter.host"]),
    ({"filter": {"run_id": "r-1"}}, 422, ["filter.run_id"]),
    ({"filter": {"event_ids": [new_id("evt")]}}, 422, ["filter.run_id"]),
    ({"filter": {"run_id": new_id("r"), "event_ids": []}}, 422, ["filter.event_ids"]),
    ({"filter": {"run_id": new_id("r"), "event_ids": [new_id("evt")] * 101}}, 422, ["filter.event_ids"]),
    ({"filter": {"run_id": new_id("r"), "event_ids": ["evt-1"]}}, 422, ["filter.event_ids"]),
    ({"filter": {"finished_after": "yesterday"}}, 422, ["filter.finished_after"]),
]


async def test_a_bulk_replay_that_is_not_clear_is_refused_whole(api: Api) -> None:
    for body, status, wrong in UNCLEAR:
        response = await api.http.post("/v1/deliveries/replay", json=body)
        assert (response.status_code, paths(response)) == (status, wrong), body
    assert await api.all_of(DELIVERY_REPLAY) == []


async def test_what_outlived_its_run_says_beforehand_that_it_cannot_be_replayed(start_api: StartApi) -> None:
    api = await start_api()
    story = await completed_story(api)
    kept, gone = await story.keeps(*five_failures(), seq=1), (await story.run()).status.outbox[0].event_id
    await until(lambda: listed(api.account, status="failed"), lambda found: len(found) == 1)
    await api.kube.delete(RUN, story.run_id, api.namespace)
    [shown] = await until(lambda: listed(api.account), lambda found: len(found) == 1 and not found[0]["replayable"])
    assert await story.shown(kept) == shown
    assert (shown["status"], shown["replay_refusal"]) == ("failed", "run_deleted")
    for headers in ({}, KEY):
        assert error_of(await replay_of(api, kept, **headers)) == (409, "replay_refused")
    assert (await replay_of(api, gone)).status_code == 404
    assert "annotations" not in (await api.kube.get(WEBHOOK_DELIVERY, kept, api.namespace))["metadata"]
    assert await api.all_of(DELIVERY_REPLAY) == []
    assert await listed((await start_api()).account) == [shown]
