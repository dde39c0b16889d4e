"""What is old enough to leave the cluster: decided from the objects alone, without clock or network."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ..ids import object_id
from ..resources.base import made_at
from ..resources.delivery_records import DeliveryPhase, recorded_events
from ..resources.legal_hold import is_held
from ..resources.organization import OrganizationSpec, Retention
from ..times import parse_timestamp

_LONGEST_PATIENCE: Final = timedelta(hours=6)
_PATIENCE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Keep:
    """How long an organization keeps things in the cluster, None is for ever; and what becomes of them then."""

    name: str
    """metadata.name of the Organization."""
    organization: str
    """Its public id."""
    runs: timedelta | None
    deliveries: timedelta | None
    audit: timedelta | None
    audit_entries: int | None
    """How many audit entries are kept; None: as many as the installation's setting says."""
    archive: bool
    """Whether runs and deliveries go to the archive before they are deleted."""
    held: bool
    """Whether a legal hold is on the organization: then runs and deliveries stay."""

    @classmethod
    def of(cls, organization: Mapping[str, Any]) -> "Keep":
        """From the object. Raises pydantic.ValidationError."""
        name = str(organization["metadata"]["name"])
        spec = OrganizationSpec.model_validate(organization["spec"])
        retention = spec.retention or Retention()
        return cls(
            name=name,
            organization=object_id("org", name),
            runs=_days(retention.finished_runs_days),
            deliveries=_days(retention.deliveries_days),
            audit=_days(retention.audit_days),
            audit_entries=None if spec.limits is None else spec.limits.audit_entries,
            archive=retention.archive,
            held=is_held(organization),
        )

    @property
    def patience(self) -> timedelta:
        """How long a few runs that are due wait for others, so that the archive of a small organization does not
        become one of many small parts."""
        return _patience(self.runs)

    @property
    def patience_with_deliveries(self) -> timedelta:
        return _patience(self.deliveries)

    def due_at(self, run: Mapping[str, Any]) -> datetime | None:
        """When a settled run is to leave the cluster; None: not as things are."""
        if self.runs is None or self.held or is_held(run):
            return None
        return ended_at(run) + self.runs


def organization_of(run: Mapping[str, Any]) -> str:
    """metadata.name of the organization; empty where the run does not say it."""
    spec = run["spec"]
    resolved = spec.get("resolved") or (run.get("status") or {}).get("resolved") or {}
    return str(resolved.get("organization") or (spec.get("organizationRef") or {}).get("name") or "")


def ended_at(run: Mapping[str, Any]) -> datetime:
    """When the run became final: the moment of its condition Completed, true or false."""
    for condition in run["status"].get("conditions") or ():
        if condition["type"] == "Completed":
            return parse_timestamp(condition["lastTransitionTime"])
    return parse_timestamp(_created(run))


def last_finished_at(delivery: Mapping[str, Any]) -> datetime:
    """When it was delivered or given up, or replayed after that: how a replay ended is history of that day."""
    status = delivery["status"]
    replay = status.get("lastReplay") or {}
    moments = (status.get("finishedAt") or _created(delivery), replay.get("attemptedAt") or replay.get("requestedAt"))
    return max(parse_timestamp(moment) for moment in moments if moment is not None)


def is_leaving(body: Mapping[str, Any]) -> bool:
    """Whether it was deleted already, and somebody's finalizer holds it: what it says was archived, or never is to be.
    Archived again at every sweep, it would fill the archive."""
    return "deletionTimestamp" in body["metadata"]


def is_admitted(run: Mapping[str, Any]) -> bool:
    """Whether it ever was a run: one that was never admitted belongs to no organization, whichever it names."""
    return bool(run["spec"].get("resolved") or (run.get("status") or {}).get("resolved"))


def is_settled(body: Mapping[str, Any]) -> bool:
    return bool((body.get("status") or {}).get("settled"))


def deliveries_told(run: Mapping[str, Any]) -> set[str]:
    """Names of deliveries that there must be, or must have been: of events that did not arrive at once."""
    return {
        event_id
        for event_id, record in recorded_events(run["status"]).items()
        if record["attempts"] != 1 or record["phase"] != DeliveryPhase.DELIVERED.value
    }


def _patience(kept: timedelta | None) -> timedelta:
    return min(_LONGEST_PATIENCE, (kept or timedelta()) * _PATIENCE)


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)


def _created(body: Mapping[str, Any]) -> str:
    return made_at(body["metadata"])
