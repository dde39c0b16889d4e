"""The workers: what the kernel holds an image to, and what becomes of images, workers and the line before them.

tests/cluster/photos/test_limits.py has the largest and slowest images.
"""

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.photos.image_corpus import encoded, exif, heic, picture, png
from tests.unit.photos.image_lab import Lab, alive, status_of
from tests.waiting import eventually

from checklist_api.photos.processing import PhotoRefused
from checklist_crds.errors import ServiceUnavailable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is promised here is promised on Linux")


async def test_the_kernel_holds_each_image_to_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKLISTS_SERVER_KEY", "c2VjcmV0")
    async with Lab(tmp_path, memory_mib=300, seconds=7) as lab:
        job, pid, into = await lab.begin_endless()
        limits = Path(f"/proc/{pid}/limits")
        await eventually(lambda: "Max address space         314572800            314572800" in limits.read_text())
        await eventually(lambda: "Max cpu time              9                    9" in limits.read_text())
        assert "Max core file size        0 " in limits.read_text()
        assert "Max open files            32 " in limits.read_text()
        assert status_of(pid)["NoNewPrivs"] == "1"
        assert int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[16]) >= 10  # nice
        assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) > 0
        for process in (pid, *lab.workers.pids):
            assert b"CHECKLISTS" not in Path(f"/proc/{process}/environ").read_bytes()
        job.cancel()  # a cancelled request stops its image and leaves nothing
        with pytest.raises(asyncio.CancelledError):
            await job
        await eventually(lambda: not alive(pid))
        assert not any(into.iterdir())


async def test_only_decoders_give_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    async with Lab(tmp_path) as lab:
        with pytest.raises(ServiceUnavailable):
            await lab.workers.process(*lab.upload(png()))
        monkeypatch.undo()
        [worker] = await lab.usable()
        upload, into = lab.upload(png())
        (into / "photo.png").symlink_to("/dev/full")  # no space left on the device, once the thumbnail is written
        with pytest.raises(ServiceUnavailable):
            await lab.workers.process(upload, into)
        assert not any(into.iterdir())
        for crash in (signal.SIGSEGV, signal.SIGBUS):
            job, image, _ = await lab.begin_endless()
            os.kill(image, crash)
            with pytest.raises(PhotoRefused) as caught:
                await job
            assert caught.value.refusal == "damaged"
        job, image, _ = await lab.begin_endless()
        os.kill(image, signal.SIGKILL)  # as the kernel does when memory runs out: the image may be sent again
        with pytest.raises(ServiceUnavailable):
            await job
        assert await lab.usable() == [worker]
        job, image, _ = await lab.begin_endless()
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(ServiceUnavailable):
            await job
        await eventually(lambda: not alive(image))
        [worker] = await lab.usable()
        os.kill(worker, signal.SIGKILL)
        await eventually(lambda: lab.workers.pids == [])
        await lab.usable()


async def test_images_wait_in_a_bounded_queue(
    tmp_path: Path,
) -> None:
    taken = {0x9003: "2026:11:21 13:50:00", 0x9011: "+01:00"}
    place = {1: "S", 2: (52.0, 31.0, 12.0), 3: "W", 4: (13.0, 24.0, 18.0)}
    with_facts = heic(picture(60, 25).rotate(90, expand=True), exif=exif(6, taken, place))
    contents = [with_facts, *(encoded(picture(20 + number, 90 - number), "PNG") for number in range(3))]
    async with Lab(tmp_path, processes=2, max_waiting=len(contents) + 1) as lab:
        under_way = [await lab.begin_endless() for _ in range(2)]
        waiting = [lab.processing(lab.upload(content)) for content in [*contents, png()]]
        await eventually(lambda: lab.workers.full)
        with pytest.raises(ServiceUnavailable) as caught:
            await lab.workers.process(*lab.upload(png()))
        assert int(caught.value.headers["Retry-After"]) >= 1
        waiting.pop().cancel()
        await eventually(lambda: not lab.workers.full)
        for job, image, _ in under_way:
            os.kill(image, signal.SIGSEGV)
            await asyncio.gather(job, return_exceptions=True)
        photos = await asyncio.gather(*waiting)
        expected = [(60, 25), *((20 + number, 90 - number) for number in range(3))]
        assert [(photo.width, photo.height) for photo in photos] == expected
        facts = [(photo.captured_at, photo.taken_at_place) for photo in photos[:2]]
        assert facts == [(datetime(2026, 11, 21, 12, 50, tzinfo=UTC), (-52.52, -13.405)), (None, None)]
        assert (lab.workers.waiting, lab.workers.full, len(lab.workers.pids)) == (0, False, 2)
        under_way = [await lab.begin_endless() for _ in range(2)]
        last = lab.processing(lab.without_end())
        await eventually(lambda: lab.workers.waiting == 1)
    outcomes = await asyncio.gather(*(job for job, _, _ in under_way), last, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ServiceUnavailable] * 3
    await eventually(lambda: not any(alive(image) for _, image, _ in under_way))
    assert lab.workers.pids == []
    with pytest.raises(ServiceUnavailable):
        await lab.workers.process(*lab.upload(png()))
