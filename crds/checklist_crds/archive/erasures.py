"""Notes of erased runs, for archivers that hold such runs in memory.

An archiver reads runs long before their part is valid. So an erasure first notes its runs here and then searches the
archive; an archiver first makes a part valid and then reads the notes. Whichever comes second sees the other, whatever
their clocks say, so erased runs do not stay in the archive.

`erasures/{organization id}/{erasure}.json` contains only ids of runs, no names or addresses.
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
"""Far longer than an archiver holds a run."""


class ErasedRun(BaseModel):
    """A run that must not be archived."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    uids: tuple[str, ...] = ()
    """Of its objects. A repeated dispatch request can create another run with the same id."""
    at: Timestamp
    """When the erasure was noted."""


class NotedErasure(BaseModel):
    """The fields of an erasure's object that archivers read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: int = Field(default=1, ge=1, le=1)
    runs: dict[str, ErasedRun] = {}


def erasure_key(organization: str, erasure: str) -> str:
    """Returns the key; `organization` is the public id."""
    return f"{ERASURES}/{organization}/{erasure}.json"


class Erasures:
    """Cached notes of all organizations. Methods raise StoreUnavailable and Damaged."""

    def __init__(self, store: ArchiveStore) -> None:
        self._store = store
        self._known: dict[str, tuple[datetime, NotedErasure]] = {}

    async def among(self, organization: str, lines: Iterable[Record | RemovedDeliveries], *, now: datetime) -> set[str]:
        """Returns the ids of the `lines` that were erased."""
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
    """Whether the line is of that run, not of a later one with the same id."""
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
