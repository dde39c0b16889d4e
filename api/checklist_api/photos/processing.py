"""Processes photos in worker processes; images are never decoded in the API process.

Refusals are permanent (422). Failures (worker crashed, all busy) are temporary (503).
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
    """A processed image and its thumbnail, as files."""

    image: Path
    """Re-encoded, upright, without metadata. JPEG, PNG and WebP keep their format; HEIC becomes JPEG."""
    thumbnail: Path
    """A JPEG of at most 320 pixels on its longer side and THUMBNAIL_BYTES."""
    content_type: str
    bytes: int
    sha256: str
    """SHA-256 of `image`, in hex."""
    width: int
    height: int
    captured_at: datetime | None
    """In UTC, from the metadata; None if unknown."""
    zone_assumed: bool
    """The time zone is unknown: `captured_at` is the camera's local time as UTC."""
    taken_at_place: tuple[float, float] | None
    """Latitude and longitude from the metadata."""


class PhotoRefused(AnswerInvalid):
    """422 `answer_invalid`; `details` has one problem with a `RefusalCode`."""

    def __init__(self, code: str, message: str) -> None:
        self.refusal = code
        super().__init__(message, details=[Problem("photo", code, message)])


class ImageWorkers:
    """A pool of `processes` workers with a bounded queue.

    Limits per image: `memory_mib` of address space, `seconds` of CPU time, `wall_seconds` of real time (default:
    `WALL_CLOCK_FACTOR` times `seconds`). `folder`: working directory of the workers, created if needed.
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
        """Process ids of running workers."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    @property
    def waiting(self) -> int:
        """Number of queued images."""
        return self._waiting

    @property
    def full(self) -> bool:
        """Whether the queue is full. Checked before an upload's bytes are read."""
        return self._waiting >= self._max_waiting

    async def start(self) -> None:
        """Start the workers in the background; images wait for them."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._closed = False
        for worker in self._workers:
            self._release(worker)

    async def close(self) -> None:
        """Kill all workers; images in progress and queued ones fail with ServiceUnavailable."""
        self._closed = True
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._workers))

    async def process(self, upload: Path, into: Path) -> ProcessedPhoto:
        """Process the file `upload` into the folder `into`, which must be used for one image only.

        Raises PhotoRefused, and ServiceUnavailable if the image could not be judged; `into` is then cleared.
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
                raise ServiceUnavailable("The photo could not be processed. Send it again.") from None
            raise
        finally:
            self._release(worker)

    async def _next_worker(self) -> WorkerProcess:
        if self._closed:
            raise ServiceUnavailable
        if self._idle.empty() and self.full:
            raise ServiceUnavailable(
                "Too many photos are being processed. Try again.", retry_after_s=_BUSY_RETRY_AFTER_S
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
            # Retried with the next image.
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
