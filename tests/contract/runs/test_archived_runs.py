"""Runs that are in the archive and no longer in the cluster: their readers see no difference."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.contract.archive_lab import ArchiveLab
from tests.contract.conftest import Api, StartApi, until
from tests.contract.dashboard_client import Desk, at_desk
from tests.contract.delivery_stories import completed_story, five_failures, sent
from tests.contract.executor_client import Person, error_of, person_for, step
from tests.contract.pictures import picture

from checklist_crds.archive import ArchiveStore
from checklist_crds.ids import new_id, object_id
from checklist_crds.platform.object_store import StoreUnavailable
from checklist_crds.resources.kinds import RUN, TEMPLATE_REVISION
from checklist_crds.runs.commands import AnswerStep, Submit
from checklist_crds.times import utc_now

SAME = {"X-Request-Id": "same"}
ONCE = {"op_id": "once", "geo": {"lat": 1.5, "lng": 2.5}}
QUEUE = [{"type": "answer", "step_id": "s-b", "value": True, **ONCE}, {"type": "cancel", "op_id": "late"}]


@pytest.fixture
async def frozen(start_api: StartApi) -> Api:
    """An API whose clock stands still, so that two answers have the same addresses of photos."""
    now = utc_now() + timedelta(seconds=1)
    return await start_api(clock=lambda: now)


async def settle(api: Api, run_id: str) -> None:
    """As the operator does when nothing is left to send."""
    await api.kube.patch_status(RUN, run_id, {"settled": True, "outbox": []}, api.namespace)


async def completed(api: Api, **dispatch: Any) -> str:
    run_id = await api.account.new_run(**dispatch)
    await api.does(run_id, AnswerStep(step_id="s-clean", value=True), Submit())
    await settle(api, run_id)
    return run_id


async def look(api: Api, path: str, **arguments: Any) -> httpx.Response:
    return await api.http.get(path, headers=SAME, **arguments)


def listed(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    assert "archive" not in response.json(), response.text
    return [run["run_id"] for run in response.json()["data"]]


async def everything(api: Api, person: Person, desk: Desk, template: str) -> dict[str, tuple[int, bytes]]:
    run = f"/v1/runs/{person.run_id}"
    lists = ("/v1/runs", "/v1/runs?status=completed", f"{run}/deliveries", f"/v1/deliveries?run_id={person.run_id}")
    files = (*(f"/v1/exports?format={form}" for form in ("csv", "jsonl", "geojson")), f"{run}/export?format=json")
    paths = (
        run,
        *lists,
        *files,
        f"/v1/exports?format=csv&rows=runs&template_id={template}",
        f"{run}/export?format=pdf",
    )
    answers = {path: await look(api, path, timeout=120) for path in paths}
    answers |= {path: await api.anonymous.get(path, headers=SAME) for path in (f"{run}/preview", f"/r/{person.run_id}")}
    for path in ("/runs", *(f"/runs/{person.run_id}{part}" for part in ("", "/story", "/link"))):
        answers[f"dashboard {path}"] = await desk.call("GET", path, **SAME)
    answers["cancel"] = await api.http.post(f"{run}/cancel", json={}, headers=SAME)
    picture_of = {"content": picture(), "headers": SAME | {"Content-Type": "image/jpeg"}}
    for what, method, path, sent_as in (
        ("looks", "GET", "", {"headers": SAME}),
        ("opens", "POST", "/open", {"json": {}, "headers": SAME}),
        ("answers", "PUT", "/answers/s-a", {"json": {"value": True}, "headers": SAME}),
        ("sends again", "PUT", "/answers/s-b", {"json": {"value": True, **ONCE}, "headers": SAME}),
        ("sends a queue", "POST", "/operations", {"json": {"operations": QUEUE}, "headers": SAME}),
        ("uploads", "POST", "/answers/s-a/photos", picture_of),
    ):
        answers[what] = await person.call(method, path, **sent_as)
    return {what: (answer.status_code, answer.content) for what, answer in answers.items()}


async def test_an_archived_run_is_answered_byte_for_byte_as_when_it_was_live(frozen: Api) -> None:
    lab, desk = ArchiveLab(frozen), await at_desk(frozen)
    person = await person_for(
        frozen, step("a", "photo"), step("b", geo=True, label="да, 記"), signature_on_complete=True
    )
    photo = (await person.upload("a", picture())).json()["photo"]
    assert (await person.answer("b", True, **ONCE)).status_code == 200
    assert (await person.submit(signature={"name": "Ada"})).status_code == 200
    await settle(frozen, person.run_id)
    template = (await look(frozen, f"/v1/runs/{person.run_id}")).json()["template_id"]
    before = await everything(frozen, person, desk, template)
    await lab.archive(person.run_id)
    for revision in await frozen.all_of(TEMPLATE_REVISION):
        await frozen.kube.delete(TEMPLATE_REVISION, revision["metadata"]["name"], frozen.namespace)
    await lab.loaded()
    after = await everything(frozen, person, desk, template)
    assert {what for what in before if before[what] != after[what]} == set()
    assert [before[what][0] for what in ("cancel", "looks", "sends again")] == [409, 200, 200]
    assert [each["status"] for each in json.loads(before["sends a queue"][1])["results"]] == [200, 409]
    assert {status for path, (status, _) in before.items() if "export" in path} == {200}
    assert person.run_id.encode() in before["/v1/exports?format=geojson"][1]
    assert json.loads(after["/v1/runs"][1])["pagination"]["total"] == 1
    deletion = await desk.read(f"/templates/{template}/deletion")
    assert (deletion["runs"], deletion["open_runs"]) == (1, 0)
    assert (await person.fetch(photo["url"])).status_code == 200


async def test_deliveries_of_an_archived_run_differ_in_nothing_but_that_they_are_not_sent_again(frozen: Api) -> None:
    lab = ArchiveLab(frozen)
    story = await completed_story(frozen)
    delivered, failed = await story.records(sent(), seq=1), await story.keeps(*five_failures(), seq=2)
    await settle(frozen, story.run_id)
    of_run = f"/v1/deliveries?run_id={story.run_id}"
    one_each = (f"/v1/deliveries/{delivered}", f"/v1/deliveries/{failed}")
    paths = (f"/v1/runs/{story.run_id}/deliveries", of_run, f"{of_run}&status=failed", *one_each)

    async def deliveries() -> list[Any]:
        return [(await look(frozen, path)).json() for path in paths]

    def refused(value: Any) -> Any:
        if isinstance(value, list):
            return [refused(each) for each in value]
        if isinstance(value, dict):
            value = {name: refused(each) for name, each in value.items()}
            if value.get("replayable"):
                value |= {"replayable": False, "replay_refusal": "run_archived"}
        return value

    before = await until(deliveries, lambda found: len(found[2]["data"]) == 1 and len(found[0]["data"]) == 2)
    await lab.archive(story.run_id)
    await lab.loaded()
    assert await deliveries() == refused(before) != before
    replay = await frozen.http.post(f"/v1/deliveries/{failed}/replay")
    assert error_of(replay) == (409, "replay_refused")
    assert "archived" in replay.json()["message"]


async def test_a_run_that_was_deleted_and_not_archived_is_gone_until_an_archive_has_it(api: Api) -> None:
    """As after a restore of the archive, or of another cluster's: the API has not seen it leave."""
    kept, gone = await completed(api), await completed(api)
    lab = ArchiveLab(api)
    record = await lab.record(gone)
    await lab.delete([record])
    assert (await look(api, f"/v1/runs/{gone}")).status_code == 404
    await lab.loaded()
    assert listed(await look(api, "/v1/runs")) == [kept]
    await lab.write([record])
    await until(lambda: look(api, f"/v1/runs/{gone}"), lambda response: response.status_code == 200)


async def test_what_another_organization_has_archived_is_like_what_never_was(api: Api) -> None:
    lab, other = ArchiveLab(api), await api.make_account()
    run_id = await completed(api)
    misplaced = await completed(api)
    await lab.archive(run_id)
    record = await lab.record(misplaced)
    await lab.write([record], object_id("org", other.organization))
    await lab.delete([record])
    await lab.loaded()
    await api.services.archive.refresh(object_id("org", other.organization))
    for path in ("/v1/runs/{}", "/v1/runs/{}/deliveries"):
        theirs = {(await other.http.get(path.format(each), headers=SAME)).content for each in (run_id, misplaced)}
        assert theirs == {(await other.http.get(path.format(new_id("r")), headers=SAME)).content}
    assert listed(await other.http.get("/v1/runs")) == []
    assert (await other.http.get(f"/v1/deliveries?run_id={run_id}")).json()["pagination"]["total"] == 0
    assert (await look(api, f"/v1/runs/{misplaced}")).status_code == 404
    assert listed(await look(api, "/v1/runs")) == [run_id]


async def _away(*_: object) -> None:
    raise StoreUnavailable("no answer")


async def _nothing_listed(*_: object) -> Any:
    raise StoreUnavailable("no answer")
    yield


async def test_an_unavailable_archive_is_reported(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api = await start_api()
    lab, archived, live = ArchiveLab(api), await completed(api), await completed(api)
    await lab.archive(archived)
    await lab.loaded()

    with monkeypatch.context() as broken:
        broken.setattr(ArchiveStore, "get", _away)
        broken.setattr(ArchiveStore, "manifests", _nothing_listed)
        leaving = await completed(api)
        await api.kube.delete(RUN, leaving, api.namespace)
        await until(lambda: look(api, "/v1/runs"), lambda response: "archive" in response.json())
        for run_id in (archived, leaving):
            response = await look(api, f"/v1/runs/{run_id}")
            assert error_of(response) == (503, "service_unavailable")
            assert int(response.headers["Retry-After"]) > 0
            assert "rchive" in response.json()["message"]
        assert (await api.anonymous.get(f"/r/{archived}")).status_code == 503
        assert (await look(api, f"/v1/runs/{live}")).status_code == 200
        response = (await look(api, "/v1/runs")).json()
        assert {run["run_id"] for run in response["data"]} == {archived, leaving, live}
        assert (response["archive"]["complete"], response["archive"]["reason"]) == (False, "unavailable")
        assert (await api.anonymous.get("/readyz")).status_code == 200
        # So it is by a process that starts without the store.
        started = await start_api()
        assert "notes" in (await started.anonymous.get("/readyz")).json()
        response = (await look(started, "/v1/runs")).json()
        assert {run["run_id"] for run in response["data"]} == {live}
        assert (response["archive"]["complete"], response["archive"]["reason"]) == (False, "unavailable")
        assert error_of(await look(started, f"/v1/runs/{new_id('r')}")) == (503, "service_unavailable")
    await until(lambda: look(started, f"/v1/runs/{new_id('r')}"), lambda response: response.status_code == 404)
    listing = await until(lambda: look(started, "/v1/runs"), lambda response: "archive" not in response.json())
    assert listed(listing) == [live, archived]
    await until(lambda: look(api, "/v1/runs"), lambda response: "archive" not in response.json())
    await lab.loaded()
    assert listed(await look(api, "/v1/runs")) == [live, archived]
    assert (await look(api, f"/v1/runs/{archived}")).status_code == 200
    assert (await look(api, f"/v1/runs/{leaving}")).status_code == 404


async def test_unknown_ids_make_one_look_a_second(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, real = 0, ArchiveStore.manifests

    def counted(self: ArchiveStore, within: Any = None) -> Any:
        nonlocal looks
        looks += 1
        return real(self, within)

    monkeypatch.setattr(ArchiveStore, "manifests", counted)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(3):
        answers = await asyncio.gather(*(look(api, f"/v1/runs/{new_id('r')}") for _ in range(10)))
        assert {answer.status_code for answer in answers} == {404}
        await asyncio.gather(*(api.anonymous.get(f"/v1/runs/{new_id('r')}/preview") for _ in range(10)))
    assert looks <= 2 + (loop.time() - began)


async def test_a_damaged_part_affects_no_other(api: Api, start_api: StartApi, caplog: pytest.LogCaptureFixture) -> None:
    lab = ArchiveLab(api)
    first, second, third = [await completed(api) for _ in range(3)]
    [damaged] = await lab.archive(first)
    [unreadable] = await lab.archive(second)
    await lab.archive(third)
    await lab.loaded()
    content = await lab.store.get(damaged.key)
    assert content is not None
    api.services.archived._parts._kept.clear()
    await lab.store.put(damaged.key, content[:-7] + b"\0" * 7)
    for _ in range(2):
        response = await look(api, f"/v1/runs/{first}")
        assert error_of(response) == (503, "service_unavailable")
        assert int(response.headers["Retry-After"]) >= 60
    assert [record.message for record in caplog.records].count("archive.part_damaged") == 1
    assert (await look(api, f"/v1/runs/{third}")).status_code == 200
    metrics = (await api.anonymous.get("/metrics")).text
    assert 'checklists_archive_read_failures_total{reason="damaged"} 2.0' in metrics
    assert "checklists_archived_runs 3.0" in metrics

    await lab.store.put(unreadable.manifest_key, b'{"format": 1')
    starts_with_it = await start_api()
    await starts_with_it.services.archive.wait_until_loaded()
    response = (await look(starts_with_it, "/v1/runs")).json()
    assert ([run["run_id"] for run in response["data"]], response["archive"]["reason"]) == ([third], "damaged")
    statuses = [(await look(starts_with_it, f"/v1/runs/{run}")).status_code for run in (first, third)]
    assert statuses == [503, 200]
    await lab.store.put(damaged.key, content)
    assert (await look(starts_with_it, f"/v1/runs/{first}")).status_code == 200
