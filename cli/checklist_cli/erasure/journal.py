"""The journal of an erasure, in the archive's store: what is to be erased and what was; kept as a record afterwards.

It is written before anything is deleted, so that the same command can resume an interrupted erasure, even for
deliveries and photos whose run is gone already. It contains ids and digests, no names and addresses.
"""

import json
from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from checklist_crds.archive import ArchiveStore, Damaged, PartPlace
from checklist_crds.archive.erasures import ErasedRun, erasure_key
from checklist_crds.times import Timestamp

from ..backup.copying import run_of_photo
from .search_result import SearchResult


class State(StrEnum):
    WORKING = "working"
    DONE = "done"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Attempt(_Part):
    at: Timestamp
    by: str


class JournalRun(ErasedRun):
    """A run to erase, and where it was found."""

    why: tuple[str, ...] = ()
    live: bool = False
    archived: bool = False
    host: str | None = None


class RewrittenPart(_Part):
    """A part with these runs, and its replacement."""

    sha256: str
    runs: tuple[str, ...]
    lines: int
    instead: str | None
    """The key of the replacement; None if no lines remain."""
    sha256_instead: str | None
    lines_instead: int


class Journal(_Part):
    """The journal of one erasure. Archivers read `format` and `runs` (`NotedErasure`)."""

    format: int = Field(default=1, ge=1, le=1)
    id: str
    state: State = State.WORKING
    organization: str
    subject: str
    """Keyed digest of the whole request."""
    attempts: list[Attempt] = []
    members: list[str] = []
    """Public ids of the person, which cannot be found any more once their Member is deleted."""
    runs: dict[str, JournalRun] = {}
    deliveries: dict[str, str] = {}
    """Run ids by delivery name."""
    replays: dict[str, str] = {}
    photos: dict[str, int] = {}
    """Sizes in bytes by key."""
    parts: dict[str, RewrittenPart] = {}
    remains: list[str] = []
    """Keys of parts without a manifest."""
    account: list[str] = []
    receipt: dict[str, Any] | None = None

    @property
    def known(self) -> dict[str, frozenset[str]]:
        return {run_id: frozenset(run.uids) for run_id, run in self.runs.items()}

    @property
    def replaced(self) -> frozenset[PartPlace]:
        """Parts to delete: one without a manifest is a remainder of this erasure."""
        return frozenset(place for key in self.parts if (place := PartPlace.of_key(key)) is not None)

    @property
    def written(self) -> frozenset[PartPlace]:
        """Their replacements."""
        keys = [part.instead for part in self.parts.values() if part.instead]
        return frozenset(place for key in keys if (place := PartPlace.of_key(key)) is not None)

    def add(self, result: SearchResult, now: datetime) -> None:
        """Add everything of `result` that is to be erased."""
        held = result.held
        for run_id in sorted(result.targets - held.keys()):
            found = result.places_of(run_id)
            before = self.runs.get(run_id) or JournalRun(at=now)
            self.runs[run_id] = JournalRun(
                uids=tuple(sorted({*before.uids, *(run.uid for run in found if run.uid)})),
                at=now,
                why=tuple(sorted({*before.why, *(str(why) for run in found for why in run.why)})),
                live=before.live or run_id in result.live,
                archived=before.archived or any(run_id in part.runs for part in result.parts),
                host=before.host or next((run.host for run in found if run.host), None),
            )
        for one in result.objects:
            if one.run_id not in held:
                (self.deliveries if one.kind.kind == "WebhookDelivery" else self.replays)[one.name] = one.run_id
        for part in result.parts:
            for run in part.runs.values():
                if run.run_id not in held:
                    self.deliveries |= dict.fromkeys(run.deliveries, run.run_id)
        for run_id, keys in result.photos.items():
            if run_id not in held:
                self.photos |= keys
        self.remains += [place.key for place in result.unvouched if place.key not in self.remains]
        named = [f"{one.kind.kind} {one.namespace}/{one.name}" for one in result.account]
        self.account += [name for name in named if name not in self.account]

    def forget(self, run_ids: Collection[str]) -> None:
        """Drop runs that are kept after all because of a new hold."""
        for run_id in run_ids:
            self.runs.pop(run_id, None)
        self.deliveries = {name: run for name, run in self.deliveries.items() if run not in run_ids}
        self.replays = {name: run for name, run in self.replays.items() if run not in run_ids}
        self.photos = {key: size for key, size in self.photos.items() if run_of_photo(key) not in run_ids}

    def encoded(self) -> bytes:
        return json.dumps(self.model_dump(mode="json"), indent=1).encode() + b"\n"


class Journals:
    """The journals of an organization. Methods raise StoreUnavailable and Damaged."""

    def __init__(self, store: ArchiveStore, organization: str) -> None:
        """`organization`: the public id."""
        self._store = store
        self._organization = organization

    async def unfinished(self, subjects: set[str]) -> Journal | None:
        """The interrupted erasure of a person, if any. `subjects`: their digest under each key."""
        async for stored in self._store.erasures(self._organization):
            text = await self._store.get(stored.key)
            if text is None:
                continue
            try:
                journal = Journal.model_validate_json(text)
            except ValidationError as error:
                raise Damaged(f"{stored.key}: {error.errors()[0]['msg']}") from None
            if journal.state is State.WORKING and journal.subject in subjects:
                return journal
        return None

    async def write(self, journal: Journal) -> None:
        await self._store.put(erasure_key(self._organization, journal.id), journal.encoded())
