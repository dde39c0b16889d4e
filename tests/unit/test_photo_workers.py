"""The workers: what one image may cost, what happens when it costs more, and that nobody outlives the service.

Nothing here is timed; where something has to have happened, the test waits for it and not for a while.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.image_corpus import encoded, exif, flat_jpeg, flat_png, heic, jpeg, picture, png

from checklist_api.photos.limits import RECOMMENDED_MEMORY_MIB
from checklist_api.photos.processing import ImageWorkers, PhotoRefused, ProcessedPhoto
from checklist_crds.errors import ServiceUnavailable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is promised here is promised on Linux")

Start = Callable[..., Awaitable[ImageWorkers]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts workers that end with the test: `await start(seconds=1)`."""
    made: list[ImageWorkers] = []

    async def start_workers(**changes: Any) -> ImageWorkers:
        options = {"memory_mib": RECOMMENDED_MEMORY_MIB, "seconds": 15, "max_waiting": 8} | changes
        workers = ImageWorkers(folder=tmp_path / "workers", **options)
        made.append(workers)
        await workers.start()
        return workers

    yield start_workers
    for workers in made:
        await workers.close()


class Uploads:
    """Files and folders for the images of one test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def __call__(self, content: bytes) -> tuple[Path, Path]:
        self._count += 1
        upload, into = self._folder / f"upload-{self._count}", self._folder / f"made-{self._count}"
        upload.write_bytes(content)
        into.mkdir()
        return upload, into

    def without_end(self) -> tuple[Path, Path]:
        """An upload that is never written: a process that opens it waits, and uses no processor time."""
        upload, into = self(b"")
        upload.unlink()
        os.mkfifo(upload)
        return upload, into


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path)


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


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


Job = asyncio.Task[ProcessedPhoto]


async def begin_endless(workers: ImageWorkers, uploads: Uploads) -> tuple[Job, int, Path]:
    """Starts a job that does not end by itself: the job, the id of its process and its folder."""
    upload, into = uploads.without_end()
    job = asyncio.create_task(workers.process(upload, into))
    found: list[int] = []

    def look() -> bool:
        found[:] = [child for pid in workers.pids for child in children_of(pid)]
        return bool(found)

    await until(look)
    return job, found[0], into


async def refusal(workers: ImageWorkers, paths: tuple[Path, Path]) -> str:
    with pytest.raises(PhotoRefused) as caught:
        await workers.process(*paths)
    return caught.value.refusal


async def assert_usable(workers: ImageWorkers, uploads: Uploads) -> None:
    assert (await workers.process(*uploads(png()))).content_type == "image/png"


# --- memory


LARGEST = {
    "a JPEG that lies on its side": lambda: flat_jpeg(8000, 6500, orientation=6),
    "a progressive JPEG that lies on its side": lambda: flat_jpeg(8000, 6500, progressive=True, orientation=6),
    "a PNG of sixteen bits": lambda: flat_png(8000, 6500, bits=16, colour=0),
    "a WebP": lambda: encoded(picture(64, 64).resize((5000, 5000)), "WEBP", quality=10, method=0),
}


@pytest.mark.parametrize("name", LARGEST)
async def test_the_largest_images_fit_into_the_recommended_memory(name: str, start: Start, uploads: Uploads) -> None:
    photo = await (await start()).process(*uploads(LARGEST[name]()))
    assert photo.width * photo.height >= 25_000_000


async def test_an_image_that_needs_more_memory_than_allowed_is_refused(start: Start, uploads: Uploads) -> None:
    workers = await start(memory_mib=128)
    pids = workers.pids
    assert await refusal(workers, uploads(flat_png(8000, 6500))) == "too_much_memory"
    assert await refusal(workers, uploads(flat_jpeg(8000, 6500))) in {"too_much_memory", "damaged"}
    await assert_usable(workers, uploads)
    assert not pids or workers.pids == pids


async def test_the_kernel_holds_each_image_to_its_limits(start: Start, uploads: Uploads) -> None:
    job, pid, _ = await begin_endless(await start(memory_mib=300, seconds=7), uploads)
    limits = Path(f"/proc/{pid}/limits")
    await until(lambda: "Max address space         314572800            314572800" in limits.read_text())
    await until(lambda: "Max cpu time              9                    9" in limits.read_text())
    assert "Max core file size        0 " in limits.read_text()
    assert "Max open files            32 " in limits.read_text()
    assert status_of(pid)["NoNewPrivs"] == "1"
    assert int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[16]) >= 10  # nice
    assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) > 0
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
    ("name", "make", "memory_mib"),
    [
        ("the largest JPEG", LARGEST["a progressive JPEG that lies on its side"], RECOMMENDED_MEMORY_MIB),
        ("a bomb under a small limit", lambda: flat_jpeg(8000, 6500, progressive=True), 200),
        ("a JPEG of 30,000 x 30,000", lambda: flat_jpeg(30_000, 30_000, colours=1), RECOMMENDED_MEMORY_MIB),
        ("a PNG of 30,000 x 30,000", lambda: flat_png(30_000, 30_000, bits=1, colour=0), RECOMMENDED_MEMORY_MIB),
    ],
)
def test_the_memory_of_an_image_stays_below_its_limit(
    name: str, make: Callable[[], bytes], memory_mib: int, uploads: Uploads
) -> None:
    upload, into = uploads(make())
    arguments = [str(upload), str(into), str(memory_mib)]
    measured = subprocess.run([sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=True)
    peak_mib, outcome = measured.stdout.split(" ", 1)
    # A header is read and refused within what the decoders themselves take.
    allowed = 64 if "30,000" in name else memory_mib
    assert int(peak_mib) < allowed, outcome
    assert ("made" in outcome) == (name == "the largest JPEG")


async def test_the_memory_of_the_service_stays_flat(start: Start, uploads: Uploads) -> None:
    workers = await start()
    large = uploads(flat_jpeg(8000, 6500))
    await workers.process(*large)
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest mark
    before = int(status_of(os.getpid())["VmHWM"].split()[0])
    for _ in range(2):
        await workers.process(*large)
    await refusal(workers, uploads(b"\xff\xd8\xff" + bytes(2**20)))
    assert int(status_of(os.getpid())["VmHWM"].split()[0]) - before < 8 * 1024


def test_the_service_loads_no_decoder() -> None:
    code = "import sys, checklist_api.photos.processing; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "checklist_api.photos.processing" in loaded
    assert not {"PIL", "pillow_heif", "checklist_api.photos.pixels"} & set(loaded)


# --- time and death


async def test_an_image_that_takes_too_long_is_refused_and_the_next_one_is_taken(
    start: Start, uploads: Uploads
) -> None:
    workers = await start(seconds=1, wall_seconds=120)  # on a busy machine a second of the processor takes its time
    slow = flat_jpeg(8000, 6000, progressive=True, scans=2000)
    assert await refusal(workers, uploads(slow)) == "too_slow"
    await assert_usable(workers, uploads)


async def test_an_image_that_hangs_is_given_up_and_may_be_sent_again(start: Start, uploads: Uploads) -> None:
    workers = await start(seconds=0.5)
    await assert_usable(workers, uploads)
    pids = workers.pids
    upload, into = uploads.without_end()
    with pytest.raises(ServiceUnavailable) as caught:
        await workers.process(upload, into)
    assert caught.value.headers["Retry-After"].isdigit()
    await assert_usable(workers, uploads)
    assert workers.pids == pids, "its own timer ends an image, not the death of its worker"


async def test_an_image_that_cannot_be_written_may_be_sent_again_and_leaves_nothing(
    start: Start, uploads: Uploads
) -> None:
    workers = await start()
    upload, into = uploads(png())
    (into / "photo.png").symlink_to("/dev/full")  # no space left on the device, once the thumbnail is written
    with pytest.raises(ServiceUnavailable):
        await workers.process(upload, into)
    assert not any(into.iterdir())


async def test_a_worker_that_does_not_answer_is_killed_with_its_job_and_replaced(
    start: Start, uploads: Uploads
) -> None:
    workers = await start(seconds=0.5)
    await assert_usable(workers, uploads)
    [worker] = workers.pids
    job, image, _ = await begin_endless(workers, uploads)
    for pid in (worker, image):
        os.kill(pid, signal.SIGSTOP)  # no timer of their own ends them now
    with pytest.raises(ServiceUnavailable):
        await job
    await until(lambda: not alive(worker) and not alive(image))
    await assert_usable(workers, uploads)
    assert workers.pids != [worker]


async def test_an_image_whose_process_is_killed_costs_no_worker(start: Start, uploads: Uploads) -> None:
    workers = await start()
    await assert_usable(workers, uploads)
    pids = workers.pids
    for crash in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS):
        job, image, _ = await begin_endless(workers, uploads)
        os.kill(image, crash)
        with pytest.raises(PhotoRefused) as caught:
            await job
        assert caught.value.refusal == "damaged"
    job, image, _ = await begin_endless(workers, uploads)
    os.kill(image, signal.SIGKILL)  # as the kernel does when memory runs out: the image may be sent again
    with pytest.raises(ServiceUnavailable):
        await job
    await assert_usable(workers, uploads)
    assert workers.pids == pids


async def test_a_worker_that_dies_idle_or_at_its_work_is_replaced(start: Start, uploads: Uploads) -> None:
    workers = await start()
    await assert_usable(workers, uploads)
    [worker] = workers.pids
    os.kill(worker, signal.SIGKILL)
    await until(lambda: workers.pids == [])
    await assert_usable(workers, uploads)
    job, image, _ = await begin_endless(workers, uploads)
    [worker] = workers.pids
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(ServiceUnavailable):
        await job
    await until(lambda: not alive(image))
    await assert_usable(workers, uploads)


async def test_a_request_that_is_given_up_stops_its_image_and_leaves_nothing(start: Start, uploads: Uploads) -> None:
    workers = await start()
    job, image, into = await begin_endless(workers, uploads)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    await until(lambda: not alive(image))
    assert not any(into.iterdir())
    await assert_usable(workers, uploads)


async def test_a_worker_that_cannot_be_started_is_no_verdict_on_the_image(
    start: Start, uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    workers = await start()
    with pytest.raises(ServiceUnavailable):
        await workers.process(*uploads(png()))
    monkeypatch.undo()
    await assert_usable(workers, uploads)


async def test_a_worker_knows_nothing_of_the_service_s_settings(
    start: Start, uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKLISTS_SERVER_KEY", "c2VjcmV0")
    workers = await start()
    await assert_usable(workers, uploads)
    [worker] = workers.pids
    assert b"CHECKLISTS" not in Path(f"/proc/{worker}/environ").read_bytes()


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


async def test_workers_and_their_images_die_with_a_service_that_is_killed(tmp_path: Path, uploads: Uploads) -> None:
    paths: Iterable[Path] = (tmp_path, *uploads(png()), *uploads.without_end())
    service = subprocess.Popen([sys.executable, "-c", PARENT, *map(str, paths)], stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    try:
        pids = [int(pid) for pid in service.stdout.readline().split()]
        assert pids
        everyone: list[int] = []

        def look() -> bool:
            workers = children_of(service.pid)
            everyone[:] = workers + [image for worker in workers for image in children_of(worker)]
            return len(everyone) == 3

        await until(look)
    finally:
        service.kill()
        service.wait()
        service.stdout.close()
    await until(lambda: not any(map(alive, everyone)))


# --- many at once


async def test_only_so_many_images_wait_and_a_wait_that_is_given_up_takes_no_place(
    start: Start, uploads: Uploads
) -> None:
    workers = await start(max_waiting=3)
    under_way, image, _ = await begin_endless(workers, uploads)
    waiting = [asyncio.create_task(workers.process(*uploads(jpeg()))) for _ in range(3)]
    await until(lambda: workers.waiting == 3)
    assert workers.full
    for _ in range(20):
        with pytest.raises(ServiceUnavailable) as caught:
            await workers.process(*uploads(jpeg()))
        assert int(caught.value.headers["Retry-After"]) >= 1
    waiting.pop().cancel()
    await until(lambda: not workers.full)
    os.kill(image, signal.SIGSEGV)
    await asyncio.gather(under_way, return_exceptions=True)
    assert {photo.content_type for photo in await asyncio.gather(*waiting)} == {"image/jpeg"}
    assert (workers.waiting, workers.full) == (0, False)
    await assert_usable(workers, uploads)


async def test_images_of_many_people_do_not_mix(start: Start, uploads: Uploads) -> None:
    workers = await start(processes=2, max_waiting=40)
    sizes = [(20 + number, 90 - number) for number in range(40)]
    photos = await asyncio.gather(*(workers.process(*uploads(encoded(picture(*size), "PNG"))) for size in sizes))
    assert [(photo.width, photo.height) for photo in photos] == sizes
    assert len(workers.pids) == 2


async def test_the_end_of_the_service_ends_what_is_under_way_and_what_waits(start: Start, uploads: Uploads) -> None:
    workers = await start()
    under_way, image, _ = await begin_endless(workers, uploads)
    waiting = [asyncio.create_task(workers.process(*uploads.without_end())) for _ in range(2)]
    await until(lambda: workers.waiting == 2)
    await workers.close()
    outcomes = await asyncio.gather(under_way, *waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ServiceUnavailable] * 3
    await until(lambda: not alive(image))
    assert workers.pids == []
    with pytest.raises(ServiceUnavailable):
        await workers.process(*uploads(png()))


async def test_what_the_metadata_says_comes_back_as_data(start: Start, uploads: Uploads) -> None:
    taken = {0x9003: "2026:11:21 13:50:00", 0x9011: "+01:00"}
    place = {1: "S", 2: (52.0, 31.0, 12.0), 3: "W", 4: (13.0, 24.0, 18.0)}
    workers = await start()
    for content in (
        jpeg(exif=exif(6, taken, place)),
        heic(picture().rotate(90, expand=True), exif=exif(6, taken, place)),
    ):
        photo = await workers.process(*uploads(content))
        assert photo.captured_at == datetime(2026, 11, 21, 12, 50, tzinfo=UTC)
        assert photo.taken_at_place == (-52.52, -13.405)
    plain = await workers.process(*uploads(jpeg()))
    assert (plain.captured_at, plain.taken_at_place) == (None, None)
