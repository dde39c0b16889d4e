"""From the body of a request to a photo in the store, in bounded memory: to a file, through a worker, to the store.

Nothing of it is attached to a run yet. If that fails, or the process dies before, what was stored is an orphan that
the operator collects; the same upload sent again lands in the same place.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO, Final

from aiohttp import web

from checklist_crds.errors import MalformedJson, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType
from checklist_crds.photo_keys import photo_id, photo_key, thumbnail_key
from checklist_crds.photo_store import PhotoStore, StoreUnavailable
from checklist_crds.run_types import PhotoRef, Place

from .photos.limits import MAX_UPLOAD_BYTES
from .photos.processing import ImageWorkers, ProcessedPhoto

logger = logging.getLogger(__name__)

_OPEN_UPLOADS: Final = 64
_OPEN_UPLOADS_OF_A_RUN: Final = 8
_WRITE_BYTES: Final = 128 * 1024
_NEXT_BYTES_WITHIN_S: Final = 30.0
_ALL_BYTES_WITHIN_S: Final = 600.0
_FOLDER: Final = "checklist-dispatch-uploads-"
_TOO_LARGE: Final = f"A photo may have at most {MAX_UPLOAD_BYTES // 1024**2} MiB."
_NO_STORE: Final = "Photos cannot be kept at the moment; please try again."


class PhotoIntake:
    """Takes uploads. `start` and `close` belong to the application."""

    def __init__(self, store: PhotoStore, workers: ImageWorkers, folder: Path) -> None:
        self._store = store
        self._workers = workers
        self._folder = folder
        self._open: Counter[str] = Counter()
        self._has_workers = False

    async def start(self) -> None:
        """The workers are started for the first upload only: a service without photos needs none."""
        remove_left_behind(self._folder.parent)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def close(self) -> None:
        if self._has_workers:
            await self._workers.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def check(self, request: web.Request, run_id: str) -> None:
        """What can be said before a byte of the body is read.

        Raises UnsupportedMediaType, PayloadTooLarge, ServiceUnavailable.
        """
        kind = request.content_type
        if not (kind.startswith("image/") or kind == "application/octet-stream"):
            raise UnsupportedMediaType("The body must be an image, sent as image/* or application/octet-stream.")
        if request.content_length is not None and request.content_length > MAX_UPLOAD_BYTES:
            raise PayloadTooLarge(_TOO_LARGE)
        busy = self._workers.full or self._open.total() >= _OPEN_UPLOADS
        if busy or self._open[run_id] >= _OPEN_UPLOADS_OF_A_RUN:
            raise ServiceUnavailable("Too many photos are being uploaded; please try again.", retry_after_s=5)

    async def take(self, request: web.Request, run_id: str, op_id: str | None) -> PhotoRef:
        """The body as a photo that the store has. Raises what `check` raises, PhotoRefused, ServiceUnavailable."""
        self.check(request, run_id)
        if not self._has_workers:
            self._has_workers = True
            await self._workers.start()
        async with self._folder_for(run_id) as folder:
            upload = folder / "upload"
            await _receive(request, upload)
            photo = await self._workers.process(upload, folder)
            return await self._keep(photo, run_id, op_id)

    async def _keep(self, photo: ProcessedPhoto, run_id: str, op_id: str | None) -> PhotoRef:
        key = photo_key(run_id, photo_id(run_id, op_id, photo.sha256))
        try:
            await self._store.put(thumbnail_key(key), photo.thumbnail, "image/jpeg")
            await self._store.put(key, photo.image, photo.content_type)
        except StoreUnavailable as error:
            logger.warning("photo.not_stored", extra={"run_id": run_id, "reason": str(error)})
            raise ServiceUnavailable(_NO_STORE) from None
        place = photo.taken_at_place
        return PhotoRef(
            key=key,
            content_type=photo.content_type,
            bytes=photo.bytes,
            sha256=photo.sha256,
            width=photo.width,
            height=photo.height,
            captured_at=photo.captured_at,
            taken_at=None if place is None else Place(lat=place[0], lng=place[1]),
        )

    @contextlib.asynccontextmanager
    async def _folder_for(self, run_id: str) -> AsyncIterator[Path]:
        """A folder of the upload's own, which counts as open as long as it is there."""
        self._open[run_id] += 1
        try:
            with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as folder:
                yield Path(folder)
        finally:
            self._open[run_id] -= 1
            if not self._open[run_id]:
                del self._open[run_id]


def upload_folder(parent: Path) -> Path:
    """Where this process keeps uploads while it works on them."""
    return parent / f"{_FOLDER}{os.getpid()}"


def remove_left_behind(parent: Path) -> None:
    """Uploads of processes that were killed."""
    for folder in parent.glob(f"{_FOLDER}*"):
        process = folder.name.removeprefix(_FOLDER)
        # A process that has our number now is us.
        if process.isdecimal() and (int(process) == os.getpid() or not Path("/proc", process).exists()):
            shutil.rmtree(folder, ignore_errors=True)


async def _receive(request: web.Request, upload: Path) -> None:
    """Raises PayloadTooLarge, MalformedJson, ServiceUnavailable when the bytes stop coming."""
    with upload.open("wb", buffering=0) as file:
        try:
            async with asyncio.timeout(_ALL_BYTES_WITHIN_S):
                await _copy(request, file)
        except TimeoutError:
            raise ServiceUnavailable("The photo did not arrive in time; please send it again.") from None
        except web.RequestPayloadError:
            raise MalformedJson("The body does not fit its Content-Encoding or Transfer-Encoding.") from None


async def _copy(request: web.Request, file: BinaryIO) -> None:
    received, waiting, waiting_bytes = 0, [], 0
    while True:
        async with asyncio.timeout(_NEXT_BYTES_WITHIN_S):
            chunk = await request.content.readany()
        received += len(chunk)
        if received > MAX_UPLOAD_BYTES:
            raise PayloadTooLarge(_TOO_LARGE)
        waiting.append(chunk)
        waiting_bytes += len(chunk)
        if waiting_bytes >= _WRITE_BYTES or not chunk:
            # In a thread: a disk that is busy must not stop the requests of others.
            await asyncio.to_thread(file.writelines, waiting)
            waiting, waiting_bytes = [], 0
        if not chunk:
            return
