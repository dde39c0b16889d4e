"""What the largest, the slowest and the most hostile photos cost, and that no worker outlives the service."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.photos.image_corpus import encoded, flat_jpeg, flat_png, picture, png
from tests.unit.photos.image_lab import Lab, alive, children_of, status_of
from tests.waiting import eventually

from checklist_crds.errors import ServiceUnavailable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is promised here is promised on Linux")

LARGEST = {
    "a progressive JPEG that lies on its side": lambda: flat_jpeg(8000, 6500, progressive=True, orientation=6),
    "a PNG of sixteen bits": lambda: flat_png(8000, 6500, bits=16, colour=0),
    "a WebP": lambda: encoded(picture(64, 64).resize((5000, 5000)), "WEBP", quality=10, method=0),
}


async def test_the_largest_images_fit_into_the_recommended_memory_and_that_of_the_service_stays_flat(
    tmp_path: Path,
) -> None:
    async with Lab(tmp_path, seconds=60) as lab:
        uploads = [lab.upload(make()) for make in LARGEST.values()]
        await lab.usable()
        Path("/proc/self/clear_refs").write_text("5")  # forget the highest mark
        before = int(status_of("self")["VmHWM"].split()[0])
        for upload in uploads:
            photo = await lab.workers.process(*upload)
            assert photo.width * photo.height >= 25_000_000
        assert (await lab.refusal(b"\xff\xd8\xff" + bytes(2**20))).refusal == "damaged"
        assert int(status_of("self")["VmHWM"].split()[0]) - before < 8 * 1024


async def test_more_memory_than_allowed_is_refused_and_so_is_a_bomb_before_it_is_unpacked(tmp_path: Path) -> None:
    async with Lab(tmp_path, memory_mib=128) as lab:
        pids = await lab.usable()
        for content, refusals in (
            (flat_png(8000, 6500), {"too_much_memory"}),
            (flat_jpeg(8000, 6500, progressive=True), {"too_much_memory", "damaged"}),
            (flat_jpeg(30_000, 30_000, colours=1), {"too_many_pixels"}),
            (flat_png(30_000, 30_000, bits=1, colour=0, rows=1), {"too_many_pixels"}),
        ):
            assert (await lab.refusal(content)).refusal in refusals
        assert await lab.usable() == pids


async def test_an_image_that_takes_too_long_is_refused_and_one_that_hangs_may_be_sent_again(tmp_path: Path) -> None:
    async with Lab(tmp_path, seconds=1, wall_seconds=120) as lab:  # a second of the processor may take its time
        slow = flat_jpeg(8000, 6000, progressive=True, scans=2000)
        assert (await lab.refusal(slow)).refusal == "too_slow"
        await lab.usable()
    async with Lab(tmp_path / "hangs", seconds=0.5) as lab:
        pids = await lab.usable()
        with pytest.raises(ServiceUnavailable) as caught:
            await lab.workers.process(*lab.without_end())
        assert caught.value.headers["Retry-After"].isdigit()
        assert await lab.usable() == pids, "its own timer ends an image, not the death of its worker"
        # Without a timer of its own, the image is killed with its worker.
        job, image, _ = await lab.begin_endless()
        for pid in (*pids, image):
            os.kill(pid, signal.SIGSTOP)
        with pytest.raises(ServiceUnavailable):
            await job
        await eventually(lambda: not any(map(alive, (*pids, image))))
        assert await lab.usable() != pids


PARENT = """
import asyncio, sys
from pathlib import Path
import uvloop
from checklist_api.photos.processing import ImageWorkers

async def main():
    workers = ImageWorkers(processes=2, memory_mib=400, seconds=600, folder=Path(sys.argv[1]))
    await workers.start()
    await workers.process(Path(sys.argv[2]), Path(sys.argv[3]))
    print(*workers.pids, *sys.modules, flush=True)
    await workers.process(Path(sys.argv[4]), Path(sys.argv[5]))

uvloop.run(main())
"""


async def test_a_service_loads_no_decoder_and_its_workers_die_with_it_when_it_is_killed(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    paths = (tmp_path, *lab.upload(png()), *lab.without_end())
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *map(str, paths)], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        try:
            loaded = await asyncio.to_thread(service.stdout.readline)
            assert not {"PIL", "pillow_heif", "checklist_api.photos.pixels"} & set(loaded.split())

            def processes() -> list[int]:
                workers = children_of(service.pid)
                return workers + [image for worker in workers for image in children_of(worker)]

            everyone = await eventually(lambda: found if len(found := processes()) == 3 else [])
        finally:
            service.kill()
    await eventually(lambda: not any(map(alive, everyone)))
