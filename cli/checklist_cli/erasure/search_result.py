"""The result of a search: what was found of a person, and how much was searched."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from checklist_crds.archive import Manifest, PartPlace
from checklist_crds.resources.kinds import Kind

from .person import Why

Known = Mapping[str, frozenset[str]]
"""Uids by id of runs known to belong to the person. A run object with another uid is another run."""


@dataclass(frozen=True, slots=True)
class Organization:
    """The organization whose runs are searched."""

    name: str
    """metadata.name."""
    id: str
    """The public id, org-<uuid>."""
    namespace: str
    """The namespace of new objects."""
    held: bool
    """Whether all of its runs are under a legal hold."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run in the cluster or in an archive part."""

    run_id: str
    namespace: str
    uid: str
    why: frozenset[Why]
    held: bool
    """Whether the run itself is under a legal hold."""
    host: str | None = None
    """The host that received its events."""
    deliveries: tuple[str, ...] = ()
    """Names of the deliveries in the same archive line."""
    name: str = ""
    """The name of the object in the cluster."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """Another object in the cluster; `run_id`: the run it belongs to, or empty."""

    kind: Kind
    namespace: str
    name: str
    version: str
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class FoundPart:
    """An archive part with lines of the person, by run id."""

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
class SearchResult:
    """The result of one search."""

    organization: Organization
    live: dict[str, FoundRun] = field(default_factory=dict)
    parts: list[FoundPart] = field(default_factory=list)
    objects: list[FoundObject] = field(default_factory=list)
    """Deliveries and replays of these runs."""
    account: list[FoundObject] = field(default_factory=list)
    """The person's member, account and sessions, if they are to be erased."""
    photos: dict[str, dict[str, int]] = field(default_factory=dict)
    """Sizes in bytes by key of photo store objects, by run."""
    unvouched: dict[PartPlace, dict[str, FoundRun]] = field(default_factory=dict)
    """Abandoned parts without a manifest, with the person's runs in them."""
    in_work: dict[PartPlace, dict[str, FoundRun]] = field(default_factory=dict)
    """Unfinished parts of the operator, which removes these runs itself."""
    garbage: list[PartPlace] = field(default_factory=list)
    """Remains of an earlier attempt; their lines are also in valid parts."""
    unreadable: list[str] = field(default_factory=list)
    """Places that could not be read."""
    targets: set[str] = field(default_factory=set)
    """Ids of all runs of the person, wherever they are or were."""
    strangers: set[str] = field(default_factory=set)
    """Ids of erased runs that other runs have now: a repeated dispatch creates the same id."""
    looked_at: Counter[str] = field(default_factory=Counter)

    @property
    def held(self) -> dict[str, str]:
        """Existing runs that must be kept, with the reason."""
        found = [*self.live.values(), *(run for part in self.parts for run in part.runs.values())]
        if self.organization.held:
            there = {run.run_id for run in found} | {one.run_id for one in self.objects} | set(self.photos)
            return dict.fromkeys(sorted(there - {""}), "a legal hold is on the organization")
        return {run.run_id: "a legal hold is on the run" for run in found if run.held}

    @property
    def left(self) -> dict[str, int]:
        """Counts of what is left to erase, by place. All zero is the proof."""
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
        """Where the run itself was found: the cluster first, then archive parts, also unfinished ones."""
        parts = [part.runs for part in self.parts if part.place.has_runs]
        parts += [runs for unfinished in (self.unvouched, self.in_work) for runs in unfinished.values()]
        return [runs[run_id] for runs in (self.live, *parts) if run_id in runs]

    @property
    def can_go(self) -> bool:
        """Whether there is something to erase now."""
        left = self.left
        return sum(left.values()) > len(self.in_work)

    def _objects(self, kind: str) -> int:
        held = self.held.keys()
        return sum(one.kind.kind == kind and one.run_id not in held for one in self.objects)


def host_of(url: object) -> str | None:
    """The host of a webhook's URL."""
    try:
        return urlsplit(str(url)).hostname if url else None
    except ValueError:
        return None
