"""Excludes a backup and a prune of the same URL from using the copies at the same time.

A backup relies on existing copies, and until its manifest is written it is unknown on which; a prune deletes copies
that no manifest lists. Each writes its mark first and then looks for the other's, so at least one sees the other,
whatever their clocks say. A prune that sees a backup deletes no copies; a backup that sees a prune waits until it has
ended, or has not renewed its mark for minutes.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.times import Clock, format_timestamp, utc_now

from ..console.progress import Progress
from . import layout
from .store import BackupStore

ABANDONED_AFTER: Final = timedelta(days=2)
"""Age from which a snapshot without a manifest is abandoned."""
_RENEWED_EVERY_S: Final = 10.0
_DEAD_AFTER_S: Final = 180.0
_LOOKS_EVERY_S: Final = 1.0

Sleep = Callable[[float], Awaitable[None]]


async def abandoned(store: BackupStore, now: datetime) -> list[str]:
    """Abandoned snapshots, the oldest first. Raises StoreUnavailable."""
    return [
        name
        for name in await store.names()
        if was_abandoned(name, now) and await store.get(layout.manifest_key(name)) is None
    ]


async def under_way(store: BackupStore, now: datetime) -> list[str]:
    """Snapshots that a backup may be writing. Raises StoreUnavailable."""
    return [
        name
        for name in await store.names()
        if not was_abandoned(name, now)
        and await store.get(layout.manifest_key(name)) is None
        and await store.get(layout.removed_key(name)) is None
    ]


def was_abandoned(name: str, now: datetime) -> bool:
    """Whether a snapshot without a manifest is too old to be in progress."""
    return name < layout.new_name(now - ABANDONED_AFTER, "00000000")


async def begin_copying(store: BackupStore, name: str, progress: Progress, *, sleep: Sleep = asyncio.sleep) -> None:
    """Wait until no prune deletes copies; none will until `name` has a manifest or is abandoned.

    Raises StoreUnavailable.
    """
    await store.put(layout.begun_key(name), b"{}\n")
    reported = False
    unchanged: dict[str, tuple[bytes, float]] = {}
    while True:
        marks: dict[str, tuple[bytes, float]] = {}
        for key in [found.key async for found in store.listed(layout.PRUNING)]:
            content = await store.get(key)
            if content is None:
                continue
            before = unchanged.get(key)
            marks[key] = before if before is not None and before[0] == content else (content, time.monotonic())
        unchanged = marks
        dead = [key for key, (_, since) in marks.items() if time.monotonic() - since >= _DEAD_AFTER_S]
        await store.delete(dead)  # a prune that only slept writes its mark again and looks again
        if len(dead) == len(marks):
            return
        if not reported:
            progress.line("waiting for a prune (--prune) of this backup to end")
            reported = True
        await sleep(_LOOKS_EVERY_S)


class PruneTurn:
    """A prune's turn. Methods raise StoreUnavailable."""

    def __init__(self, store: BackupStore, *, clock: Clock = utc_now) -> None:
        self._store = store
        self._clock = clock
        self._key = layout.pruning_key(secrets.token_hex(8))
        self._looked_at: float | None = None
        self._seen: list[str] = []

    async def others(self) -> list[str]:
        """Running backups. Ask before each small step; the answer holds for seconds."""
        if self._looked_at is None or time.monotonic() - self._looked_at >= _RENEWED_EVERY_S:
            looked_at = time.monotonic()
            now = self._clock()
            mark = f'{{"at": "{format_timestamp(now)}", "token": "{secrets.token_hex(8)}"}}\n'
            await self._store.put(self._key, mark.encode())
            self._seen = await under_way(self._store, now)
            self._looked_at = looked_at
        return self._seen

    async def end(self) -> None:
        await self._store.delete([self._key])
