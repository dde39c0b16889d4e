"""Runs whose name is not their id: the API knows them by the public id alone, whatever else has or had the name."""

import asyncio
from typing import Any

import httpx
import pytest
from tests.contract.conftest import Account, Api, owned, until_status
from tests.contract.executor_client import Person, checklist, error_of, step
from tests.contract.pictures import picture
from tests.waiting import eventually

from checklist_crds.ids import new_id, object_id
from checklist_crds.photos.keys import PhotoFolder
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import DELIVERY_REPLAY, RUN, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now

Json = dict[str, Any]
CHECKLIST = checklist(step("a"), step("photo", "photo"))


async def admitted(api: Api, name: str, account: Account | None = None, *, until_seen: bool = True, **spec: Any) -> str:
    """A run of this name as `kubectl create` and the operator make it, once the API has it in its lists; its id."""
    owner = account or api.account
    template = await owner.create_template(**CHECKLIST)
    example = await api.kube.get(RUN, str((await owner.dispatch(template["id"]))["run_id"]), owner.namespace)
    run_id = new_id("r")
    body = owned(RUN, name, owner.organization, owner.namespace, {"templateId": template["id"], **spec})
    await api.kube.create(RUN, body, owner.namespace)
    resolved = {**example["spec"]["resolved"], "bound": True, "runId": run_id}
    await api.kube.patch_status(RUN, name, {"resolved": resolved}, owner.namespace)
    await api.kube.delete(RUN, example["metadata"]["name"], owner.namespace)
    index = api.services.index
    if until_seen:
        await eventually(lambda: index.places_of(run_id) and not index.owners_of(example["metadata"]["name"]))
    return run_id


def person_of(api: Api, run_id: str, account: Account | None = None) -> Person:
    return Person(run_id, api, api.token(run_id, account))


async def test_a_run_is_read_listed_answered_and_cancelled_by_its_id_never_by_its_name(api: Api) -> None:
    run_id = await admitted(api, "daily-x7k2p", executorRef="room 12")
    shown = (await api.http.get(f"/v1/runs/{run_id}")).json()
    assert (shown["run_id"], shown["executor_ref"], shown["status"]) == (run_id, "room 12", "pending")
    for unknown in ("daily-x7k2p", new_id("r")):
        assert error_of(await api.http.get(f"/v1/runs/{unknown}")) == (404, "run_not_found")
    preview = (await api.anonymous.get(f"/v1/runs/{run_id}/preview")).json()
    assert (preview["run_id"], preview["status"]) == (run_id, "pending")
    listed = (await api.http.get("/v1/runs", params={"executor_ref": "room 12"})).json()["data"]
    assert [one["run_id"] for one in listed] == [run_id]

    person = person_of(api, run_id)
    assert (await person.look())["run_id"] == run_id
    assert (await person.answer("a")).status_code == 200
    assert (await person.upload("photo", picture())).status_code == 201
    (photo,) = (await person.look())["answers"]["s-photo"]["photos"]
    assert (await person.fetch(photo["url"])).status_code == 200
    stored = (await api.kube.get(RUN, "daily-x7k2p", api.namespace))["status"]["answers"]["s-photo"]["photos"]
    assert stored[0]["key"].startswith(PhotoFolder(object_id("org", api.organization), run_id).path)
    assert (await Person(new_id("r"), api, person.token).call("GET")).status_code == 401

    answer = await api.http.post(f"/v1/runs/{run_id}/cancel")
    assert (answer.status_code, answer.json()["run_id"], answer.json()["status"]) == (200, run_id, "cancelled")
    assert (await api.http.get(f"/v1/runs/{run_id}/export", params={"format": "json"})).json()["run_id"] == run_id
    await api.kube.delete(RUN, "daily-x7k2p", api.namespace)
    await until_status(404, lambda: api.http.get(f"/v1/runs/{run_id}"))
    await eventually(lambda: api.services.index.places_of(run_id) == [])


async def test_a_run_that_the_watch_has_not_shown_yet_is_found(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    index = api.services.index
    monkeypatch.setattr(index.informer, "_upsert", lambda body: None)
    run_id = await admitted(api, "unseen", until_seen=False)
    assert index.places_of(run_id) == []
    assert (await api.http.get(f"/v1/runs/{run_id}")).json()["run_id"] == run_id
    assert (await person_of(api, run_id).look())["run_id"] == run_id


async def test_a_name_that_is_used_again_is_another_run(api: Api) -> None:
    first = await admitted(api, "daily")
    old = person_of(api, first)
    assert (await old.answer("a")).status_code == 200
    await api.kube.delete(RUN, "daily", api.namespace)
    second = await admitted(api, "daily")
    assert error_of(await api.http.get(f"/v1/runs/{first}")) == (404, "run_not_found")
    assert error_of(await old.answer("a", value=False)) == (404, "run_not_found")
    assert (await person_of(api, second).look())["answers"] == {}
    listed = (await api.http.get("/v1/runs")).json()["data"]
    assert [one["run_id"] for one in listed] == [second]


async def test_an_open_page_waits_for_changes_of_the_run_with_its_id(api: Api) -> None:
    first = await admitted(api, "daily")
    person = person_of(api, first)

    async def wait(after: int, seconds: int) -> httpx.Response:
        return await person.call("GET", "/changes", params={"after": after, "wait": seconds}, timeout=60)

    async def waiting_page() -> asyncio.Task[httpx.Response]:
        page = asyncio.create_task(wait((await person.look())["changes"], 30))
        await eventually(lambda: api.services.run_changes.readers == 1)
        assert not page.done()
        return page

    page = await waiting_page()
    changed = (await person.answer("a")).json()
    assert (changed["run_id"], changed["changes"]) == (first, 1)
    assert (await page).json() == {"run_id": first, "changes": 1}
    page = await waiting_page()
    await api.kube.delete(RUN, "daily", api.namespace)
    assert error_of(await page) == (404, "run_not_found")
    second = await admitted(api, "daily")
    assert error_of(await wait(0, 0)) == (404, "run_not_found")
    assert (await person_of(api, second).call("GET", "/changes")).json() == {"run_id": second, "changes": 0}


async def test_deliveries_and_replays_go_by_the_id_and_name_the_object(api: Api) -> None:
    webhook = {"url": "https://hooks.example.com/x", "events": ["*"], "secretRef": {"name": "hook"}}
    run_id = await admitted(api, "daily", webhook=webhook)
    assert (await person_of(api, run_id).call("POST", "/cancel")).status_code == 200
    body = await api.kube.get(RUN, "daily", api.namespace)
    (entry,) = body["status"]["outbox"]
    event_id = entry["eventId"]
    spec = {
        "runRef": {"name": "daily"},
        "runId": run_id,
        "eventId": event_id,
        "event": EventName.RUN_CANCELLED.value,
        "seq": entry["seq"],
        "ts": entry["ts"],
        "url": webhook["url"],
        "payload": "{}",
    }
    kept = owned(WEBHOOK_DELIVERY, event_id, api.organization, api.namespace, spec)
    await api.kube.create(WEBHOOK_DELIVERY, kept, api.namespace)
    attempt = {"number": 5, "startedAt": format_timestamp(utc_now()), "durationMs": 5, "outcome": "timeout"}
    ended = {
        "phase": "Failed",
        "attempt": 5,
        "attempts": [attempt],
        "settled": True,
        "finishedAt": attempt["startedAt"],
    }
    await api.kube.patch_status(WEBHOOK_DELIVERY, event_id, ended, api.namespace)

    async def failed() -> list[Json]:
        found = (await api.http.get("/v1/deliveries", params={"run_id": run_id, "status": "failed"})).json()["data"]
        return [one for one in found if one["attempts"]]

    await eventually(failed)
    (delivery,) = await failed()
    assert (delivery["event_id"], delivery["run_id"], delivery["replayable"]) == (event_id, run_id, True)
    assert (await api.http.get(f"/v1/runs/{run_id}/deliveries")).json()["data"] == [delivery]
    assert (await api.http.get(f"/v1/deliveries/{event_id}")).json() == delivery
    wanted = {"run_id": run_id, "event_ids": [event_id]}
    answer = await api.http.post("/v1/deliveries/replay", json={"filter": wanted})
    assert (answer.status_code, answer.json()["filter"]["run_id"]) == (202, run_id)
    (made,) = await api.all_of(DELIVERY_REPLAY)
    assert made["spec"]["filter"] == {"runRef": {"name": "daily"}, "runId": run_id, "eventIds": [event_id]}
    by_hand = owned(
        DELIVERY_REPLAY, "by-hand", api.organization, api.namespace, {"filter": {"runRef": {"name": "daily"}}}
    )
    await api.kube.create(DELIVERY_REPLAY, by_hand, api.namespace)
    shown = (await until_status(200, lambda: api.http.get("/v1/deliveries/replays/by-hand"))).json()
    assert shown["filter"]["run_id"] == run_id

    # Another run of the name has none of them, and they are not signed with its secret.
    await api.kube.delete(RUN, "daily", api.namespace)
    other = await admitted(api, "daily", webhook=webhook)
    assert (await api.http.get(f"/v1/runs/{other}/deliveries")).json()["data"] == []
    await eventually(lambda: not api.services.index.has(run_id, api.namespace))
    shown = (await api.http.get(f"/v1/deliveries/{event_id}")).json()
    assert (shown["run_id"], shown["replayable"], shown["replay_refusal"]) == (run_id, False, "run_deleted")
