"""Streams an export, limits concurrent ones, and makes truncated files detectable.

The number of runs is in a header. Chunks are sent with backpressure. After an error the connection is aborted without
the last chunk, so that clients detect the truncation.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Final, Protocol

from aiohttp import web

from checklist_crds.errors import RateLimited, ServiceError
from checklist_crds.kube.errors import KubeError

from ..http.middleware import frame_headers
from .run_source import ExportedRun, RunSource

logger = logging.getLogger(__name__)

RUNS: Final = "Export-Runs"
"""Number of runs when the export began."""
INCOMPLETE: Final = "Export-Incomplete"
"""Present if a part of the archive is damaged and its runs are missing."""
_RETRY_AFTER_S: Final = 5
_CHUNK: Final = 64 * 1024
_WRITE_TIMEOUT_S: Final = 60.0


class Format(Protocol):
    """Encodes runs for a file."""

    def head(self) -> bytes: ...

    def of_run(self, exported: ExportedRun) -> bytes: ...

    def tail(self) -> bytes: ...


class ExportSlots:
    """Limits concurrent exports of this process: by default two per organization, eight in total."""

    def __init__(
        self,
        *,
        per_owner: int = 2,
        total: int = 8,
        busy: str = "Other exports are under way. Try again when one is done.",
    ) -> None:
        self._per_owner = per_owner
        self._total = total
        self._busy = busy
        self._of: Counter[str] = Counter()

    @contextlib.contextmanager
    def taken(self, owner: str) -> Iterator[None]:
        """Occupy a slot of `owner`, an organization or a run. Raises RateLimited if none is free."""
        if self._of[owner] >= self._per_owner or self._of.total() >= self._total:
            raise RateLimited(_RETRY_AFTER_S, self._busy)
        self._of[owner] += 1
        try:
            yield
        finally:
            self._of[owner] -= 1
            if not self._of[owner]:
                del self._of[owner]


async def send(
    request: web.Request,
    source: RunSource,
    made: Format,
    *,
    total: int,
    media_type: str,
    name: str,
    lacking: str | None = None,
) -> web.StreamResponse:
    """Send the file; for HEAD only headers. `lacking`: why archived runs are missing, for a header."""
    response = web.StreamResponse(
        headers={
            "Content-Type": media_type,
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            RUNS: str(total),
        }
    )
    if lacking is not None:
        response.headers[INCOMPLETE] = lacking
    frame_headers(request, response)
    if request.method == "HEAD":
        await response.prepare(request)
        return response
    runs = source.runs()
    # Read before the headers are sent, so that an unavailable cluster gives a 503.
    few = await _next(runs)
    await response.prepare(request)
    waiting = bytearray(made.head())
    try:
        while few:
            for exported in few:
                waiting += made.of_run(exported)
                if len(waiting) >= _CHUNK:
                    await _give(response, waiting)
                # Let other requests run.
                await asyncio.sleep(0)
            few = await _next(runs)
        waiting += made.tail()
        await _give(response, waiting)
        await response.write_eof()
    except (KubeError, ServiceError, TimeoutError) as error:
        logger.warning("export.broken", extra={"reason": str(error) or type(error).__name__})
        _abort(request)
    except ConnectionError:
        raise  # the client disconnected
    except Exception:
        logger.exception("export.failed")
        _abort(request)
    return response


async def _next(runs: AsyncIterator[list[ExportedRun]]) -> list[ExportedRun]:
    """Return the next non-empty batch; empty at the end."""
    async for few in runs:
        if few:
            return few
    return []


async def _give(response: web.StreamResponse, waiting: bytearray) -> None:
    """Write and clear the buffer. Raises TimeoutError if the client does not read."""
    async with asyncio.timeout(_WRITE_TIMEOUT_S):
        await response.write(bytes(waiting))
    waiting.clear()


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
