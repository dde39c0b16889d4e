"""Runs that are in the archive and not in the cluster any more: whoever reads them sees no difference."""

import asyncio
import hashlib
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
import zstandard

from checklist_crds.archive import ArchiveStore, Folder, encode_part
from checklist_crds.ids import new_id, object_id
from checklist_crds.kube.kinds import RUN
from checklist_crds.object_store import StoreUnavailable
from checklist_crds.run_lifecycle import AnswerStep, Cancel, Submit
from checklist_crds.times import utc_now

from .archive_lab import ArchiveLab
from .conftest import Api, StartApi
from .dashboard_client import Desk, at_desk
from .delivery_stories import dispatched, eventually, five_failures, sent
from .executor_client import Person, person_for, step
from .openapi_check import Contract
from .pictures import picture

SAME = {"X-Request-Id": "same"}


@pytest.fixture
async def frozen(start_api: StartApi) -> Api:
    """An API whose clock stands still, so that two answers have the same addresses of photos."""
    now = utc_now() + timedelta(seconds=1)
    return await start_api(clock=lambda: now)


async def settle(api: Api, run_id: str) -> None:
    """As the operator does when nothing is left to send."""
    await api.kube.patch_status(RUN, run_id, {"settled": True, "outbox": []}, api.namespace)


async def completed(api: Api, **dispatch: Any) -> str:
    """A run that is over, and settled."""
    run_id = await api.account.new_run(**dispatch)
    for command in (AnswerStep(step_id="s-clean", value=True), Submit()):
        await api.services.run_access.change(await api.services.run_access.of_anybody(run_id), command)
    await settle(api, run_id)
    return run_id


async def look(api: Api, path: str, **arguments: Any) -> httpx.Response:
    return await api.http.get(path, headers=SAME, **arguments)


def listed(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    assert "archive" not in response.json(), response.text
    return [run["run_id"] for run in response.json()["data"]]


async def everything(api: Api, person: Person, desk: Desk, event_ids: list[str]) -> dict[str, tuple[int, bytes]]:
    """What everybody is told of a run."""
    run = f"/v1/runs/{person.run_id}"
    answers = {
        path: await look(api, path)
        for path in (
            run,
            "/v1/runs",
            "/v1/runs?status=completed",
            f"{run}/deliveries",
            f"{run}/deliveries?page=2&per_page=1",
            f"/v1/deliveries?run_id={person.run_id}",
            f"/v1/deliveries?run_id={person.run_id}&status=failed&host=hooks.example.com",
            *(f"/v1/deliveries/{event_id}" for event_id in event_ids),
        )
    }
    answers |= {path: await api.anonymous.get(path, headers=SAME) for path in (f"{run}/preview", f"/r/{person.run_id}")}
    for path in ("/runs", f"/runs/{person.run_id}", f"/runs/{person.run_id}/story", f"/runs/{person.run_id}/link"):
        answers[f"dashboard {path}"] = await desk.call("GET", path, **SAME)
    answers["executor"] = await person.call("GET", headers=SAME)
    answers["executor opens"] = await person.call("POST", "/open", json={}, headers=SAME)
    for path, body in (("/v1/runs/{}/cancel", {}),):
        answers[path] = await api.http.post(path.format(person.run_id), json=body, headers=SAME)
    answers["executor answers"] = await person.call("PUT", "/answers/s-a", json={"value": True}, headers=SAME)
    answers["executor sends again"] = await person.call(
        "PUT", "/answers/s-b", json={"value": True, "op_id": "once"}, headers=SAME
    )
    answers["executor uploads"] = await person.call(
        "POST", "/answers/s-a/photos", content=picture(), headers=SAME | {"Content-Type": "image/jpeg"}
    )
    return {what: (answer.status_code, answer.content) for what, answer in answers.items()}


async def test_an_archived_run_is_told_byte_for_byte_as_when_it_was_live(frozen: Api) -> None:
    lab, desk = ArchiveLab(frozen), await at_desk(frozen)
    person = await person_for(frozen, step("a", "photo", required=True), step("b"), signature_on_complete=True)
    photo = (await person.upload("a", picture())).json()["photo"]
    assert (await person.answer("b", True, op_id="once")).status_code == 200
    assert (await person.submit(signature={"name": "Ada"})).status_code == 200
    await settle(frozen, person.run_id)
    before = await everything(frozen, person, desk, [])
    await lab.archive(person.run_id)
    await lab.loaded()
    after = await everything(frozen, person, desk, [])
    assert {what for what in before if before[what] != after[what]} == set()
    statuses = [before[what][0] for what in ("/v1/runs/{}/cancel", "executor", "executor sends again")]
    assert statuses == [409, 200, 200]
    assert json.loads(after["/v1/runs"][1])["pagination"]["total"] == 1
    assert (await person.fetch(photo["url"])).status_code == 200


async def test_deliveries_of_an_archived_run_differ_in_nothing_but_that_they_are_not_sent_again(frozen: Api) -> None:
    lab = ArchiveLab(frozen)
    story = await dispatched(frozen)
    await story.completes()
    delivered, failed = await story.records(sent(), seq=1), await story.keeps(*five_failures(), seq=2)
    await settle(frozen, story.run_id)
    paths = (
        f"/v1/runs/{story.run_id}/deliveries",
        f"/v1/deliveries?run_id={story.run_id}",
        f"/v1/deliveries?run_id={story.run_id}&status=failed",
        f"/v1/deliveries/{delivered}",
        f"/v1/deliveries/{failed}",
    )

    async def told() -> list[Any]:
        return [(await look(frozen, path)).json() for path in paths]

    def refused(value: Any) -> Any:
        """The same, as of something that is not sent again."""
        if isinstance(value, list):
            return [refused(each) for each in value]
        if isinstance(value, dict):
            value = {name: refused(each) for name, each in value.items()}
            if value.get("replayable"):
                value |= {"replayable": False, "replay_refusal": "run_archived"}
        return value

    before = await eventually(told, lambda found: len(found[2]["data"]) == 1 and len(found[0]["data"]) == 2)
    await lab.archive(story.run_id)
    await lab.loaded()
    assert await told() == refused(before) != before
    replay = await frozen.http.post(f"/v1/deliveries/{failed}/replay")
    assert (replay.status_code, replay.json()["error"]) == (409, "replay_refused"), replay.text
    assert "archived" in replay.json()["message"]
    contract = Contract((await frozen.anonymous.get("/v1/openapi.json")).json())
    for path in paths:
        contract.check(await look(frozen, path))


async def test_lists_are_the_same_whatever_part_of_the_runs_is_archived(frozen: Api) -> None:
    lab, ids = ArchiveLab(frozen), []
    templates = [(await frozen.account.create_template())["id"] for _ in range(2)]
    for number in range(12):
        dispatch = {"executor_ref": f"order {number % 3}", "expires_in_hours": 1}
        run = await frozen.account.dispatch(templates[number % 2], **dispatch)
        access, command = frozen.services.run_access, Cancel(reason=None)
        if number % 4 < 3:
            await access.change(await access.of_anybody(run["run_id"]), command)
            await settle(frozen, run["run_id"])
        ids.append(run["run_id"])
    first = (await look(frozen, "/v1/runs?per_page=100")).json()["data"]
    middle = first[5]["created_at"]
    queries = [
        f"{filters}&per_page={size}&page={page}"
        for filters in (
            "",
            "status=cancelled",
            "status=pending",
            "status=expired",
            f"template_id={templates[0]}",
            "executor_ref=order 1",
            f"template_id={templates[1]}&executor_ref=order 2&status=cancelled",
            f"created_after={middle}",
            f"created_before={middle}&status=cancelled",
            "executor_ref=nobody",
        )
        for size, page in ((100, 1), (5, 1), (5, 2), (5, 3), (1, 4))
    ]

    async def told() -> dict[str, bytes]:
        return {query: (await look(frozen, f"/v1/runs?{query}")).content for query in queries}

    before = await told()
    closed = [run["run_id"] for run in first if run["status"] == "cancelled"]
    assert len(closed) == 9
    for some in (closed[1:8:3], closed[:1], closed[8:], [each for each in closed[1:8] if each not in closed[1:8:3]]):
        await lab.archive(*some)
        await lab.loaded()
        after = await told()
        assert {query for query in queries if after[query] != before[query]} == set()
    desk = await at_desk(frozen)
    deletion = await desk.told(f"/templates/{templates[0]}/deletion")
    assert (deletion["runs"], deletion["open_runs"]) == (6, 0)


async def test_a_run_is_readable_and_listed_once_at_every_moment_of_its_move(api: Api) -> None:
    ids = [await completed(api) for _ in range(12)]
    lab, moving = ArchiveLab(api, pause=lambda: asyncio.sleep(0.01)), True
    whole = sorted(ids)
    seen = 0

    async def keep_listing(query: str) -> None:
        nonlocal seen
        while moving:
            response = await api.http.get(f"/v1/runs?per_page=100{query}")
            assert response.status_code == 200, response.text
            assert sorted(listed(response)) == whole
            assert response.json()["pagination"]["total"] == len(whole)
            seen += 1

    async def keep_reading(run_id: str) -> None:
        nonlocal seen
        was = (await look(api, f"/v1/runs/{run_id}")).content
        while moving:
            response = await look(api, f"/v1/runs/{run_id}")
            assert (response.status_code, response.content) == (200, was)
            preview = await api.anonymous.get(f"/v1/runs/{run_id}/preview")
            assert preview.status_code == 200, preview.text
            seen += 1

    async def move() -> None:
        nonlocal moving
        for start in range(0, len(ids), 4):
            await lab.archive(*ids[start : start + 4])
        await lab.loaded()
        await asyncio.sleep(0.2)
        moving = False

    await asyncio.gather(
        move(), keep_listing(""), keep_listing("&status=completed"), *(keep_reading(run_id) for run_id in ids[::3])
    )
    assert seen > 50
    assert listed(await look(api, "/v1/runs?per_page=100")) == sorted(whole, key=ids.index, reverse=True)


async def test_a_run_that_was_deleted_and_not_archived_is_gone(api: Api) -> None:
    kept, gone = await completed(api), await completed(api)
    lab = ArchiveLab(api)
    await lab.delete([await lab.record(gone)])
    assert (await look(api, f"/v1/runs/{gone}")).status_code == 404
    await lab.loaded()
    assert listed(await look(api, "/v1/runs")) == [kept]


async def test_a_run_that_nobody_here_saw_leave_is_found_when_it_is_asked_for(api: Api) -> None:
    """As after a restore of the archive, or of another cluster's."""
    lab, run_id = ArchiveLab(api), await completed(api)
    record = await lab.record(run_id)
    await lab.delete([record])
    await lab.loaded()
    assert (await look(api, f"/v1/runs/{run_id}")).status_code == 404
    await asyncio.sleep(1.1)
    await lab.write([record])
    assert (await look(api, f"/v1/runs/{run_id}")).status_code == 200


async def test_of_two_versions_of_a_run_the_newer_one_is_told_in_whatever_order_they_come(api: Api) -> None:
    lab = ArchiveLab(api)
    for newer_first in (False, True):
        run_id = await completed(api, executor_ref="of both")
        old = await lab.record(run_id)
        await api.kube.patch_status(RUN, run_id, {"cancelReason": "the newer one"}, api.namespace)
        new = await lab.record(run_id)
        for record in (new, old) if newer_first else (old, new):
            await lab.write([record])
            await api.services.archive.look(object_id("org", api.organization))
        await lab.delete([new])
        await lab.loaded()
        assert (await look(api, f"/v1/runs/{run_id}")).json()["cancel_reason"] == "the newer one"
    assert len(listed(await look(api, "/v1/runs"))) == 2


async def test_what_another_organization_has_archived_is_like_what_nobody_has(api: Api) -> None:
    lab, other = ArchiveLab(api), await api.make_account()
    run_id = await completed(api)
    misplaced = await completed(api)
    [event, *_] = ["evt-" + run_id[2:]]
    await lab.archive(run_id)
    record = await lab.record(misplaced)
    await lab.write([record], object_id("org", other.organization))
    await lab.delete([record])
    await lab.loaded()
    await api.services.archive.look(object_id("org", other.organization))
    for path in ("/v1/runs/{}", "/v1/runs/{}/deliveries"):
        theirs = {(await other.http.get(path.format(each), headers=SAME)).content for each in (run_id, misplaced)}
        assert theirs == {(await other.http.get(path.format(new_id("r")), headers=SAME)).content}
    assert (await other.http.get(f"/v1/deliveries/{event}")).json()["error"] == "delivery_not_found"
    assert listed(await other.http.get("/v1/runs")) == []
    assert (await other.http.get(f"/v1/deliveries?run_id={run_id}")).json()["pagination"]["total"] == 0
    assert (await look(api, f"/v1/runs/{misplaced}")).status_code == 404
    assert listed(await look(api, "/v1/runs")) == [run_id]


async def test_a_store_that_is_away_is_said_and_hinders_no_live_run(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, archived, live = ArchiveLab(api), await completed(api), await completed(api)
    await lab.archive(archived)
    await lab.loaded()

    async def away(*_: object) -> None:
        raise StoreUnavailable("nobody is there")

    async def nothing_listed(*_: object) -> Any:
        raise StoreUnavailable("nobody is there")
        yield

    with monkeypatch.context() as broken:
        broken.setattr(ArchiveStore, "get", away)
        broken.setattr(ArchiveStore, "manifests", nothing_listed)
        leaving = await completed(api)
        await api.kube.delete(RUN, leaving, api.namespace)
        await eventually(lambda: look(api, "/v1/runs"), lambda response: "archive" in response.json())
        for run_id in (archived, leaving):
            response = await look(api, f"/v1/runs/{run_id}")
            assert (response.status_code, response.json()["error"]) == (503, "service_unavailable")
            assert int(response.headers["Retry-After"]) > 0
            assert "rchive" in response.json()["message"]
        page = await api.anonymous.get(f"/r/{archived}")
        assert page.status_code == 503
        assert (await look(api, f"/v1/runs/{live}")).status_code == 200
        told = (await look(api, "/v1/runs")).json()
        assert {run["run_id"] for run in told["data"]} == {archived, leaving, live}
        assert (told["archive"]["complete"], told["archive"]["reason"]) == (False, "unavailable")
        Contract((await api.anonymous.get("/v1/openapi.json")).json()).check(await look(api, "/v1/runs"))
        assert (await api.anonymous.get("/readyz")).status_code == 200
    await eventually(lambda: look(api, "/v1/runs"), lambda response: "archive" not in response.json())
    await lab.loaded()
    assert listed(await look(api, "/v1/runs")) == [live, archived]
    assert (await look(api, f"/v1/runs/{archived}")).status_code == 200
    assert (await look(api, f"/v1/runs/{leaving}")).status_code == 404


async def test_an_api_that_starts_without_the_store_says_so_until_it_is_there(
    start_api: StartApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing_listed(*_: object) -> Any:
        raise StoreUnavailable("nobody is there")
        yield

    with monkeypatch.context() as broken:
        broken.setattr(ArchiveStore, "manifests", nothing_listed)
        api = await start_api()
        live = await completed(api)
        assert (await api.anonymous.get("/readyz")).status_code == 200
        assert "notes" in (await api.anonymous.get("/readyz")).json()
        told = (await look(api, "/v1/runs")).json()
        assert ([run["run_id"] for run in told["data"]], told["archive"]["reason"]) == ([live], "unavailable")
        unknown = await look(api, f"/v1/runs/{new_id('r')}")
        assert (unknown.status_code, unknown.json()["error"]) == (503, "service_unavailable")
    await eventually(lambda: look(api, f"/v1/runs/{new_id('r')}"), lambda response: response.status_code == 404)
    assert listed(await look(api, "/v1/runs")) == [live]


async def test_unknown_ids_make_one_look_a_second_however_many_there_are(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, real = 0, ArchiveStore.manifests

    def counted(self: ArchiveStore, within: Any = None) -> Any:
        nonlocal looks
        looks += 1
        return real(self, within)

    monkeypatch.setattr(ArchiveStore, "manifests", counted)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(20):
        answers = await asyncio.gather(*(look(api, f"/v1/runs/{new_id('r')}") for _ in range(10)))
        assert {answer.status_code for answer in answers} == {404}
        await asyncio.gather(*(api.anonymous.get(f"/v1/runs/{new_id('r')}/preview") for _ in range(10)))
    assert 1 <= looks <= 2 + (loop.time() - began)


async def test_a_damaged_part_is_said_and_takes_nothing_else_with_it(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    lab = ArchiveLab(api)
    first, second = await completed(api), await completed(api)
    [place] = await lab.archive(first)
    await lab.archive(second)
    await lab.loaded()
    content = await lab.store.get(place.key)
    assert content is not None
    api.services.archived._parts._kept.clear()
    await lab.store.put(place.key, content[:-7] + b"\0" * 7)
    for _ in range(2):
        response = await look(api, f"/v1/runs/{first}")
        assert (response.status_code, response.json()["error"]) == (503, "service_unavailable")
        assert int(response.headers["Retry-After"]) >= 60
    assert [record.message for record in caplog.records if record.name.endswith("archive.index")].count(
        "archive.part_damaged"
    ) == 1
    assert (await look(api, f"/v1/runs/{second}")).status_code == 200
    metrics = (await api.anonymous.get("/metrics")).text
    assert 'checklists_archive_read_failures_total{reason="damaged"} 2.0' in metrics
    assert "checklists_archived_runs 2.0" in metrics


async def test_an_api_that_starts_beside_a_damaged_part_lists_the_others_and_says_so(
    api: Api, start_api: StartApi
) -> None:
    lab = ArchiveLab(api)
    first, second, third = [await completed(api) for _ in range(3)]
    [damaged] = await lab.archive(first)
    [unreadable] = await lab.archive(second)
    await lab.archive(third)
    content = await lab.store.get(damaged.key)
    assert content is not None
    await lab.store.put(damaged.key, content[:100])
    await lab.store.put(unreadable.manifest_key, b'{"format": 1')
    other = await start_api()
    await other.services.archive.wait_until_loaded()
    told = (await look(other, "/v1/runs")).json()
    assert ([run["run_id"] for run in told["data"]], told["archive"]["reason"]) == ([third], "damaged")
    assert (await look(other, f"/v1/runs/{first}")).status_code == 503
    assert (await look(other, f"/v1/runs/{third}")).status_code == 200
    await lab.store.put(damaged.key, content)
    assert (await look(other, f"/v1/runs/{first}")).status_code == 200


async def test_a_part_that_is_taken_away_takes_its_runs_along(api: Api) -> None:
    lab, erased, kept = ArchiveLab(api), await completed(api), await completed(api)
    both = [await lab.record(erased), await lab.record(kept)]
    [place] = await lab.write(both)
    await lab.delete(both)
    await lab.loaded()
    assert listed(await look(api, "/v1/runs")) == [kept, erased]
    await lab.write(both[1:])
    await lab.store.delete([place.manifest_key, place.key])
    api.services.archived._parts._kept.clear()
    assert (await look(api, f"/v1/runs/{kept}")).status_code == 200
    assert (await look(api, f"/v1/runs/{erased}")).status_code == 404
    await lab.loaded()
    assert listed(await look(api, "/v1/runs")) == [kept]


async def test_a_part_that_holds_nonsense_hinders_no_other(api: Api) -> None:
    """As a writer with a bug might make it: every digest is right."""
    lab, run_id, other = ArchiveLab(api), await completed(api), await completed(api)
    record = await lab.record(run_id)
    part = encode_part(
        Folder(object_id("org", api.organization), "2026-01"), [record], written_at=utc_now(), written_by="a test"
    )
    content = zstandard.compress(
        b'{"format":1,"run":{"spec":1},"revision":null,"deliveries":[],"photos":[],"row":{}}\n'
    )
    size = zstandard.frame_content_size(content)
    told = json.loads(part.manifest.encoded()) | {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "uncompressed_bytes": size,
        "month": part.place.folder.month,
    }
    await lab.store.put(part.place.key, content)
    await lab.store.put(part.place.manifest_key, json.dumps(told).encode())
    await api.services.archive.look(object_id("org", api.organization))
    await lab.delete([record])
    await lab.archive(other)
    await eventually(
        lambda: look(api, "/v1/runs"), lambda response: response.json().get("archive", {}).get("reason") == "damaged"
    )
    assert (await look(api, f"/v1/runs/{run_id}")).status_code == 503
    assert (await look(api, f"/v1/runs/{other}")).status_code == 200
    listed_now = (await look(api, "/v1/runs")).json()["data"]
    assert [run["run_id"] for run in listed_now] == [other, run_id]
