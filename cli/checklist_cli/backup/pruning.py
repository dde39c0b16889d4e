"""Removes old snapshots, then the copies of photos and archive that no remaining snapshot refers to.

It can be interrupted between any two deletions: a snapshot is marked as being removed before its manifest is deleted,
and unreferenced copies are determined again each time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from checklist_crds.platform.object_store import StoredObject
from checklist_crds.times import Clock, utc_now

from ..console.progress import Progress
from . import layout
from .copying import ARCHIVE, PHOTOS
from .format import BackupManifest, DamagedBackup
from .parallel import for_each
from .pruning_rule import Found, Plan, Rule, plan
from .reading import copies_of
from .store import BackupStore
from .turns import PruneTurn, was_abandoned

_AT_ONCE: Final = 16
_BETWEEN_LOOKS: Final = 32


@dataclass(slots=True)
class Pruned:
    """What was done, or would be in a dry run."""

    plan: Plan
    copies: int = 0
    """Removed copies that no snapshot refers to."""
    bytes: int = 0
    """Size of the removed copies."""
    copies_stay: int = 0
    why_copies_stay: str | None = None
    """Why not all unreferenced copies were removed."""
    is_deferred: bool = False
    """They stay only because a backup may be running: the next prune removes them."""
    damaged: list[str] = field(default_factory=list)

    def defer(self, names: Sequence[str]) -> None:
        """`names`: of snapshots without a manifest."""
        self.is_deferred = True
        self.why_copies_stay = f"a backup is running, or was stopped less than two days ago: {names[0]}"


class Prune:
    """Methods raise StoreUnavailable and DamagedBackup."""

    def __init__(
        self,
        store: BackupStore,
        rule: Rule,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._store = store
        self._rule = rule
        self._dry_run = dry_run
        self._progress = progress or Progress()
        self._clock = clock

    async def run(self) -> Pruned:
        found = await self._found()
        if not found.whole:
            raise DamagedBackup("there is no complete snapshot: nothing is removed")
        pruned = Pruned(plan(found, self._rule, self._clock()), damaged=list(found.damaged))
        if self._dry_run:
            await self._copies(pruned, None)
            return pruned
        for name in pruned.plan.go:
            await self._remove(name)
            self._progress.line(f"{name} is removed")
        turn = PruneTurn(self._store, clock=self._clock)
        try:
            await self._copies(pruned, turn)
        finally:
            await turn.end()
        return pruned

    async def _found(self) -> Found:
        now = self._clock()
        whole: list[BackupManifest] = []
        others: dict[str, list[str]] = {"damaged": [], "half_removed": [], "abandoned": [], "under_way": []}
        for name in await self._store.names():
            text = await self._store.get(layout.manifest_key(name))
            if await self._store.get(layout.removed_key(name)) is not None:
                others["half_removed"].append(name)
            elif text is None:
                others["abandoned" if was_abandoned(name, now) else "under_way"].append(name)
            else:
                try:
                    whole.append(BackupManifest.parse(text, name))
                except DamagedBackup:
                    others["damaged"].append(name)
        return Found(whole, **others)

    async def _remove(self, name: str) -> None:
        """The mark is written first and deleted last, so that what remains does not look like a running backup."""
        mark = layout.removed_key(name)
        await self._store.put(mark, b"{}\n")
        await self._store.delete([layout.manifest_key(name)])
        keys = [found.key async for found in self._store.listed(f"{layout.PREFIX}/{name}") if found.key != mark]
        await self._delete(keys)
        await self._store.delete([mark])

    async def _copies(self, pruned: Pruned, turn: PruneTurn | None) -> None:
        """Remove unreferenced copies; without a `turn`, only count them."""
        if turn is not None and (others := await turn.others()):
            pruned.defer(others)
            return
        # Again, now that no backup is running: one that has ended since the first listing needs its copies.
        found = await self._found()
        if turn is None and found.under_way:
            pruned.defer(found.under_way)
            return
        if unreadable := sorted(set(found.damaged) - set(pruned.plan.go)):
            pruned.why_copies_stay = f"the snapshot {unreadable[0]} is damaged: its copies cannot be determined"
            return
        try:
            useless = await self._unreferenced([one for one in found.whole if one.name not in pruned.plan.go], pruned)
        except DamagedBackup as error:
            pruned.why_copies_stay = f"a snapshot's list of copies cannot be read: {error}"
            return
        if turn is None:
            pruned.copies, pruned.bytes = len(useless), sum(one.size for one in useless)
            return
        for first in range(0, len(useless), _BETWEEN_LOOKS):
            some = useless[first : first + _BETWEEN_LOOKS]
            if others := await turn.others():
                pruned.defer(others)
                return
            await self._delete([one.key for one in some])
            pruned.copies += len(some)
            pruned.bytes += sum(one.size for one in some)
            self._progress.now_and_then(lambda: f"copies: {pruned.copies:,} of {len(useless):,} removed")

    async def _unreferenced(self, snapshots: list[BackupManifest], pruned: Pruned) -> list[StoredObject]:
        """Copies that none of `snapshots` refers to; counts the others. Raises DamagedBackup, too."""
        referred: set[str] = set()
        for manifest in snapshots:
            referred.update([one.key for one in await copies_of(self._store, manifest)])
        useless: list[StoredObject] = []
        for prefix in (ARCHIVE, PHOTOS):
            async for one in self._store.listed(prefix):
                if one.key in referred:
                    pruned.copies_stay += 1
                else:
                    useless.append(one)
        return useless

    async def _delete(self, keys: list[str]) -> None:
        async def one(key: str) -> None:
            await self._store.delete([key])

        await for_each(keys, one, parallel=_AT_ONCE)
