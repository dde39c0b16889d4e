"""Photos through an API in its own process: it is killed, and its memory is measured."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from PIL import Image
from tests.contract.conftest import EACH_STORE, Api
from tests.contract.executor_client import Person, person_for, step
from tests.contract.own_process import own_process, upload
from tests.contract.pictures import picture
from tests.contract.service.test_cluster_down import frozen
from tests.replicas.api_processes import ApiProcess
from tests.waiting import eventually

from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import Run
from checklist_crds.runs.photos import keys_in_use
from checklist_dev.local.controlplane import ControlPlane


@pytest.fixture
async def process(
    api: Api, control_plane: ControlPlane, tmp_path: Path, photo_settings: dict[str, str]
) -> AsyncIterator[ApiProcess]:
    async with own_process(api, control_plane, tmp_path, **photo_settings) as (program, _):
        yield program


class Halves:
    """A picture, of which the second half comes when `go_on` is set."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.go_on = folder, asyncio.Event()

    async def body(self) -> AsyncIterator[bytes]:
        image = picture()
        yield image[: len(image) // 2]
        await self.go_on.wait()
        yield image[len(image) // 2 :]

    def received(self) -> list[Path]:
        return list(self._folder.glob("checklist-dispatch-uploads-*/*/upload"))


async def kept_keys(person: Person) -> frozenset[str]:
    return keys_in_use(Run.parse(await person.api.kube.get(RUN, person.run_id, person.api.namespace)).status)


async def start_again(process: ApiProcess) -> None:
    process.child.start()
    await eventually(process.is_ready)


@EACH_STORE
async def test_killed_between_store_and_run_it_leaves_an_orphan_at_most_and_the_retry_is_one_photo(
    api: Api, process: ApiProcess, control_plane: ControlPlane, tmp_path: Path
) -> None:
    person, halves = await person_for(api, step("a", "photo")), Halves(tmp_path)

    async def are_stored() -> bool:
        return len(await person.photo_objects()) == 2

    sending = asyncio.create_task(upload(process, person, halves.body(), op_id="one"))
    await eventually(halves.received)
    async with frozen(control_plane.apiserver.pid):
        # From here on the run can no longer record the photo; the store can keep it.
        halves.go_on.set()
        await eventually(are_stored, every_s=0.005)
        process.child.kill()
        # On a machine that is busy it may have said first that the cluster does not answer: that promises nothing.
        with contextlib.suppress(httpx.TransportError):
            assert (await sending).status_code == 503
    assert await kept_keys(person) == frozenset()
    await start_again(process)
    again = await upload(process, person, picture(), op_id="one")
    assert (again.status_code, again.json()["replayed"]) == (201, False)
    assert len(await kept_keys(person)) == 1
    assert await are_stored(), "it landed in the same place: not even an orphan is left"
    assert await person.events() == ["step.completed"]


@EACH_STORE
async def test_killed_while_it_receives_it_leaves_nothing(api: Api, process: ApiProcess, tmp_path: Path) -> None:
    person, halves = await person_for(api, step("a", "photo")), Halves(tmp_path)
    sending = asyncio.create_task(upload(process, person, halves.body(), op_id="one"))
    await eventually(halves.received)
    process.child.kill()
    await start_again(process)
    halves.go_on.set()
    with pytest.raises(httpx.TransportError):
        await sending
    assert halves.received() == []
    assert await person.photo_objects() == []
    first = await upload(process, person, picture(), op_id="one")
    # Killed after the answer, the photo is there, and the retry says so.
    process.child.kill()
    await start_again(process)
    again = await upload(process, person, picture(), op_id="one")
    assert (first.status_code, again.status_code, again.json()["replayed"]) == (201, 200, True)
    assert again.json()["photo"]["sha256"] == first.json()["photo"]["sha256"]
    assert (await person.fetch(again.json()["photo"]["url"])).status_code == 200


MIB = 1024 * 1024
CLIENTS = 16


def peak_mib(process: ApiProcess) -> float:
    status = Path(f"/proc/{process.child.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


async def test_parallel_transfers_need_little_memory(api: Api, control_plane: ControlPlane, tmp_path: Path) -> None:
    people = [await person_for(api, step("a", "photo")) for _ in range(CLIENTS)]
    large = tmp_path / "large.jpg"
    Image.effect_noise((3000, 3000), 90).save(large, "JPEG", quality=93)
    assert 5 * MIB < large.stat().st_size < 10 * MIB
    async with own_process(api, control_plane, tmp_path, CHECKLISTS_RATE_LIMIT="off") as (process, _):
        photo = (await upload(process, people[0], large.read_bytes())).json()["photo"]
        path = photo["url"].removeprefix(api.services.settings.base_url)
        refused_by_its_head = b"GIF89a"
        assert (await upload(process, people[0], refused_by_its_head)).status_code == 422  # what is made once is there
        before = peak_mib(process)
        body = refused_by_its_head.ljust(10 * MIB, b"\0")
        answers = await asyncio.gather(*(upload(process, person, body) for person in people))
        assert {answer.status_code for answer in answers} == {422}
        assert peak_mib(process) - before < CLIENTS * 10 / 3
        before = peak_mib(process)

        async def slowly() -> int:
            async with (
                httpx.AsyncClient(base_url=process.url, timeout=180, trust_env=False) as http,
                http.stream("GET", path) as response,
            ):
                return sum([len(chunk) async for chunk in response.aiter_raw(65536)])

        assert set(await asyncio.gather(*(slowly() for _ in range(CLIENTS)))) == {photo["bytes"]}
        assert peak_mib(process) - before < CLIENTS * photo["bytes"] / MIB / 3
