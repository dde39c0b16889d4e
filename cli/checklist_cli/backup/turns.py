"""A backup and a prune of the same URL take turns at the copies.

A backup counts on copies that it finds there, and until its manifest is written nobody knows on which; a prune takes
away what no manifest speaks of. So each says first that it is there, and looks only then whether the other one is:
at least one of them sees the other, whatever their clocks say. A prune that sees a backup takes no copies away; a
backup that sees a prune waits until it has ended, or has shown no life for minutes.
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

NOBODY_WORKS_ON_IT_AFTER: Final = timedelta(days=2)
"""A snapshot that was begun so long ago and has no manifest was given up."""
_RENEWED_EVERY_S: Final = 10.0
_DEAD_AFTER_S: Final = 180.0
_LOOKS_EVERY_S: Final = 1.0

Sleep = Callable[[float], Awaitable[None]]


async def given_up(store: BackupStore, now: datetime) -> list[str]:
    """Snapshots that were begun days ago and have no manifest, the oldest first. Raises StoreUnavailable."""
    return [
        name
        for name in await store.names()
        if was_given_up(name, now) and await store.get(layout.manifest_key(name)) is None
    ]


async def under_way(store: BackupStore, now: datetime) -> list[str]:
    """Snapshots that somebody may be working on. Raises StoreUnavailable."""
    return [
        name
        for name in await store.names()
        if not was_given_up(name, now)
        and await store.get(layout.manifest_key(name)) is None
        and await store.get(layout.removed_key(name)) is None
    ]


def was_given_up(name: str, now: datetime) -> bool:
    """Of a snapshot that has no manifest."""
    return name < layout.new_name(now - NOBODY_WORKS_ON_IT_AFTER, "00000000")


async def begin_copying(store: BackupStore, name: str, progress: Progress, *, sleep: Sleep = asyncio.sleep) -> None:
    """A backup's turn: returns when no prune takes copies away, and none will until `name` is whole or given up.

    Raises StoreUnavailable.
    """
    await store.put(layout.begun_key(name), b"{}\n")
    told = False
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
        await store.delete(dead)  # one that only slept says anew that it is there, and looks anew
        if len(dead) == len(marks):
            return
        if not told:
            progress.line("old snapshots are being removed there (--prune): copying begins when that has ended")
            told = True
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
        """Backups that are under way: none may be, for the next few seconds. To be asked before each small step."""
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
