"""Creates PDFs in a separate process, one at a time.

Drawing takes seconds of CPU time, so it runs in a process with low priority and resource limits. The queue is bounded.
"""

import asyncio
import json
import logging
import os
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from typing import Any, Final

from checklist_crds.errors import ServiceUnavailable
from checklist_crds.photos.store import PhotoStore, StoreUnavailable

from ...photos.worker_process import kill_worker, start_worker
from .content import PdfContent

logger = logging.getLogger(__name__)

_WAITING: Final = 8
_BUSY_RETRY_AFTER_S: Final = 10
_TIMEOUT_S: Final = 240.0
"""For the whole PDF, including fetching its images."""
_PDF: Final = "run.pdf"
_IMAGE: Final = "image"
_MAX_IMAGE_BYTES: Final = 20 * 1024 * 1024


class PdfPrinter:
    """Draws one PDF at a time, with a bounded queue."""

    def __init__(self, store: PhotoStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._free = asyncio.Semaphore(1)
        self._waiting = 0

    async def print(self, content: PdfContent) -> bytes:
        """Return the PDF. Raises ServiceUnavailable: the queue is full, the store is unavailable, or drawing failed."""
        if self._waiting >= _WAITING:
            raise ServiceUnavailable("Too many PDFs are being created. Try again.", retry_after_s=_BUSY_RETRY_AFTER_S)
        self._waiting += 1
        try:
            async with self._free:
                return await self._print(content)
        except StoreUnavailable:
            raise ServiceUnavailable("Photos are temporarily unavailable. Try again.") from None
        except (_WorkerDied, TimeoutError) as error:
            logger.error("pdf.failed", extra={"run_id": content.run_id, "reason": str(error) or "timeout"})
            raise ServiceUnavailable("The PDF could not be created. Try again.") from None
        finally:
            self._waiting -= 1

    async def _print(self, content: PdfContent) -> bytes:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="pdf-", dir=self._folder))
        process: Process | None = None
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                process = await _started(folder)
                await _ask(process, content=content.as_dict())
                for key in dict.fromkeys(image.key for image in content.images()):
                    file = folder / _IMAGE
                    if await self._fetch(key, file):
                        await _ask(process, image=key, file=str(file))
                        file.unlink()
                await _ask(process, draw=_PDF)
                return await asyncio.to_thread((folder / _PDF).read_bytes)
        finally:
            if process is not None:
                await asyncio.shield(kill_worker(process))
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _fetch(self, key: str, file: Path) -> bool:
        """False if the store has no such image. Raises StoreUnavailable."""
        photo = await self._store.get(key)
        if photo is None or photo.size > _MAX_IMAGE_BYTES:
            return False
        with await asyncio.to_thread(file.open, "wb") as written:
            async for chunk in photo.chunks():
                await asyncio.to_thread(written.write, chunk)
        return True


class _WorkerDied(Exception):
    pass


async def _started(folder: Path) -> Process:
    stderr = None if logger.isEnabledFor(logging.DEBUG) else DEVNULL
    try:
        return await start_worker(
            "checklist_api.exports.pdf.worker", str(os.getpid()), str(folder), folder=folder, stderr=stderr
        )
    except OSError as error:
        raise _WorkerDied(f"could not be started: {error.strerror}") from None


async def _ask(process: Process, **request: Any) -> dict[str, Any]:
    """Send a request to the worker and return its response. Raises _WorkerDied."""
    assert process.stdin is not None  # noqa: S101 - for the type checker
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        answer: dict[str, Any] = json.loads(line)
    except (ConnectionError, RuntimeError, ValueError):
        raise _WorkerDied("ended without a response") from None
    return answer
