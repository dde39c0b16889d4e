"""What was erased, for whoever may still have it in hand.

An archiver reads runs long before the part that holds them counts. So whoever erases notes the runs here first, and
then looks at the archive; whoever archives makes a part count first, and then looks here. Whichever comes second sees
the other, whatever their clocks say, and what was erased is in the archive no more.

`erasures/{organization id}/{erasure}.json`: no names and no addresses, ids of runs alone.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..times import Timestamp
from .damage import Damaged
from .layout import ERASURES
from .record import Record, RemovedDeliveries
from .store import ArchiveStore

REMEMBERED: Final = timedelta(days=90)
"""Nobody has a run in hand for longer: an archiver that was stopped goes on long before."""


class ErasedRun(BaseModel):
    """One run of which nothing is to be left."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    uids: tuple[str, ...] = ()
    """Of its objects. The same request to dispatch, sent again later, makes another run of the same id."""
    at: Timestamp
    """When it was noted."""


class NotedErasure(BaseModel):
    """As much of an erasure's object as archivers read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: int = Field(default=1, ge=1, le=1)
    runs: dict[str, ErasedRun] = {}


def erasure_key(organization: str, erasure: str) -> str:
    """`organization` is the public id."""
    return f"{ERASURES}/{organization}/{erasure}.json"


class Erasures:
    """What is noted of all organizations; each object is read once. Methods raise StoreUnavailable and Damaged."""

    def __init__(self, store: ArchiveStore) -> None:
        self._store = store
        self._known: dict[str, tuple[datetime, NotedErasure]] = {}

    async def among(self, organization: str, lines: Iterable[Record | RemovedDeliveries], *, now: datetime) -> set[str]:
        """The ids of those of `lines` that were erased."""
        noted = [one async for one in self._store.erasures(organization) if now - one.modified_at < REMEMBERED]
        erased: dict[str, list[ErasedRun]] = {}
        for stored in noted:
            known = self._known.get(stored.key)
            if known is None or known[0] != stored.modified_at:
                text = await self._store.get(stored.key)
                if text is None:
                    continue
                known = self._known[stored.key] = (stored.modified_at, _parsed(text, stored.key))
            for run_id, run in known[1].runs.items():
                erased.setdefault(run_id, []).append(run)
        keys = {one.key for one in noted}
        for key in [key for key in self._known if _is_of(key, organization) and key not in keys]:
            del self._known[key]
        return {line.run_id for line in lines if any(_is(line, one) for one in erased.get(line.run_id, ()))}


def _is(line: Record | RemovedDeliveries, erased: ErasedRun) -> bool:
    """Whether the line is of that very run, and not of one that was made after it under the same id."""
    if isinstance(line, Record):
        return line.run["metadata"].get("uid") in erased.uids
    return line.created_at <= erased.at


def _is_of(key: str, organization: str) -> bool:
    return key.startswith(f"{ERASURES}/{organization}/")


def _parsed(text: bytes, key: str) -> NotedErasure:
    try:
        return NotedErasure.model_validate_json(text)
    except ValidationError as error:
        raise Damaged(f"{key}: {error.errors()[0]['msg']}") from None
