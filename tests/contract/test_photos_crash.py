"""The API is killed while a photo is on its way: nothing that was promised is lost, nothing is there twice."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from checklist_crds.kube.kinds import RUN
from checklist_crds.run_photos import keys_in_use
from checklist_crds.run_types import Run
from checklist_dev.controlplane import ControlPlane

from .conftest import Api, http_client
from .executor_client import Person, person_for, step
from .pictures import picture
from .test_owner_cluster_down import frozen
from .test_owner_process import Process


@pytest.fixture
def photo_settings(each_store: dict[str, str]) -> dict[str, str]:
    return each_store


@pytest.fixture
async def process(
    api: Api, control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Process]:
    monkeypatch.setenv("CHECKLISTS_UPLOAD_FOLDER", str(tmp_path))
    made = Process(api, control_plane, tmp_path / "api.log")
    made.start()
    await made.ready()
    yield made
    made.child.kill()
    await made.ended()
    await made.http.aclose()


async def upload(process: Process, person: Person, body: bytes | AsyncIterator[bytes], op_id: str) -> httpx.Response:
    async with http_client(f"http://127.0.0.1:{process.port}") as http:
        return await http.post(
            f"/v1/executor/runs/{person.run_id}/answers/s-a/photos",
            params={"op_id": op_id},
            content=body,
            headers={"Authorization": f"Executor {person.token}", "Content-Type": "image/jpeg"},
        )


async def killed_and_started_again(process: Process) -> None:
    os.kill(process.child.pid, signal.SIGKILL)
    await process.ended()
    process.start()
    await process.ready()


async def test_killed_between_store_and_run_it_leaves_an_orphan_at_most_and_the_retry_is_one_photo(
    api: Api, process: Process, control_plane: ControlPlane, tmp_path: Path
) -> None:
    person = await person_for(api, step("a", "photo"))
    image, may_go_on = picture(), asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield image[: len(image) // 2]
        await may_go_on.wait()
        yield image[len(image) // 2 :]

    sending = asyncio.create_task(upload(process, person, body(), "one"))
    while not list(tmp_path.glob("checklist-dispatch-uploads-*/*/upload")):
        await asyncio.sleep(0.01)
    async with frozen(control_plane.apiserver.pid):
        # From here on the run cannot be told of the photo; the store can.
        may_go_on.set()
        while len(await api.services.photo_store.objects_of(person.run_id)) < 2:
            await asyncio.sleep(0.005)
        os.kill(process.child.pid, signal.SIGKILL)
        # On a machine that is busy it may have said first that the cluster does not answer: that promises nothing.
        with contextlib.suppress(httpx.TransportError):
            assert (await sending).status_code == 503
        await process.ended()
    run = Run.parse(await api.kube.get(RUN, person.run_id, api.namespace))
    assert keys_in_use(run.status) == frozenset()
    process.start()
    await process.ready()
    again = await upload(process, person, image, "one")
    assert (again.status_code, again.json()["replayed"]) == (201, False)
    run = Run.parse(await api.kube.get(RUN, person.run_id, api.namespace))
    assert len(keys_in_use(run.status)) == 1
    # It landed in the same place: not even an orphan is left.
    assert len(await api.services.photo_store.objects_of(person.run_id)) == 2
    assert await person.events() == ["step.completed"]


async def test_killed_while_it_receives_it_leaves_nothing(api: Api, process: Process, tmp_path: Path) -> None:
    person = await person_for(api, step("a", "photo"))
    image, was_killed = picture(), asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield image[: len(image) // 2]
        await was_killed.wait()
        yield image[len(image) // 2 :]

    sending = asyncio.create_task(upload(process, person, body(), "one"))
    while not list(tmp_path.glob("checklist-dispatch-uploads-*/*/upload")):
        await asyncio.sleep(0.01)
    await killed_and_started_again(process)
    was_killed.set()
    with pytest.raises(httpx.TransportError):
        await sending
    assert list(tmp_path.glob("checklist-dispatch-uploads-*/*/upload")) == []
    assert await api.services.photo_store.objects_of(person.run_id) == []
    assert (await upload(process, person, image, "one")).status_code == 201


async def test_killed_after_the_answer_the_photo_is_there_and_the_retry_is_told_so(api: Api, process: Process) -> None:
    person = await person_for(api, step("a", "photo"))
    first = await upload(process, person, picture(), "one")
    await killed_and_started_again(process)
    again = await upload(process, person, picture(), "one")
    assert (first.status_code, again.status_code, again.json()["replayed"]) == (201, 200, True)
    assert again.json()["photo"]["sha256"] == first.json()["photo"]["sha256"]
    assert (
        await person.fetch(
            again.json()["photo"]["url"].replace(
                "http://127.0.0.1:" + str(process.port), api.services.settings.base_url
            )
        )
    ).status_code == 200
