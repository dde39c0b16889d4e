"""Takes old snapshots away, and then the copies of photos and archive that none of the others refers to.

It may be stopped between any two deletions: a snapshot that is being removed says so itself before its manifest goes,
and which copies nobody refers to is found out anew each time.
"""

from collections.abc import AsyncIterator, Sequence
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
from .turns import PruneTurn, was_given_up

_AT_ONCE: Final = 16
_BETWEEN_LOOKS: Final = 32


@dataclass(slots=True)
class Pruned:
    """What was done; of a dry run, what would be."""

    plan: Plan
    copies: int = 0
    """That no snapshot refers to, and that were removed."""
    bytes: int = 0
    """Of these."""
    copies_stay: int = 0
    why_copies_stay: str | None = None
    """Why none of them, or not all, were removed."""
    is_deferred: bool = False
    """That they stay for no other reason than a backup that may be under way: the next prune removes them."""
    damaged: list[str] = field(default_factory=list)

    def defer(self, names: Sequence[str]) -> None:
        """`names`: of snapshots that have no manifest."""
        self.is_deferred = True
        self.why_copies_stay = f"a backup is under way, or was stopped less than two days ago: {names[0]}"


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
            raise DamagedBackup("there is no whole snapshot: nothing is removed")
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
        others: dict[str, list[str]] = {"damaged": [], "half_removed": [], "given_up": [], "under_way": []}
        for name in await self._store.names():
            text = await self._store.get(layout.manifest_key(name))
            if await self._store.get(layout.removed_key(name)) is not None:
                others["half_removed"].append(name)
            elif text is None:
                others["given_up" if was_given_up(name, now) else "under_way"].append(name)
            else:
                try:
                    whole.append(BackupManifest.parse(text, name))
                except DamagedBackup:
                    others["damaged"].append(name)
        return Found(whole, **others)

    async def _remove(self, name: str) -> None:
        """That it is being removed is said first, and forgotten last: so what is left of it is no backup under way."""
        mark = layout.removed_key(name)
        await self._store.put(mark, b"{}\n")
        await self._store.delete([layout.manifest_key(name)])
        keys = [found.key async for found in self._store.listed(f"{layout.PREFIX}/{name}") if found.key != mark]
        await self._delete(keys)
        await self._store.delete([mark])

    async def _copies(self, pruned: Pruned, turn: PruneTurn | None) -> None:
        """Without a `turn` they are only counted."""
        if turn is not None and (others := await turn.others()):
            pruned.defer(others)
            return
        # Anew, now that no backup is under way: one that has ended since the first look counts on its copies.
        found = await self._found()
        if turn is None and found.under_way:
            pruned.defer(found.under_way)
            return
        if unreadable := sorted(set(found.damaged) - set(pruned.plan.go)):
            pruned.why_copies_stay = f"the snapshot {unreadable[0]} is damaged, and nobody knows which of them are its"
            return
        try:
            useless = await self._nobodys([one for one in found.whole if one.name not in pruned.plan.go], pruned)
        except DamagedBackup as error:
            pruned.why_copies_stay = f"which of them are a snapshot's cannot be read: {error}"
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

    async def _nobodys(self, snapshots: list[BackupManifest], pruned: Pruned) -> list[StoredObject]:
        """Copies that none of `snapshots` refers to; the others are counted. Raises DamagedBackup, too."""
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
        async def each() -> AsyncIterator[str]:
            for key in keys:
                yield key

        async def one(key: str) -> None:
            await self._store.delete([key])

        await for_each(each(), one, parallel=_AT_ONCE)
