"""Photos under the operator: addresses and thumbnails in events, and the collection of what is not needed."""

import asyncio
import base64
import json
from pathlib import Path

import pytest
import pytest_asyncio
from tests.cluster.archive_lab import keep
from tests.cluster.operator_lab import Lab, Receiver, StartOperator
from tests.cluster.photo_lab import PhotoLab
from tests.waiting import eventually

from checklist_crds.photos.store import PhotoStore
from checklist_crds.resources.kinds import RUN
from checklist_crds.runs.commands import AddPhoto, RemovePhotos
from checklist_dev.programs.s3_server import S3Server

WEEK_S = 7 * 86_400
SWEEPING = {
    "CHECKLISTS_SWEEP_SECONDS": "0.5",
    "CHECKLISTS_PHOTO_SWEEP_SECONDS": "0.5",
    "CHECKLISTS_PHOTO_ORPHAN_SECONDS": "3",
}


async def photo_lab(lab: Lab, store: str, folder: Path) -> PhotoLab:
    made = PhotoLab(lab, PhotoStore.open(store), folder)
    await made.prepare()
    return made


@pytest_asyncio.fixture
async def photos(lab: Lab, tmp_path: Path) -> PhotoLab:
    return await photo_lab(lab, (tmp_path / "photos").as_uri(), tmp_path)


async def test_events_bring_thumbnails_and_addresses_of_photos(
    photos: PhotoLab, lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    await start_operator()
    run = await lab.dispatch(receiver.url)
    for number in range(2):
        await photos.add(run, thumbnail=b"picture %d" % number)
    await eventually(lambda: len(receiver.received) == 2)
    data = receiver.events(run)[1]["data"]
    assert [photo["photo_index"] for photo in data["photos"]] == [0, 1]
    assert [base64.b64decode(photo["thumbnail"]) for photo in data["photos"]] == [b"picture 0", b"picture 1"]
    assert "thumbnails_dropped" not in data
    for photo in data["photos"]:
        assert WEEK_S - 60 < (photos.seconds_left(photo["url"]) or 0) <= WEEK_S

    # An event does not wait for a thumbnail that is not there.
    photo = await photos.put(run)
    gone = [one.key for one in await photos.objects(run) if one.key.startswith(photo.key)]
    await photos.store.delete(gone)
    await lab.store.change(lab.namespace, run, AddPhoto(step_id="s-0", photo=photo))
    await eventually(lambda: len(receiver.received) == 3)
    data = receiver.events(run)[2]["data"]
    assert (data["photos"][2]["thumbnail"], data["thumbnails_dropped"]) == (None, True)

    await lab.submit(run)
    await eventually(lambda: len(receiver.received) == 4)
    data = receiver.events(run)[3]["data"]
    assert [(photo["step_id"], photo["photo_index"]) for photo in data["photos"]] == [("s-0", n) for n in range(3)]
    for of_event, of_answer in zip(data["photos"], data["answers"]["s-0"]["photos"], strict=True):
        for url in (of_event["url"], of_answer["url"], of_answer["thumbnail_url"]):
            assert photos.seconds_left(url) is not None


async def test_each_attempt_has_addresses_of_its_own_and_none_is_kept(
    photos: PhotoLab, lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    await start_operator(CHECKLISTS_RETRY_GAPS="1.1,1.1,1.1,1.1")  # addresses have whole seconds
    receiver.answer = lambda one: 200 if one.attempt == 3 else 500
    run = await lab.dispatch(receiver.url, events=["step.completed"])
    photo = await photos.add(run, thumbnail=b"picture")
    await eventually(lambda: len(receiver.received) == 3)
    sent = [event["data"]["photos"][0] for event in receiver.events(run)]
    assert len({one["url"] for one in sent}) == 3
    assert {one["thumbnail"] for one in sent} == {base64.b64encode(b"picture").decode()}
    assert all(photos.seconds_left(one["url"]) for one in sent)
    (delivery,) = await lab.deliveries(run)
    kept = json.loads(delivery["spec"]["payload"])["data"]["photos"]
    assert kept == [{"photo_index": 0, "url": photo.key, "thumbnail": None}]


async def test_photos_of_a_deleted_run_go_at_once(
    photos: PhotoLab, lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    await start_operator(CHECKLISTS_PHOTO_ORPHAN_SECONDS="3600", CHECKLISTS_PHOTO_SWEEP_SECONDS="3600")
    run, other = [await lab.dispatch(receiver.url, events=["step.completed"]) for _ in range(2)]
    for name in (run, run, other):
        await photos.add(name)
    assert len(await photos.keys(run)) == 2
    # Its watch runs, and has shown it all of that: what no watch has shown goes by the sweep.
    await eventually(lambda: len(receiver.events(run)) == 2)
    await lab.client.delete(RUN, run, lab.namespace)

    async def gone() -> bool:
        return not await photos.keys(run)

    await eventually(gone)
    assert len(await photos.keys(other)) == 1


@pytest.mark.parametrize("archive", [True, False])
async def test_photo_retention(photos: PhotoLab, lab: Lab, start_operator: StartOperator, archive: bool) -> None:
    await start_operator(**SWEEPING)
    run = await lab.dispatch()
    await photos.add(run)
    await lab.submit(run)
    await keep(lab, finishedRunsDays=1.0 / 86_400, archive=archive)

    async def gone() -> bool:
        return await lab.is_gone(RUN, run) and (archive or not await photos.keys(run))

    await eventually(gone)
    await asyncio.sleep(2.0)  # more than one sweep of photos
    assert bool(await photos.keys(run)) is archive


@pytest.mark.parametrize("kind", ["file", "s3"])
async def test_orphans_go_when_they_are_old_enough_and_what_is_in_use_stays(  # noqa: PLR0917 - fixtures
    lab: Lab,
    start_operator: StartOperator,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    settings = {"CHECKLISTS_PHOTO_STORE": (tmp_path / "photos").as_uri()}
    if kind == "s3":
        server: S3Server = request.getfixturevalue("s3")
        settings = server.settings(tmp_path.name)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
    photos = await photo_lab(lab, settings["CHECKLISTS_PHOTO_STORE"], tmp_path)
    await start_operator(**SWEEPING, **settings)
    finished = await lab.dispatch()
    await photos.add(finished)
    await lab.submit(finished)
    run = await lab.dispatch()
    used, taken_back, never_added = await photos.add(run), await photos.add(run), await photos.put(run)
    await lab.store.change(lab.namespace, run, RemovePhotos(step_id="s-0", photo_index=1))
    gone_run = "r-00000000-0000-4000-8000-000000000abc"
    await photos.put(gone_run)
    assert await photos.keys(run) == {used.key, taken_back.key, never_added.key}
    await asyncio.sleep(1.5)
    assert len(await photos.keys(run)) == 3

    async def only_the_used_one_is_left() -> bool:
        return await photos.keys(run) == {used.key} and not await photos.keys(gone_run)

    await eventually(only_the_used_one_is_left)
    await asyncio.sleep(1.5)
    assert await photos.keys(run) == {used.key}
    assert len(await photos.keys(finished)) == 1
