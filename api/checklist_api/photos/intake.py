"""Stores an upload in bounded memory: from the request body to a file, through a worker, to the store.

The photo is not yet attached to a run. If that is refused, it is deleted (`unused`); after a crash it is an orphan that
the operator collects. A repeated upload has the same key.
"""

import asyncio
import contextlib
import logging
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import BinaryIO, Final

from aiohttp import web

from checklist_crds.errors import MalformedJson, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType
from checklist_crds.photos.keys import photo_id, photo_key, thumbnail_key
from checklist_crds.photos.store import PhotoStore, StoreUnavailable
from checklist_crds.resources.run import PhotoRef, Place

from ..http.working_folder import WorkingFolder
from ..metrics import Metrics
from .limits import MAX_UPLOAD_BYTES
from .processing import ImageWorkers, ProcessedPhoto
from .upload_body import ANY_BYTES, Upload

logger = logging.getLogger(__name__)

_OPEN_UPLOADS: Final = 64
_OPEN_UPLOADS_OF_A_RUN: Final = 8
_WRITE_BYTES: Final = 128 * 1024
_READ_TIMEOUT_S: Final = 30.0
_TOTAL_TIMEOUT_S: Final = 600.0
_TOO_LARGE: Final = f"A photo may have at most {MAX_UPLOAD_BYTES // 1024**2} MiB."
_NO_ROOM: Final = "Photos cannot be received at the moment. Try again."
_NO_STORE: Final = "Photos cannot be stored at the moment. Try again."


class PhotoIntake:
    """Receives uploads. The application calls `start` and `close`."""

    def __init__(self, store: PhotoStore, workers: ImageWorkers, folder: WorkingFolder, metrics: Metrics) -> None:
        self._metrics = metrics
        self._store = store
        self._workers = workers
        self._working_folder, self._folder = folder, folder.path
        self._open: Counter[str] = Counter()
        self._has_workers = False

    async def start(self) -> None:
        """Create the folder. Workers are started with the first upload."""
        await asyncio.to_thread(self._working_folder.take)

    async def close(self) -> None:
        if self._has_workers:
            await self._workers.close()
        self._working_folder.release()

    def check(self, upload: Upload, run_id: str) -> None:
        """Check an upload before its body is read. Raises UnsupportedMediaType, PayloadTooLarge, ServiceUnavailable."""
        if not (upload.media_type.startswith("image/") or upload.media_type == ANY_BYTES):
            raise UnsupportedMediaType(
                f"The body must be an image, sent as image/* or {ANY_BYTES}, or a form with one."
            )
        if upload.at_least > MAX_UPLOAD_BYTES:
            raise PayloadTooLarge(_TOO_LARGE)
        busy = self._workers.full or self._open.total() >= _OPEN_UPLOADS
        if busy or self._open[run_id] >= _OPEN_UPLOADS_OF_A_RUN:
            raise ServiceUnavailable("Too many photos are being uploaded. Try again.", retry_after_s=5)

    async def take(self, upload: Upload, organization: str, run_id: str) -> PhotoRef:
        """Store the photo. `organization`: public id of the run's organization.

        Raises the errors of `check` and `upload.read`, PhotoRefused, ServiceUnavailable.
        """
        self.check(upload, run_id)
        if not self._has_workers:
            self._has_workers = True
            await self._workers.start()
        try:
            async with self._folder_for(run_id) as folder:
                file = folder / "upload"
                await _receive(upload, file)
                with self._metrics.photo_seconds.time():
                    photo = await self._workers.process(file, folder)
                return await self._keep(photo, organization, run_id, upload.op_id)
        except ConnectionError:
            raise
        except OSError as error:
            # Most likely a full disk, which is not the image's fault.
            logger.warning("photo.not_received", extra={"run_id": run_id, "reason": error.strerror})
            raise ServiceUnavailable(_NO_ROOM) from None

    async def _keep(self, photo: ProcessedPhoto, organization: str, run_id: str, op_id: str | None) -> PhotoRef:
        key = photo_key(organization, run_id, photo_id(run_id, op_id, photo.sha256))
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
            captured_at_assumed=photo.zone_assumed or None,
            taken_at=None if place is None else Place(lat=place[0], lng=place[1]),
        )

    async def discard(self, run_id: str, keys: Collection[str]) -> None:
        """Delete unused photos; on failure they are orphans for the operator."""
        try:
            await self._store.delete([each for key in keys for each in (key, thumbnail_key(key))])
        except StoreUnavailable as error:
            logger.warning("photo.not_discarded", extra={"run_id": run_id, "reason": str(error)})

    @contextlib.asynccontextmanager
    async def _folder_for(self, run_id: str) -> AsyncIterator[Path]:
        """Create a temporary folder for the upload and count it as open."""
        self._open[run_id] += 1
        try:
            # Disk access runs in threads, since a busy file system blocks.
            folder = await asyncio.to_thread(tempfile.mkdtemp, dir=self._folder)
            try:
                yield Path(folder)
            finally:
                await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
        finally:
            self._open[run_id] -= 1
            if not self._open[run_id]:
                del self._open[run_id]


async def _receive(upload: Upload, path: Path) -> None:
    """Receive the body. Raises PayloadTooLarge, MalformedJson, ValidationFailed, and ServiceUnavailable on timeouts."""
    with await asyncio.to_thread(path.open, "wb", buffering=0) as file:
        try:
            async with asyncio.timeout(_TOTAL_TIMEOUT_S):
                await _copy(upload, file)
        except TimeoutError:
            raise ServiceUnavailable("The photo did not arrive in time. Send it again.") from None
        except web.RequestPayloadError:
            raise MalformedJson("The body does not match its Content-Encoding or Transfer-Encoding.") from None


async def _copy(upload: Upload, file: BinaryIO) -> None:
    received, waiting, waiting_bytes = 0, [], 0
    while True:
        async with asyncio.timeout(_READ_TIMEOUT_S):
            chunk = await upload.read()
        received += len(chunk)
        if received > MAX_UPLOAD_BYTES:
            raise PayloadTooLarge(_TOO_LARGE)
        waiting.append(chunk)
        waiting_bytes += len(chunk)
        if waiting_bytes >= _WRITE_BYTES or not chunk:
            # In a thread, since a busy disk blocks.
            await asyncio.to_thread(_write, file, waiting)
            waiting, waiting_bytes = [], 0
        if not chunk:
            return


def _write(file: BinaryIO, chunks: list[bytes]) -> None:
    """Write all bytes: an unbuffered write to a nearly full disk may be partial."""
    for chunk in chunks:
        left = memoryview(chunk)
        while left:
            left = left[file.write(left) :]
