"""Processes photos in worker processes; no image is ever in memory of the API process.

What is refused is refused for good (422); what could not be judged, because a worker died or all are busy, is worth
another try (503).
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from checklist_crds.errors import AnswerInvalid, Problem, ServiceUnavailable

from .jobs import Job, Made, WorkerFailed
from .limits import MAX_UPLOAD_BYTES, WALL_CLOCK_FACTOR
from .refusals import ImageRefused, RefusalCode
from .worker_process import WorkerProcess

logger = logging.getLogger(__name__)

_MAX_WAITING: Final = 32
_BUSY_RETRY_AFTER_S: Final = 5


@dataclass(frozen=True, slots=True)
class ProcessedPhoto:
    """An image that can be served, and a thumbnail of it, as files in the folder that was named for them."""

    image: Path
    """Encoded anew, upright, without metadata. JPEG stays JPEG, PNG PNG, WebP WebP; HEIC becomes JPEG."""
    thumbnail: Path
    """A JPEG of at most 320 pixels on its longer side and THUMBNAIL_BYTES."""
    content_type: str
    bytes: int
    sha256: str
    """Of `image`, in hex."""
    width: int
    height: int
    captured_at: datetime | None
    """In UTC, from the image's own metadata; None when that does not say."""
    zone_assumed: bool
    """Nothing in the metadata tells the zone of the camera's clock: `captured_at` takes it for UTC."""
    taken_at_place: tuple[float, float] | None
    """Latitude and longitude, from the image's own metadata."""


class PhotoRefused(AnswerInvalid):
    """422 `answer_invalid`; the only problem in `details` has one of the codes of `RefusalCode`."""

    def __init__(self, code: str, message: str) -> None:
        self.refusal = code
        super().__init__(message, details=[Problem("photo", code, message)])


class ImageWorkers:
    """`processes` workers, a bounded line before them, and at most `memory_mib` of address space for each image.

    `seconds` is the processor time that one image may take, `wall_seconds` the time until it is given up because others
    have the processors; `WALL_CLOCK_FACTOR` times as much unless told. `folder` is the working directory of the
    workers; it is made when it is not there.
    """

    def __init__(
        self,
        *,
        processes: int = 1,
        memory_mib: int,
        seconds: float,
        wall_seconds: float | None = None,
        folder: Path,
        max_waiting: int = _MAX_WAITING,
    ) -> None:
        if min(processes, memory_mib, seconds) <= 0:
            raise ValueError("processes, memory_mib and seconds must be more than 0")
        wall_seconds = seconds * WALL_CLOCK_FACTOR if wall_seconds is None else wall_seconds
        self._folder = folder.absolute()
        self._workers = [
            WorkerProcess(memory_mib=memory_mib, seconds=seconds, wall_seconds=wall_seconds, folder=self._folder)
            for _ in range(processes)
        ]
        self._idle: asyncio.LifoQueue[WorkerProcess] = asyncio.LifoQueue()
        self._max_waiting = max_waiting
        self._waiting = 0
        self._closed = True
        self._starting: set[asyncio.Task[None]] = set()

    @property
    def pids(self) -> list[int]:
        """Of the workers that run now."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    @property
    def waiting(self) -> int:
        """Images that wait for a worker."""
        return self._waiting

    @property
    def full(self) -> bool:
        """Whether the next image would be turned away: to be asked before its bytes are read."""
        return self._waiting >= self._max_waiting

    async def start(self) -> None:
        """The workers start in the background; an image that comes earlier waits for them."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._closed = False
        for worker in self._workers:
            self._release(worker)

    async def close(self) -> None:
        """Kills all workers; images under way and images that wait fail with ServiceUnavailable."""
        self._closed = True
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._workers))

    async def process(self, upload: Path, into: Path) -> ProcessedPhoto:
        """The photo that the file `upload` becomes, written into the folder `into`; `upload` stays as it is.

        Raises PhotoRefused, and ServiceUnavailable when no worker could judge the image; then nothing is left in
        `into`. Two images must not be written into one folder.
        """
        job = _job(upload, into)
        worker = await self._next_worker()
        try:
            return _photo(await worker.do(job), job)
        except BaseException as error:
            job.clear()
            if isinstance(error, ImageRefused):
                raise _refused(error) from None
            if isinstance(error, WorkerFailed):
                logger.warning("photo.worker_failed", extra={"reason": str(error)})
                raise ServiceUnavailable("The photo could not be processed; please send it again.") from None
            raise
        finally:
            self._release(worker)

    async def _next_worker(self) -> WorkerProcess:
        if self._closed:
            raise ServiceUnavailable
        if self._idle.empty() and self.full:
            raise ServiceUnavailable(
                "Too many photos are being processed; please try again.", retry_after_s=_BUSY_RETRY_AFTER_S
            )
        self._waiting += 1
        try:
            worker = await self._idle.get()
        finally:
            self._waiting -= 1
        if self._closed:
            self._idle.put_nowait(worker)
            raise ServiceUnavailable
        return worker

    def _release(self, worker: WorkerProcess) -> None:
        if worker.pid is not None or self._closed:
            self._idle.put_nowait(worker)
            return
        task = asyncio.create_task(self._start(worker), name="start a photo worker")
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start(self, worker: WorkerProcess) -> None:
        try:
            await worker.start()
        except WorkerFailed as error:
            # The next image tries again.
            logger.error("photo.worker_not_started", extra={"reason": str(error)})
        finally:
            self._idle.put_nowait(worker)


def _job(upload: Path, into: Path) -> Job:
    job = Job(upload.absolute(), into.absolute())
    if job.upload.stat().st_size > MAX_UPLOAD_BYTES:
        raise _refused(ImageRefused(RefusalCode.TOO_LARGE))
    return job


def _refused(refused: ImageRefused) -> PhotoRefused:
    return PhotoRefused(refused.code.value, refused.message)


def _photo(made: Made, job: Job) -> ProcessedPhoto:
    return ProcessedPhoto(
        image=job.image_path(made.content_type),
        thumbnail=job.thumbnail_path,
        content_type=made.content_type.value,
        bytes=made.bytes,
        sha256=made.sha256,
        width=made.width,
        height=made.height,
        captured_at=made.captured_at,
        zone_assumed=made.zone_assumed,
        taken_at_place=made.place,
    )
