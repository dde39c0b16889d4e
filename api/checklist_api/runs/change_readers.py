"""Lets readers wait for the next change of a run, without polling and without reading the cluster.

The watch of the process counts the changes of runs that someone waits for (`status.changes`). A run is remembered for a
while after its last reader left, because a reader comes back at once.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from checklist_crds.errors import RateLimited, ServiceUnavailable
from checklist_crds.resources.kinds import Key, key_of
from checklist_crds.resources.run_id import run_id_of
from checklist_crds.values.json_text import JsonObject

from ..index.runs import RunIndex

READERS: Final = 5_000
READERS_OF_A_RUN: Final = 20
_REMEMBERED_S: Final = 120.0
_RETRY_AFTER_S: Final = 10


@dataclass(eq=False, slots=True)
class WatchedRun:
    """The number of changes of a run. `changes`: the last known one; None until it is known."""

    run_id: str
    changes: int | None = None
    for_members: bool = False
    gone: bool = False
    left_at: float = 0.0
    waiting: set[asyncio.Future[None]] = field(default_factory=set)
    readers: int = 0

    def note(self, changes: int) -> None:
        """Take a number of changes, from the watch or a read; an older one has no effect."""
        if self.changes is None or changes > self.changes:
            self.changes = changes
            self.wake()

    def is_after(self, changes: int) -> bool:
        return self.gone or self.changes is None or self.changes > changes

    def wake(self) -> None:
        for future in self.waiting:
            if not future.done():
                future.set_result(None)
        self.waiting.clear()


class ChangeReaders:
    """The watched runs of this process, by namespace and name, as the watch reports them."""

    def __init__(self, index: RunIndex, *, monotonic: Callable[[], float] | None = None) -> None:
        self._runs: dict[Key, WatchedRun] = {}
        self._monotonic = monotonic or (lambda: asyncio.get_running_loop().time())
        self._readers = 0
        self._forget_at = 0.0
        self._closing = False
        index.add_handler(self._apply)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def readers(self) -> int:
        return self._readers

    @contextlib.contextmanager
    def reading(self, key: Key, run_id: str) -> Iterator[WatchedRun]:
        """Watch a run while the block runs. Raises ServiceUnavailable, RateLimited at the limits of readers."""
        if self._closing or self._readers >= READERS:
            raise ServiceUnavailable("Too many readers wait for changes.", retry_after_s=_RETRY_AFTER_S)
        run = self._runs.setdefault(key, WatchedRun(run_id))
        if run.readers >= READERS_OF_A_RUN:
            raise RateLimited(_RETRY_AFTER_S)
        run.readers += 1
        self._readers += 1
        try:
            yield run
        finally:
            run.readers -= 1
            self._readers -= 1
            run.left_at = self._monotonic()
            self._forget_left(run.left_at)

    async def wait(
        self, run: WatchedRun, after: int, seconds: float, *, has_left: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until the run has more than `after` changes or is deleted, at most `seconds`.

        Ends early once `has_left()`, which is checked whenever the run is woken.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not (run.is_after(after) or self._closing or has_left()):
                    future = asyncio.get_running_loop().create_future()
                    run.waiting.add(future)
                    try:
                        await future
                    finally:
                        run.waiting.discard(future)

    def close(self) -> None:
        """End all waiting and accept no new readers."""
        self._closing = True
        for run in self._runs.values():
            run.wake()

    def _apply(self, change: str, body: JsonObject) -> None:
        run = self._runs.get(key_of(body))
        if run is None:
            return
        if change == "DELETE" or run_id_of(body) != run.run_id:  # deleted, or its name is used by another run
            run.gone = True
            del self._runs[key_of(body)]
            run.wake()
        else:
            run.note((body.get("status") or {}).get("changes") or 0)

    def _forget_left(self, now: float) -> None:
        """Forget runs without readers, at most once in `_REMEMBERED_S`."""
        if now < self._forget_at:
            return
        self._forget_at = now + _REMEMBERED_S
        earliest = now - _REMEMBERED_S
        self._runs = {key: run for key, run in self._runs.items() if run.readers > 0 or run.left_at > earliest}
