"""What a look over all places has found of a person, and how much was looked at."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from checklist_crds.archive import Manifest, PartPlace
from checklist_crds.resources.kinds import Kind

from .person import Why

Known = Mapping[str, frozenset[str]]
"""Runs that are known to be theirs: uids of their objects by id. Another object of the same id is another run."""


@dataclass(frozen=True, slots=True)
class Organization:
    """Whose runs are looked at."""

    name: str
    """metadata.name."""
    id: str
    """The public one, org-<uuid>."""
    home: str
    """The namespace of new objects."""
    held: bool
    """Whether a legal hold is on all of its runs."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run, live or in a part of the archive."""

    run_id: str
    namespace: str
    uid: str
    why: frozenset[Why]
    held: bool
    """Whether the run itself bears a legal hold."""
    host: str | None = None
    """Where its events went."""
    deliveries: tuple[str, ...] = ()
    """Names of those in the same line of the archive."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """Another object of the cluster; `run_id` is the run that it belongs to, if to any."""

    kind: Kind
    namespace: str
    name: str
    version: str
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A part of the archive with lines of the person, by the ids of their runs."""

    manifest: Manifest
    runs: dict[str, FoundRun]

    @property
    def place(self) -> PartPlace:
        return self.manifest.place


LOOKED_AT: Final = (
    "live_runs",
    "live_deliveries",
    "replays",
    "archive_parts",
    "archived_runs",
    "photo_folders",
)


@dataclass(slots=True)
class Sight:
    """Of one look."""

    organization: Organization
    live: dict[str, FoundRun] = field(default_factory=dict)
    parts: list[FoundPart] = field(default_factory=list)
    objects: list[FoundObject] = field(default_factory=list)
    """Deliveries and replays of these runs."""
    account: list[FoundObject] = field(default_factory=list)
    """Member, account and sessions of the person, where they are to go as well."""
    photos: dict[str, dict[str, int]] = field(default_factory=dict)
    """Bytes by the keys of objects in the photo store, by run."""
    unvouched: dict[PartPlace, dict[str, FoundRun]] = field(default_factory=dict)
    """Remains of parts that no manifest speaks of and nobody is at work on, with the runs in them."""
    in_work: dict[PartPlace, dict[str, FoundRun]] = field(default_factory=dict)
    """Parts that the operator has begun and not finished: it takes these runs out of them itself."""
    garbage: list[PartPlace] = field(default_factory=list)
    """Remains of an earlier attempt, with lines of others that are in parts that count."""
    unreadable: list[str] = field(default_factory=list)
    """What could not be looked into."""
    targets: set[str] = field(default_factory=set)
    """Ids of all runs that are theirs, wherever something of them is or was."""
    strangers: set[str] = field(default_factory=set)
    """Ids of runs that were erased, and that other runs have now: a dispatch that is sent again makes the same id."""
    looked_at: Counter[str] = field(default_factory=Counter)

    @property
    def held(self) -> dict[str, str]:
        """Runs that have to stay, with the reason: those that are there at all."""
        found = [*self.live.values(), *(run for part in self.parts for run in part.runs.values())]
        if self.organization.held:
            there = {run.run_id for run in found} | {one.run_id for one in self.objects} | set(self.photos)
            return dict.fromkeys(sorted(there - {""}), "a legal hold is on the organization")
        return {run.run_id: "a legal hold is on the run" for run in found if run.held}

    @property
    def left(self) -> dict[str, int]:
        """What of the person is there and could go, by place. All zero is the proof."""
        held = self.held.keys()
        return {
            "live_runs": len(self.live.keys() - held),
            "live_deliveries": self._objects("WebhookDelivery"),
            "replays": self._objects("DeliveryReplay"),
            "archived_runs": len({run for part in self.parts for run in part.runs if part.place.has_runs} - held),
            "archived_deliveries_of_runs": len(
                {run for part in self.parts for run in part.runs if not part.place.has_runs} - held
            ),
            "photo_objects": sum(len(keys) for run, keys in self.photos.items() if run not in held),
            "unfinished_parts": len(self.unvouched) + len(self.in_work),
            "account_objects": len(self.account),
        }

    def places_of(self, run_id: str) -> list[FoundRun]:
        """Where the run itself was found: in the cluster first, then in parts of the archive, whole or not."""
        parts = [part.runs for part in self.parts if part.place.has_runs]
        parts += [runs for unfinished in (self.unvouched, self.in_work) for runs in unfinished.values()]
        return [runs[run_id] for runs in (self.live, *parts) if run_id in runs]

    @property
    def can_go(self) -> bool:
        """Whether there is something that an erasure can take away now."""
        left = self.left
        return sum(left.values()) > len(self.in_work)

    def _objects(self, kind: str) -> int:
        held = self.held.keys()
        return sum(one.kind.kind == kind and one.run_id not in held for one in self.objects)


def host_of(url: object) -> str | None:
    """Of a webhook's URL: its host alone."""
    try:
        return urlsplit(str(url)).hostname if url else None
    except ValueError:
        return None
