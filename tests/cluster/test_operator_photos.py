"""Photos in the operator's hands: addresses and thumbnails in events, and the collection of what nobody needs."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, condition
from tests.cluster.photo_lab import PhotoLab
from tests.waiting import eventually

from checklist_api.photos.limits import THUMBNAIL_BYTES
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import ORGANIZATION, RUN, WEBHOOK_DELIVERY
from checklist_crds.photo_store import PhotoStore
from checklist_crds.run_commands import AddPhoto, RemovePhotos
from checklist_dev.controlplane import ControlPlane
from checklist_dev.s3_server import S3Server

WEEK_S = 7 * 86_400


@pytest.fixture(params=["file", "s3"])
def store_settings(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The same store for the operator and for the test."""
    if request.param == "file":
        return {"CHECKLISTS_PHOTO_STORE": (tmp_path / "photos").as_uri()}
    server: S3Server = request.getfixturevalue("s3")
    settings = server.settings(tmp_path.name)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return settings


@pytest_asyncio.fixture
async def photos(lab: Lab, store_settings: dict[str, str], tmp_path: Path) -> PhotoLab:
    made = PhotoLab(lab, PhotoStore.open(store_settings["CHECKLISTS_PHOTO_STORE"]), tmp_path)
    await made.prepare()
    return made


@pytest_asyncio.fixture
async def patient_operator(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, store_settings: dict[str, str]
) -> AsyncIterator[OperatorProcess]:
    """One that takes no photo for an orphan as long as a test lasts."""
    orphans = {"CHECKLISTS_PHOTO_ORPHAN_SECONDS": "3600", "CHECKLISTS_PHOTO_SWEEP_SECONDS": "3600"}
    made = OperatorProcess(tmp_path, control_plane.kubeconfig, namespace, **orphans, **store_settings)
    await made.start()
    yield made
    await made.stop()


@pytest_asyncio.fixture
async def operator(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, store_settings: dict[str, str]
) -> AsyncIterator[OperatorProcess]:
    """One that sweeps photos twice a second, and takes them for orphans after three."""
    made = OperatorProcess(
        tmp_path,
        control_plane.kubeconfig,
        namespace,
        CHECKLISTS_SWEEP_SECONDS="0.5",
        CHECKLISTS_PHOTO_SWEEP_SECONDS="0.5",
        CHECKLISTS_PHOTO_ORPHAN_SECONDS="3",
        **store_settings,
    )
    await made.start()
    yield made
    await made.stop()
    assert '"level": "error"' not in made.output, made.output[-4000:]


async def test_a_completed_step_brings_its_photos(
    photos: PhotoLab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await photos.lab.dispatch(receiver.url)
    for number in range(2):
        await photos.add(run, thumbnail=b"picture %d" % number)
    await eventually(lambda: len(receiver.received) == 2)
    data = receiver.events(run)[1]["data"]
    assert [photo["photo_index"] for photo in data["photos"]] == [0, 1]
    assert [base64.b64decode(photo["thumbnail"]) for photo in data["photos"]] == [b"picture 0", b"picture 1"]
    assert "thumbnails_dropped" not in data
    for photo in data["photos"]:
        assert WEEK_S - 60 < (photos.seconds_left(photo["url"]) or 0) <= WEEK_S


async def test_an_event_without_pictures_does_not_overtake_those_whose_pictures_are_still_read(
    photos: PhotoLab, receiver: Receiver, operator: OperatorProcess
) -> None:
    receiver.answer = lambda _: 500  # so that each event gets a delivery, which says when its attempts started
    await operator.stop()
    run = await photos.lab.dispatch(receiver.url)
    for _ in range(2):
        await photos.add(run, thumbnail=bytes(THUMBNAIL_BYTES))
    await photos.lab.answer(run, 1)
    await operator.start()

    async def starts() -> list[str] | None:
        deliveries = sorted(await photos.lab.deliveries(run), key=lambda delivery: delivery["spec"]["seq"])
        attempts = [(delivery.get("status") or {}).get("attempts") or [] for delivery in deliveries]
        return [made[0]["startedAt"] for made in attempts] if len(attempts) == 3 and all(attempts) else None

    # By when the attempts started, not by when they arrived: one with pictures takes longer.
    started = await eventually(starts)
    assert started == sorted(started)


async def test_a_completed_run_brings_the_addresses_of_all_photos(
    photos: PhotoLab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await photos.lab.dispatch(receiver.url, events=["run.completed"])
    await photos.add(run)
    await photos.lab.submit(run)
    await eventually(lambda: receiver.received)
    data = receiver.events(run)[0]["data"]
    (photo,) = data["photos"]
    (of_answer,) = data["answers"]["s-0"]["photos"]
    assert (photo["step_id"], photo["photo_index"]) == ("s-0", 0)
    for url in (photo["url"], of_answer["url"], of_answer["thumbnail_url"]):
        assert photos.seconds_left(url) is not None


async def test_addresses_are_made_anew_for_each_attempt_and_none_is_kept(
    photos: PhotoLab, receiver: Receiver, operator: OperatorProcess
) -> None:
    async def at_the_third_attempt(one: object) -> int:
        await asyncio.sleep(1.0)
        return 200 if len(receiver.received) == 3 else 500

    receiver.answer = at_the_third_attempt
    run = await photos.lab.dispatch(receiver.url, events=["step.completed"])
    photo = await photos.add(run, thumbnail=b"picture")
    await eventually(lambda: len(receiver.received) == 3)
    sent = [event["data"]["photos"][0] for event in receiver.events(run)]
    assert len({one["url"] for one in sent}) == 3
    assert {one["thumbnail"] for one in sent} == {base64.b64encode(b"picture").decode()}
    assert all(photos.seconds_left(one["url"]) for one in sent)
    (delivery,) = await photos.lab.deliveries(run)
    kept = json.loads(delivery["spec"]["payload"])["data"]["photos"]
    assert kept == [{"photo_index": 0, "url": photo.key, "thumbnail": None}]


async def test_thumbnails_make_way_from_the_last_one_on_and_the_event_says_so(
    photos: PhotoLab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await photos.lab.dispatch(receiver.url, events=["step.completed"])
    for _ in range(12):
        await photos.add(run, thumbnail=bytes(THUMBNAIL_BYTES))
    await eventually(lambda: len(receiver.received) == 12)
    last = max(receiver.events(run), key=lambda event: event["seq"])
    thumbnails = [photo["thumbnail"] is not None for photo in last["data"]["photos"]]
    assert thumbnails == [True] * 10 + [False] * 2
    assert last["data"]["thumbnails_dropped"] is True
    assert max(len(one.body) for one in receiver.received) <= 256 * 1024


async def test_an_event_does_not_wait_for_a_thumbnail_that_is_not_there(
    photos: PhotoLab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await photos.lab.dispatch(receiver.url, events=["run.cancelled", "step.completed"])
    photo = await photos.put(run)
    await photos.store.delete([stored.key for stored in await photos.store.objects_of(run)])
    await photos.lab.store.change(photos.lab.namespace, run, AddPhoto(step_id="s-0", photo=photo))
    await eventually(lambda: receiver.received)
    data = receiver.events(run)[0]["data"]
    assert (data["photos"][0]["thumbnail"], data["thumbnails_dropped"]) == (None, True)


async def test_photos_of_a_deleted_run_go_at_once(
    photos: PhotoLab, patient_operator: OperatorProcess, receiver: Receiver
) -> None:
    run, other = [await photos.lab.dispatch(receiver.url, events=["step.completed"]) for _ in range(2)]
    for name in (run, run, other):
        await photos.add(name)
    assert len(await photos.keys(run)) == 2
    # Its watch runs, and has shown it all of that: what nobody saw goes by the sweep.
    await eventually(lambda: len(receiver.events(run)) == 2)
    await photos.lab.client.delete(RUN, run, photos.lab.namespace)

    async def gone() -> bool:
        return not await photos.keys(run)

    await eventually(gone)
    assert len(await photos.keys(other)) == 1


@pytest.mark.parametrize("archive", [True, False])
async def test_photos_go_with_a_run_whose_retention_is_over_unless_it_is_archived(
    photos: PhotoLab, operator: OperatorProcess, archive: bool
) -> None:
    run = await photos.lab.dispatch()
    await photos.add(run)
    await photos.lab.submit(run)
    retention = {"finishedRunsDays": 1.0 / 86_400, "archive": archive}
    await photos.lab.client.patch(ORGANIZATION, photos.lab.organization, {"spec": {"retention": retention}})

    async def gone() -> bool:
        try:
            await photos.lab.client.get(RUN, run, photos.lab.namespace)
        except KubeNotFound:
            return archive or not await photos.keys(run)
        return False

    await eventually(gone)
    await asyncio.sleep(2.0)  # more than one sweep of photos
    assert bool(await photos.keys(run)) is archive


async def test_a_finished_run_keeps_its_photos(photos: PhotoLab, operator: OperatorProcess) -> None:
    run = await photos.lab.dispatch()
    await photos.add(run)
    await photos.lab.submit(run)
    await photos.lab.until_settled(run)
    await asyncio.sleep(5)
    assert len(await photos.keys(run)) == 1


async def test_orphans_go_when_they_are_old_enough_and_what_is_in_use_stays(
    photos: PhotoLab, operator: OperatorProcess
) -> None:
    run = await photos.lab.dispatch()
    used, taken_back, never_added = await photos.add(run), await photos.add(run), await photos.put(run)
    await photos.lab.store.change(photos.lab.namespace, run, RemovePhotos(step_id="s-0", photo_index=1))
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


async def test_without_the_servers_key_an_event_with_photos_waits_and_says_why(
    photos: PhotoLab,
    receiver: Receiver,
    control_plane: ControlPlane,
    tmp_path: Path,
    store_settings: dict[str, str],
) -> None:
    operator = OperatorProcess(
        tmp_path,
        control_plane.kubeconfig,
        photos.lab.namespace,
        name="keyless",
        **{**store_settings, "CHECKLISTS_SERVER_KEY": ""},
    )
    await operator.start()
    run = await photos.lab.dispatch(receiver.url, events=["step.completed"])
    await photos.add(run)

    async def told() -> bool:
        body = await photos.lab.client.get(RUN, run, photos.lab.namespace)
        return (condition(body, "Delivering") or {}).get("reason") == "PhotoKeyMissing"

    await eventually(told)
    assert receiver.received == []
    await operator.stop()
    with_key = OperatorProcess(
        tmp_path, control_plane.kubeconfig, photos.lab.namespace, name="keyless", **store_settings
    )
    await with_key.start()
    await eventually(lambda: receiver.received)
    await with_key.stop()
    items, _ = await photos.lab.client.list_all(WEBHOOK_DELIVERY, photos.lab.namespace)
    assert items == []
