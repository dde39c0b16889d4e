"""The workers: what one image may cost, what happens when it costs more, and that no process outlives the service."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.image_corpus import encoded, exif, flat_jpeg, flat_png, heic, jpeg, picture, png
from tests.waiting import eventually

from checklist_api.photos.limits import RECOMMENDED_MEMORY_MIB
from checklist_api.photos.processing import ImageWorkers, PhotoRefused, ProcessedPhoto
from checklist_crds.errors import ServiceUnavailable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is promised here is promised on Linux")

Job = asyncio.Task[ProcessedPhoto]


class Lab:
    """Workers, and files and folders for the images of one test."""

    workers: ImageWorkers

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    async def start(self, **changes: Any) -> ImageWorkers:
        options = {"memory_mib": RECOMMENDED_MEMORY_MIB, "seconds": 15, "max_waiting": 8} | changes
        self.workers = ImageWorkers(folder=self._folder / "workers", **options)
        await self.workers.start()
        return self.workers

    def upload(self, content: bytes) -> tuple[Path, Path]:
        self._count += 1
        upload, into = self._folder / f"upload-{self._count}", self._folder / f"made-{self._count}"
        upload.write_bytes(content)
        into.mkdir()
        return upload, into

    def without_end(self) -> tuple[Path, Path]:
        """An upload that is never written: a process that opens it waits, and uses no processor time."""
        upload, into = self.upload(b"")
        upload.unlink()
        os.mkfifo(upload)
        return upload, into

    def processing(self, upload: tuple[Path, Path]) -> Job:
        return asyncio.create_task(self.workers.process(*upload))

    async def begin_endless(self) -> tuple[Job, int, Path]:
        """Starts a job that does not end by itself: the job, the id of its process and its folder."""
        upload = self.without_end()
        job = self.processing(upload)
        found = await eventually(lambda: [child for pid in self.workers.pids for child in children_of(pid)])
        return job, found[0], upload[1]

    async def refusal(self, content: bytes) -> str:
        with pytest.raises(PhotoRefused) as caught:
            await self.workers.process(*self.upload(content))
        return caught.value.refusal

    async def usable(self) -> list[int]:
        """Processes an image, and returns the workers."""
        assert (await self.workers.process(*self.upload(png()))).content_type == "image/png"
        return self.workers.pids


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    made = Lab(tmp_path)
    yield made
    if hasattr(made, "workers"):
        await made.workers.close()


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return status_of(pid)["State"][0] not in "ZX"
    except FileNotFoundError:
        return False


LARGEST = {
    "a PNG of sixteen bits": lambda: flat_png(8000, 6500, bits=16, colour=0),
    "a WebP": lambda: encoded(picture(64, 64).resize((5000, 5000)), "WEBP", quality=10, method=0),
}


@pytest.mark.parametrize("name", LARGEST)
async def test_the_largest_images_fit_into_the_recommended_memory(name: str, lab: Lab) -> None:
    photo = await (await lab.start()).process(*lab.upload(LARGEST[name]()))
    assert photo.width * photo.height >= 25_000_000


async def test_an_image_that_needs_more_memory_than_allowed_is_refused(lab: Lab) -> None:
    workers = await lab.start(memory_mib=128)
    pids = workers.pids
    assert await lab.refusal(flat_png(8000, 6500)) == "too_much_memory"
    assert await lab.refusal(flat_jpeg(8000, 6500)) in {"too_much_memory", "damaged"}
    await lab.usable()
    assert not pids or workers.pids == pids


async def test_the_kernel_holds_each_image_to_its_limits(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKLISTS_SERVER_KEY", "c2VjcmV0")
    workers = await lab.start(memory_mib=300, seconds=7)
    job, pid, _ = await lab.begin_endless()
    limits = Path(f"/proc/{pid}/limits")
    await eventually(lambda: "Max address space         314572800            314572800" in limits.read_text())
    await eventually(lambda: "Max cpu time              9                    9" in limits.read_text())
    assert "Max core file size        0 " in limits.read_text()
    assert "Max open files            32 " in limits.read_text()
    assert status_of(pid)["NoNewPrivs"] == "1"
    assert int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[16]) >= 10  # nice
    assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) > 0
    for process in (pid, *workers.pids):
        assert b"CHECKLISTS" not in Path(f"/proc/{process}/environ").read_bytes()
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


MEASURE = """
import os, sys
from pathlib import Path
from checklist_api.photos.worker import in_its_own_process
from checklist_api.photos.jobs import Job
import resource
job = Job(Path(sys.argv[1]), Path(sys.argv[2]))
outcome = in_its_own_process(job, memory_mib=int(sys.argv[3]), seconds=15, wall_seconds=60)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, outcome.decode())
"""


@pytest.mark.parametrize(
    ("make", "memory_mib", "peak_mib", "outcome"),
    [
        (lambda: flat_jpeg(8000, 6500, progressive=True, orientation=6), *[RECOMMENDED_MEMORY_MIB] * 2, "made"),
        (lambda: flat_jpeg(8000, 6500, progressive=True), 200, 200, ""),
        # A header is read and refused within what the decoders themselves take.
        (lambda: flat_jpeg(30_000, 30_000, colours=1), RECOMMENDED_MEMORY_MIB, 64, ""),
        (lambda: flat_png(30_000, 30_000, bits=1, colour=0), RECOMMENDED_MEMORY_MIB, 64, ""),
    ],
    ids=["the largest JPEG", "a bomb under a small limit", "a JPEG of 30,000 x 30,000", "a PNG of 30,000 x 30,000"],
)
def test_the_memory_of_an_image_stays_below_its_limit(
    make: Callable[[], bytes], memory_mib: int, peak_mib: int, outcome: str, lab: Lab
) -> None:
    upload, into = lab.upload(make())
    arguments = [str(upload), str(into), str(memory_mib)]
    measured = subprocess.run([sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=True)
    peak, found = measured.stdout.split(" ", 1)
    assert int(peak) < peak_mib, found
    assert ("made" in found) == bool(outcome)


async def test_the_memory_of_the_service_stays_flat(lab: Lab) -> None:
    workers = await lab.start()
    large = lab.upload(flat_jpeg(8000, 6500))
    await workers.process(*large)
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest mark
    before = int(status_of(os.getpid())["VmHWM"].split()[0])
    for _ in range(2):
        await workers.process(*large)
    await lab.refusal(b"\xff\xd8\xff" + bytes(2**20))
    assert int(status_of(os.getpid())["VmHWM"].split()[0]) - before < 8 * 1024


def test_the_service_loads_no_decoder() -> None:
    code = "import sys, checklist_api.photos.processing; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "checklist_api.photos.processing" in loaded
    assert not {"PIL", "pillow_heif", "checklist_api.photos.pixels"} & set(loaded)


async def test_an_image_that_takes_too_long_is_refused(lab: Lab) -> None:
    await lab.start(seconds=1, wall_seconds=120)  # on a busy machine a second of the processor takes its time
    slow = flat_jpeg(8000, 6000, progressive=True, scans=2000)
    assert await lab.refusal(slow) == "too_slow"
    await lab.usable()


async def test_an_image_that_hangs_is_given_up_and_may_be_sent_again(lab: Lab) -> None:
    workers = await lab.start(seconds=0.5)
    pids = await lab.usable()
    with pytest.raises(ServiceUnavailable) as caught:
        await workers.process(*lab.without_end())
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


async def test_no_verdict_on_an_image_that_cannot_be_written_or_without_a_worker(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    workers = await lab.start()
    with pytest.raises(ServiceUnavailable):
        await workers.process(*lab.upload(png()))
    monkeypatch.undo()
    await lab.usable()
    upload, into = lab.upload(png())
    (into / "photo.png").symlink_to("/dev/full")  # no space left on the device, once the thumbnail is written
    with pytest.raises(ServiceUnavailable):
        await workers.process(upload, into)
    assert not any(into.iterdir())


async def test_an_image_whose_process_is_killed_costs_no_worker(lab: Lab) -> None:
    await lab.start()
    pids = await lab.usable()
    for crash in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS):
        job, image, _ = await lab.begin_endless()
        os.kill(image, crash)
        with pytest.raises(PhotoRefused) as caught:
            await job
        assert caught.value.refusal == "damaged"
    job, image, _ = await lab.begin_endless()
    os.kill(image, signal.SIGKILL)  # as the kernel does when memory runs out: the image may be sent again
    with pytest.raises(ServiceUnavailable):
        await job
    assert await lab.usable() == pids
    # A request that is given up stops its image and leaves nothing.
    job, image, into = await lab.begin_endless()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    await eventually(lambda: not alive(image))
    assert not any(into.iterdir())
    await lab.usable()


async def test_a_worker_that_dies_idle_or_at_its_work_is_replaced(lab: Lab) -> None:
    workers = await lab.start()
    [worker] = await lab.usable()
    os.kill(worker, signal.SIGKILL)
    await eventually(lambda: workers.pids == [])
    [worker] = await lab.usable()
    job, image, _ = await lab.begin_endless()
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(ServiceUnavailable):
        await job
    await eventually(lambda: not alive(image))
    await lab.usable()


PARENT = """
import asyncio, sys
from pathlib import Path
import uvloop
from checklist_api.photos.processing import ImageWorkers

async def main():
    workers = ImageWorkers(processes=2, memory_mib=400, seconds=600, folder=Path(sys.argv[1]))
    await workers.start()
    await workers.process(Path(sys.argv[2]), Path(sys.argv[3]))
    print(*workers.pids, flush=True)
    await workers.process(Path(sys.argv[4]), Path(sys.argv[5]))

uvloop.run(main())
"""


async def test_workers_and_their_images_die_with_a_service_that_is_killed(tmp_path: Path, lab: Lab) -> None:
    paths: Iterable[Path] = (tmp_path, *lab.upload(png()), *lab.without_end())
    with subprocess.Popen([sys.executable, "-c", PARENT, *map(str, paths)], stdout=subprocess.PIPE) as service:
        assert service.stdout is not None
        try:
            assert service.stdout.readline().split(), "the workers"

            def processes() -> list[int]:
                workers = children_of(service.pid)
                return workers + [image for worker in workers for image in children_of(worker)]

            everyone = await eventually(lambda: found if len(found := processes()) == 3 else [])
        finally:
            service.kill()
    await eventually(lambda: not any(map(alive, everyone)))


async def test_only_so_many_images_wait_and_a_wait_that_is_given_up_takes_no_place(lab: Lab) -> None:
    workers = await lab.start(max_waiting=3)
    under_way, image, _ = await lab.begin_endless()
    waiting = [lab.processing(lab.upload(jpeg())) for _ in range(3)]
    await eventually(lambda: workers.waiting == 3)
    assert workers.full
    for _ in range(20):
        with pytest.raises(ServiceUnavailable) as caught:
            await workers.process(*lab.upload(jpeg()))
        assert int(caught.value.headers["Retry-After"]) >= 1
    waiting.pop().cancel()
    await eventually(lambda: not workers.full)
    os.kill(image, signal.SIGSEGV)
    await asyncio.gather(under_way, return_exceptions=True)
    assert {photo.content_type for photo in await asyncio.gather(*waiting)} == {"image/jpeg"}
    assert (workers.waiting, workers.full) == (0, False)
    await lab.usable()


async def test_images_of_many_people_do_not_mix(lab: Lab) -> None:
    workers = await lab.start(processes=2, max_waiting=40)
    sizes = [(20 + number, 90 - number) for number in range(40)]
    photos = await asyncio.gather(*(workers.process(*lab.upload(encoded(picture(*size), "PNG"))) for size in sizes))
    assert [(photo.width, photo.height) for photo in photos] == sizes
    assert len(workers.pids) == 2


async def test_the_end_of_the_service_ends_what_is_under_way_and_what_waits(lab: Lab) -> None:
    workers = await lab.start()
    under_way, image, _ = await lab.begin_endless()
    waiting = [lab.processing(lab.without_end()) for _ in range(2)]
    await eventually(lambda: workers.waiting == 2)
    await workers.close()
    outcomes = await asyncio.gather(under_way, *waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ServiceUnavailable] * 3
    await eventually(lambda: not alive(image))
    assert workers.pids == []
    with pytest.raises(ServiceUnavailable):
        await workers.process(*lab.upload(png()))


async def test_metadata_comes_back_as_data(lab: Lab) -> None:
    taken = {0x9003: "2026:11:21 13:50:00", 0x9011: "+01:00"}
    place = {1: "S", 2: (52.0, 31.0, 12.0), 3: "W", 4: (13.0, 24.0, 18.0)}
    workers = await lab.start()
    photo = await workers.process(*lab.upload(heic(picture().rotate(90, expand=True), exif=exif(6, taken, place))))
    assert photo.captured_at == datetime(2026, 11, 21, 12, 50, tzinfo=UTC)
    assert photo.taken_at_place == (-52.52, -13.405)
    plain = await workers.process(*lab.upload(jpeg()))
    assert (plain.captured_at, plain.taken_at_place) == (None, None)
