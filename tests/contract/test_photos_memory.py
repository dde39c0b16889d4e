"""Uploads and downloads of photos go through the API without being in its memory."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from checklist_dev.controlplane import ControlPlane

from .conftest import Api
from .executor_client import Person, person_for, step
from .test_owner_process import Process

MIB = 1024 * 1024
CLIENTS = 16


@pytest.fixture
async def process(
    api: Api, control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Process]:
    monkeypatch.setenv("CHECKLISTS_UPLOAD_FOLDER", str(tmp_path))
    monkeypatch.setenv("CHECKLISTS_PHOTO_STORE", (tmp_path / "photos").as_uri())
    monkeypatch.setenv("CHECKLISTS_RATE_LIMIT", "off")
    made = Process(api, control_plane, tmp_path / "api.log")
    made.start()
    await made.ready()
    yield made
    made.child.kill()
    await made.ended()
    await made.http.aclose()


def peak_mib(process: Process) -> float:
    """The most memory that the process ever had."""
    status = Path(f"/proc/{process.child.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def patient_client(process: Process) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{process.port}", timeout=180, trust_env=False)


async def upload(process: Process, person: Person, body: bytes) -> int:
    async with patient_client(process) as http:
        response = await http.post(
            f"/v1/executor/runs/{person.run_id}/answers/s-a/photos",
            content=body,
            headers={"Authorization": f"Executor {person.token}", "Content-Type": "image/jpeg"},
        )
    return response.status_code


async def test_many_large_uploads_at_once_cost_little_memory(api: Api, process: Process) -> None:
    people = [await person_for(api, step("a", "photo")) for _ in range(CLIENTS)]
    refused_by_its_head = b"GIF89a"
    assert await upload(process, people[0], refused_by_its_head) == 422  # what is made once is there now
    before = peak_mib(process)
    body = refused_by_its_head + bytes(10 * MIB - len(refused_by_its_head))
    assert {await call for call in asyncio.as_completed([upload(process, one, body) for one in people])} == {422}
    assert peak_mib(process) - before < CLIENTS * 10 / 3


async def test_many_downloads_at_once_cost_little_memory(api: Api, process: Process, tmp_path: Path) -> None:
    person = await person_for(api, step("a", "photo"))
    large = tmp_path / "large.jpg"
    Image.effect_noise((3000, 3000), 90).save(large, "JPEG", quality=93)
    assert 5 * MIB < large.stat().st_size < 10 * MIB
    assert await upload(process, person, large.read_bytes()) == 201
    photo = (await person.look())["answers"]["s-a"]["photos"][0]
    path = photo["url"].removeprefix(api.services.settings.base_url)
    before = peak_mib(process)

    async def slowly() -> int:
        async with patient_client(process) as http, http.stream("GET", path) as response:
            return sum([len(chunk) async for chunk in response.aiter_raw(65536)])

    assert set(await asyncio.gather(*(slowly() for _ in range(CLIENTS)))) == {photo["bytes"]}
    assert peak_mib(process) - before < CLIENTS * photo["bytes"] / MIB / 3
