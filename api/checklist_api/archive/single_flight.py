"""Coalesces refreshes of the archive: one at a time for each subject, and at most one a second."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from checklist_crds.platform.object_store import StoreUnavailable

REFRESH_EVERY_S: Final = 1.0


class SingleFlight:
    """`fresh` waits for a refresh that began after the call; concurrent callers share it."""

    def __init__(
        self,
        refresh: Callable[[str], Awaitable[None]],
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`refresh` raises StoreUnavailable."""
        self._refresh = refresh
        self._monotonic = monotonic
        self._sleep = sleep
        self._locks: dict[str, asyncio.Lock] = {}
        self._began: dict[str, float] = {}
        self._begun: Counter[str] = Counter()
        self._failed: dict[str, StoreUnavailable] = {}

    def seconds_since(self, subject: str) -> float:
        """Seconds since the last refresh began."""
        return self._monotonic() - self._began.get(subject, float("-inf"))

    async def fresh(self, subject: str) -> None:
        """Refresh `subject`. Raises StoreUnavailable."""
        earlier = self._begun[subject]
        async with self._locks.setdefault(subject, asyncio.Lock()):
            if self._begun[subject] == earlier:
                await self._next(subject)
            if (failed := self._failed.get(subject)) is not None:
                raise failed

    async def _next(self, subject: str) -> None:
        wait = REFRESH_EVERY_S - self.seconds_since(subject)
        if wait > 0:
            await self._sleep(wait)
        self._began[subject] = self._monotonic()
        self._begun[subject] += 1
        self._failed.pop(subject, None)
        try:
            await self._refresh(subject)
        except StoreUnavailable as error:
            self._failed[subject] = error
        except BaseException:
            self._failed[subject] = StoreUnavailable("the refresh was cancelled")
            raise
