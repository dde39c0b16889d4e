"""Uploads and downloads of photos go through the API without being in its memory."""

import asyncio
from pathlib import Path

import httpx
from PIL import Image
from tests.contract.conftest import Api
from tests.contract.executor_client import person_for, step
from tests.contract.own_process import own_process, upload
from tests.replicas.api_processes import ApiProcess

from checklist_dev.local.controlplane import ControlPlane

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
