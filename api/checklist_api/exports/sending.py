"""Streams an export, limits concurrent ones, and makes an aborted file recognizable.

The number of runs is in a header, before the first byte. The file is sent in chunks, each when the one before was
taken. When something fails in the middle, the connection is broken without the last chunk: a client that reads to the
end gets an error, where a file that merely ended would look whole.
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
"""How many runs there were when the export began."""
INCOMPLETE: Final = "Export-Incomplete"
"""Present when a part of the archive is damaged: its runs are not in the file."""
_OF_ORGANIZATION: Final = 2
_OF_ALL: Final = 8
_AGAIN_AFTER_S: Final = 5
_CHUNK: Final = 64 * 1024
_TAKEN_WITHIN_S: Final = 60.0


class Format(Protocol):
    """What a file is made of."""

    def head(self) -> bytes: ...

    def of_run(self, exported: ExportedRun) -> bytes: ...

    def tail(self) -> bytes: ...


class ExportSlots:
    """Exports under way in this process: two of an organization, eight in all."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()

    @contextlib.contextmanager
    def taken(self, organization: str) -> Iterator[None]:
        """Raises RateLimited when there is none."""
        if self._of[organization] >= _OF_ORGANIZATION or self._of.total() >= _OF_ALL:
            raise RateLimited(_AGAIN_AFTER_S, "Other exports are under way; please try again when one is done.")
        self._of[organization] += 1
        try:
            yield
        finally:
            self._of[organization] -= 1
            if not self._of[organization]:
                del self._of[organization]


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
    """The whole file; for HEAD its head alone. `lacking`: why runs that nobody can read any more are not in it."""
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
    # Read before anything is sent, so that a cluster that does not answer is a 503 like anywhere else.
    few = await _next(runs)
    await response.prepare(request)
    waiting = bytearray(made.head())
    try:
        while few:
            for exported in few:
                waiting += made.of_run(exported)
                if len(waiting) >= _CHUNK:
                    await _give(response, waiting)
                # Other requests come in between.
                await asyncio.sleep(0)
            few = await _next(runs)
        waiting += made.tail()
        await _give(response, waiting)
        await response.write_eof()
    except (KubeError, ServiceError, TimeoutError) as error:
        logger.warning("export.broken", extra={"reason": str(error) or type(error).__name__})
        _break_off(request)
    except ConnectionError:
        raise  # the reader went away
    except Exception:
        logger.exception("export.failed")
        _break_off(request)
    return response


async def _next(runs: AsyncIterator[list[ExportedRun]]) -> list[ExportedRun]:
    """The next runs that are there; empty at the end."""
    async for few in runs:
        if few:
            return few
    return []


async def _give(response: web.StreamResponse, waiting: bytearray) -> None:
    """Raises TimeoutError when nobody takes it."""
    async with asyncio.timeout(_TAKEN_WITHIN_S):
        await response.write(bytes(waiting))
    waiting.clear()


def _break_off(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
