"""`checklist-dispatch erase` with a real API server, and with the photo store and the archive in a folder and in S3."""

import asyncio
import base64
import contextlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract.archive_lab import ArchiveLab
from tests.contract.conftest import EACH_STORE, Api, owned
from tests.contract.delivery_stories import Story, five_failures
from tests.contract.executor_client import Person, person_for, step
from tests.contract.pictures import drawing, picture
from tests.waiting import eventually

from checklist_cli.program import main
from checklist_crds.archive import ArchiveReader, ArchiveStore, RemovedDeliveries, encode_part, lines_of
from checklist_crds.archive.layout import Folder, month_of
from checklist_crds.ids import new_id, object_id
from checklist_crds.photos.store import PhotoStore
from checklist_crds.resources.kinds import (
    AUDIT_ENTRY,
    DELIVERY_REPLAY,
    LOCAL_ACCOUNT,
    MEMBER,
    ORGANIZATION,
    RUN,
    WEBHOOK_DELIVERY,
)
from checklist_crds.resources.legal_hold import LEGAL_HOLD_ANNOTATION
from checklist_crds.times import utc_now
from checklist_dev.local.controlplane import ControlPlane

ADA, BOB = "ada.lovelace@example.org", "bob@example.org"
Json = dict[str, Any]


class Eraser:
    def __init__(self, organization: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.organization = organization
        self._folder = folder
        self._capsys = capsys
        self._receipts = 0

    async def __call__(self, *arguments: object) -> tuple[int, str]:
        """Its exit status, and what it printed on standard output."""
        self._capsys.readouterr()
        status = await asyncio.to_thread(main, ["erase", *map(str, arguments)])
        return status, self._capsys.readouterr().out

    async def person(self, *who: object) -> tuple[int, str, Json, Path]:
        """Erases Ada, or who else is named. The last are the receipt and its file."""
        self._receipts += 1
        file = self._folder / f"receipt-{self._receipts}.json"
        who = who if "--member" in who else ("--email", ADA, *who)
        status, said = await self("--organization", self.organization, *who, "--yes", "--receipt", file)
        return status, said, json.loads(file.read_text()), file


@pytest.fixture
def erase(  # noqa: PLR0917 - fixtures
    control_plane: ControlPlane,
    api: Api,
    server_key: bytes,
    photo_settings: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Eraser:
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    monkeypatch.setenv("CHECKLISTS_SERVER_KEY", base64.b64encode(server_key).decode())
    monkeypatch.setenv("CHECKLISTS_NAMESPACE", api.namespace)
    monkeypatch.setenv("CHECKLISTS_WATCH_NAMESPACES", api.namespace)
    for name, value in photo_settings.items():
        monkeypatch.setenv(name, value)
    return Eraser(api.organization, tmp_path, capsys)


async def answered(api: Api, email: str, *, ends: bool = True, **dispatch: Any) -> Person:
    """A person gives their address, a photo and a drawn signature; and is through with it, or is not."""
    person = await person_for(
        api, step("a", "photo"), step("b"), identity="external", signature_on_complete=True, dispatch=dispatch
    )
    given = await person.call("PUT", "/identity", json={"name": "Ada", "email": email})
    assert given.status_code == 200, given.text
    assert (await person.upload("a", picture(color=(len(email), 9, 9)))).status_code == 201
    assert (await person.draw(drawing())).status_code < 300
    assert (await person.answer("b", True)).status_code == 200
    if ends:
        assert (await person.submit(signature={"name": "S. Body"})).status_code == 200
    return person


async def settle(api: Api, *people: Person) -> None:
    for person in people:
        await api.kube.patch_status(RUN, person.run_id, {"settled": True, "outbox": []}, api.namespace)


async def story_of(person: Person) -> dict[str, tuple[int, bytes]]:
    api, headers = person.api, {"X-Request-Id": "same"}
    paths = [f"/v1/runs/{person.run_id}", f"/v1/runs/{person.run_id}/deliveries"]
    found = {path: await api.http.get(path, headers=headers) for path in paths}
    found["executor"] = await person.call("GET", headers=headers)
    found["preview"] = await api.anonymous.get(f"/v1/runs/{person.run_id}/preview", headers=headers)
    return {what: (answer.status_code, _without_signatures(answer)) for what, answer in found.items()}


def _without_signatures(answer: httpx.Response) -> bytes:
    """Addresses of photos are signed at each read."""
    return b'"'.join(part.partition(b"?")[0] if b"/v1/photos/" in part else part for part in answer.content.split(b'"'))


async def keys_of(url: str, *people: Person) -> list[str]:
    store = PhotoStore.open(url)
    owned = [(object_id("org", person.api.organization), person.run_id) for person in people]
    return [stored.key for one in owned for stored in await store.objects_of_run(*one)]


async def all_objects(store: ArchiveStore) -> dict[str, bytes | None]:
    found = [stored.key async for stored in store.objects()]
    return {key: await store.get(key) for key in found}


@EACH_STORE
async def test_all_of_one_person_goes_and_everything_of_others_stays(api: Api, erase: Eraser) -> None:
    lab = ArchiveLab(api)
    url = lab.url
    archived, other_archived = await answered(api, "Ada.Lovelace@Example.ORG"), await answered(api, BOB)
    await settle(api, archived, other_archived)
    (place,) = await lab.archive(archived.run_id, other_archived.run_id)
    await lab.loaded()
    live, other_live = await answered(api, ADA, ends=False), await answered(api, BOB, ends=False)
    waiting = await answered(api, ADA)
    event = await Story(api, api.account, waiting.run_id).keeps(*five_failures(), seq=1, payload='{"run_id": "x"}')
    by_reference = await api.account.new_run(executor_ref="ADA.lovelace@example.org")
    assert len(await keys_of(url, archived, live, waiting)) == 12
    before = [await story_of(person) for person in (other_archived, other_live)]
    photos = await keys_of(url, other_archived, other_live)
    used = (await api.http.get("/v1/usage")).json()
    old = await lab.store.manifest(place)
    assert old is not None
    others_line = lines_of(await lab.store.get(place.key) or b"", old)[old.run_ids.index(other_archived.run_id)]

    listing = asyncio.create_task(_others_are_always_listed(api, {other_archived.run_id, other_live.run_id}))
    status, said, receipt, file = await erase.person()
    assert status == 0, said
    gone = [archived.run_id, live.run_id, waiting.run_id, by_reference]
    assert sorted(run["id"] for run in receipt["erased"]["runs"]) == sorted(gone)
    counts = receipt["erased"]["counts"]
    assert (counts["runs"], counts["runs_live"], counts["runs_archived"]) == (4, 3, 1)
    assert receipt["erased"]["deliveries"] == [event]
    assert counts["photo_objects"] == 12
    assert receipt["complete"] and not any(receipt["proof"]["left"].values())
    assert receipt["proof"]["looked_at"]["archived_runs"] == 1
    assert ADA not in file.read_text().casefold() and BOB not in file.read_text()

    # In the stores and in the cluster.
    assert await keys_of(url, archived, live, waiting) == []
    assert await keys_of(url, other_archived, other_live) == photos
    contents = await all_objects(lab.store)
    assert not any(key.startswith(place.key) or key == place.manifest_key for key in contents)
    (new,) = [found async for found, _ in lab.store.manifests()]
    manifest = await lab.store.manifest(new)
    assert manifest is not None and manifest.run_ids == (other_archived.run_id,)
    assert lines_of(contents[new.key] or b"", manifest) == [others_line]
    (erased,) = receipt["erased"]["parts"]
    assert (erased["part"], erased["sha256"], erased["instead"]) == (place.key, old.sha256, new.key)
    assert erased["sha256_instead"] == manifest.sha256
    assert [body["metadata"]["name"] for body in await api.all_of(RUN)] == [other_live.run_id]
    assert await api.all_of(WEBHOOK_DELIVERY) == []

    # What people read.
    async def they_are_not_found() -> bool:
        answers = [await api.http.get(f"/v1/runs/{run_id}") for run_id in gone]
        rows = (await api.http.get("/v1/runs")).json()["data"]
        return {answer.status_code for answer in answers} == {404} and not {row["run_id"] for row in rows} & set(gone)

    await api.services.archive.refresh(object_id("org", api.organization))
    await eventually(they_are_not_found)
    assert (await archived.call("GET")).status_code == (await live.call("GET")).status_code == 404
    listing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await listing
    assert [await story_of(person) for person in (other_archived, other_live)] == before
    assert (await api.http.get("/v1/usage")).json() == used

    # The audit trail has it, without the person.
    entries = [body["spec"] for body in await api.all_of(AUDIT_ENTRY)]
    (entry,) = [spec for spec in entries if spec["action"] == "person.erased"]
    assert entry["details"]["runs"] == "4" and ADA not in json.dumps(entries).casefold()

    # A second time there is nothing, and the receipt is what it says it is.
    status, _, again, _ = await erase.person()
    assert (status, again["erased"]["counts"]["runs"]) == (0, 0)
    assert (await erase("--check-receipt", file))[0] == 0
    assert (await erase("--check-receipt", file, "--email", ADA.upper()))[0] == 0
    assert (await erase("--check-receipt", file, "--email", BOB)) == (1, "genuine, but not about this email\n")
    file.write_text(file.read_text().replace(live.run_id, other_live.run_id))
    status, said = await erase("--check-receipt", file)
    assert (status, said.split(":")[0]) == (1, "NOT genuine")


async def _others_are_always_listed(api: Api, others: set[str]) -> None:
    """While a part is written again and afterwards, lists have all runs of others, in the archive as well."""
    while True:
        response = await api.http.get("/v1/runs?per_page=100")
        assert others <= {row["run_id"] for row in response.json()["data"]}, response.text
        for run_id in others:
            assert (await api.http.get(f"/v1/runs/{run_id}")).status_code == 200
        await asyncio.sleep(0.01)


async def test_a_legal_hold_stops_the_erasure_of_that_run_alone(api: Api, erase: Eraser) -> None:
    lab = ArchiveLab(api)
    held, free = await answered(api, ADA), await answered(api, ADA)
    hold = {"metadata": {"annotations": {LEGAL_HOLD_ANNOTATION: "true"}}}
    await api.kube.patch(RUN, held.run_id, hold, api.namespace)
    before, photos = await story_of(held), await keys_of(lab.url, held)
    status, said, receipt, _ = await erase.person()
    assert status == 1 and f"held back: {held.run_id}" in said
    assert receipt["held"] == [{"run": held.run_id, "why": "a legal hold is on the run"}]
    assert not receipt["complete"] and not any(receipt["proof"]["left"].values())
    assert [run["id"] for run in receipt["erased"]["runs"]] == [free.run_id]
    assert await story_of(held) == before and await keys_of(lab.url, held) == photos
    assert await keys_of(lab.url, free) == []
    # On the organization it holds all, also what the archive has.
    await api.kube.patch(RUN, held.run_id, {"metadata": {"annotations": None}}, api.namespace)
    await settle(api, held)
    await lab.archive(held.run_id)
    await api.kube.patch(ORGANIZATION, api.organization, hold)
    contents = await all_objects(lab.store)
    status, said, *_ = await erase.person()
    assert status == 1 and "a legal hold is on the organization" in said
    assert await all_objects(lab.store) == contents
    await api.kube.patch(ORGANIZATION, api.organization, {"metadata": {"annotations": None}})
    assert (await erase.person())[0] == 0
    assert await all_objects(lab.store) == {} and await keys_of(lab.url, held) == []


async def test_dry_runs_damaged_parts_and_snapshots(api: Api, erase: Eraser, tmp_path: Path) -> None:
    lab = ArchiveLab(api)
    live, archived = await answered(api, ADA), await answered(api, ADA)
    theirs = await (await api.make_account()).new_run(executor_ref=ADA)
    await settle(api, archived)
    (place,) = await lab.archive(archived.run_id)

    async def everything() -> Any:
        objects = [await api.all_of(kind) for kind in (RUN, WEBHOOK_DELIVERY, AUDIT_ENTRY, MEMBER)]
        return objects, await all_objects(lab.store), await keys_of(lab.url, live, archived)

    before = await everything()
    status, said = await erase("--organization", api.organization, "--email", ADA, "--dry-run")
    assert status == 0
    where = dict(line.split("  ")[:2] for line in said.splitlines()[:2])
    assert where == {live.run_id: "cluster", archived.run_id: "archive"}
    assert "1 live runs, 1 archived runs, 8 photo objects" in said.splitlines()[-1]
    assert await everything() == before
    assert [stored async for stored in lab.store.erasures(object_id("org", api.organization))] == []

    # A run of a moment ago, of which the quota is not sure yet, stays counted.
    quota = (await api.kube.get(ORGANIZATION, api.organization))["status"]["quota"]
    pending = {**quota, "pending": [{"runId": live.run_id, "since": "2026-11-22T12:00:00Z"}]}
    await api.kube.patch_status(ORGANIZATION, api.organization, {"quota": pending})
    url = (tmp_path / "backup").as_uri()
    assert await asyncio.to_thread(main, ["backup", "--to", url, "--organization", api.organization]) == 0
    whole = await lab.store.get(place.key) or b""
    await lab.store.put(place.key, whole[:-1])
    status, said, first, _ = await erase.person("--backup", url)
    assert status == 1 and f"left: {place.key}" in said
    assert [run["id"] for run in first["erased"]["runs"]] == [live.run_id]
    (erased,) = [one for one in first["elsewhere"] if one["where"] == f"backup {url}"]
    (snapshot,) = [path.name for path in (tmp_path / "backup" / "snapshots").iterdir()]
    assert snapshot in erased["what"]
    await lab.store.put(place.key, whole)
    status, said, second, _ = await erase.person()
    assert status == 0 and len(second["attempts"]) == 2, said
    assert {run["id"] for run in second["erased"]["runs"]} == {live.run_id, archived.run_id}
    after = (await api.kube.get(ORGANIZATION, api.organization))["status"]["quota"]
    assert (after.get("pending", []), after["used"]) == ([], quota["used"])
    # Another organization's run of the same person stays.
    assert {body["metadata"]["name"] for body in (await api.kube.list_all(RUN, api.namespace))[0]} == {theirs}


async def test_deliveries_that_left_before_their_run_and_replays_go_as_well(api: Api, erase: Eraser) -> None:
    """Of a run that is there, and of one that was deleted by hand: its payload still says whose it was."""
    store = ArchiveLab(api).store
    person, stranger, lost = await answered(api, ADA), await answered(api, BOB), new_id("r")
    identity = {"mode": "external", "name": "A", "email": ADA}

    def removed(run_id: str, payload: Json) -> RemovedDeliveries:
        spec = {"runRef": {"name": run_id}, "ts": "2026-03-01T12:00:00Z", "url": "https://hooks.example.com/x"}
        name, spec["payload"] = new_id("evt"), json.dumps(payload)
        metadata = {"name": name, "namespace": api.namespace, "resourceVersion": "7"}
        return RemovedDeliveries.of([{"metadata": metadata, "spec": spec, "status": {}}])

    lines = [removed(person.run_id, {}), removed(lost, {"identity": identity}), removed(stranger.run_id, {})]
    folder = Folder(object_id("org", api.organization), month_of(lines[0].created_at))
    part = encode_part(folder, lines, written_at=utc_now(), written_by="a test")
    await store.put(part.place.key, part.content)
    await store.put(part.place.manifest_key, part.manifest.encoded())
    for run_id in (person.run_id, stranger.run_id):
        spec = {"filter": {"runRef": {"name": run_id}}}
        body = owned(DELIVERY_REPLAY, f"replay-{run_id}", api.organization, api.namespace, spec)
        await api.kube.create(DELIVERY_REPLAY, body, api.namespace)
    status, said, receipt, _ = await erase.person()
    assert status == 0, said
    assert {run["id"] for run in receipt["erased"]["runs"]} == {person.run_id, lost}
    assert len(receipt["erased"]["deliveries"]) == 2
    assert receipt["erased"]["replays"] == [f"replay-{person.run_id}"]
    (place,) = [place async for place, _ in store.manifests()]
    manifest = await store.manifest(place)
    assert manifest is not None
    assert await ArchiveReader(store).records(manifest) == [lines[2]]
    assert [body["metadata"]["name"] for body in await api.all_of(DELIVERY_REPLAY)] == [f"replay-{stranger.run_id}"]


async def test_a_member_goes_with_their_account_only_when_that_is_asked_for(api: Api, erase: Eraser) -> None:
    member = new_id("u")
    body = owned(MEMBER, member, api.organization, api.namespace, {"name": "Ada", "email": ADA.upper()})
    await api.kube.create(MEMBER, body, api.namespace)
    run = await api.account.new_run()
    await api.kube.patch_status(RUN, run, {"identity": {"userId": member}, "assignedTo": member}, api.namespace)
    status, _, first, _ = await erase.person()
    assert status == 0
    assert [(one["id"], one["why"]) for one in first["erased"]["runs"]] == [(run, ["member"])]
    assert any(member in one["what"] for one in first["stays"])
    assert await api.kube.get(MEMBER, member, api.namespace)
    status, _, second, _ = await erase.person("--member", member, "--with-account")
    assert status == 0 and second["erased"]["account"] == [f"Member {api.namespace}/{member}"]
    assert member not in {body["metadata"]["name"] for body in await api.all_of(MEMBER)}
    assert (await api.kube.list_all(LOCAL_ACCOUNT, api.namespace))[0] == []


async def test_what_cannot_be_done_is_said_in_one_line(erase: Eraser, capsys: pytest.CaptureFixture[str]) -> None:
    organization = ("--organization", erase.organization)
    for arguments, why in (
        (["--email", ADA, "--yes"], "give --organization"),
        ([*organization, "--yes"], "give at least one of"),
        (["--organization", "absent", "--email", ADA, "--yes"], "there is no organization absent"),
        ([*organization, "--member", "absent", "--yes"], "has no member absent"),
        (["--check-receipt", "none.json"], "none.json cannot be read"),
    ):
        assert await asyncio.to_thread(main, ["erase", *arguments]) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err.count("\n")) == ("", 1)
        assert why in printed.err
