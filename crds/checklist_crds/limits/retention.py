"""Decides from objects alone what is past its retention: no clock, no network."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ..ids import object_id
from ..resources.base import made_at
from ..resources.delivery_records import DeliveryPhase, recorded_events
from ..resources.legal_hold import is_held
from ..resources.organization import OrganizationSpec, Retention
from ..resources.run_id import resolved_of
from ..times import parse_timestamp

_LONGEST_BATCH_DELAY: Final = timedelta(hours=6)
_BATCH_DELAY_FRACTION: Final = 0.05


@dataclass(frozen=True, slots=True)
class Keep:
    """How long an organization keeps objects in the cluster (None: forever), and what happens then."""

    name: str
    """metadata.name of the Organization."""
    organization: str
    """Its public id."""
    runs: timedelta | None
    deliveries: timedelta | None
    audit: timedelta | None
    audit_entries: int | None
    """Limit on audit entries; None: the installation's setting."""
    archive: bool
    """Whether runs and deliveries are archived before they are deleted."""
    held: bool
    """Whether the organization is under legal hold: then runs and deliveries stay."""

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
    def batch_delay(self) -> timedelta:
        """How long a few due runs wait for more, so that a small organization's archive has few small parts."""
        return _batch_delay(self.runs)

    @property
    def delivery_batch_delay(self) -> timedelta:
        return _batch_delay(self.deliveries)

    def due_at(self, run: Mapping[str, Any]) -> datetime | None:
        """Returns when a settled run is due for removal; None: never, as things are."""
        if self.runs is None or self.held or is_held(run):
            return None
        return ended_at(run) + self.runs


def organization_of(run: Mapping[str, Any]) -> str:
    """Returns metadata.name of the organization; empty if the run does not contain it."""
    spec = run["spec"]
    resolved = resolved_of(run) or {}
    return str(resolved.get("organization") or (spec.get("organizationRef") or {}).get("name") or "")


def ended_at(run: Mapping[str, Any]) -> datetime:
    """Returns when the run became final: the transition time of its condition Completed."""
    for condition in run["status"].get("conditions") or ():
        if condition["type"] == "Completed":
            return parse_timestamp(condition["lastTransitionTime"])
    return parse_timestamp(_created(run))


def last_finished_at(delivery: Mapping[str, Any]) -> datetime:
    """Returns when it was delivered or failed, or last replayed: the history of a replay is kept from then."""
    status = delivery["status"]
    replay = status.get("lastReplay") or {}
    moments = (status.get("finishedAt") or _created(delivery), replay.get("attemptedAt") or replay.get("requestedAt"))
    return max(parse_timestamp(moment) for moment in moments if moment is not None)


def is_terminating(body: Mapping[str, Any]) -> bool:
    """Whether it is being deleted and waits for a finalizer: its content is archived already, or must not be."""
    return "deletionTimestamp" in body["metadata"]


def is_admitted(run: Mapping[str, Any]) -> bool:
    """Whether the run was ever admitted; an unadmitted one belongs to no organization, whatever it names."""
    return resolved_of(run) is not None


def is_marked_settled(body: Mapping[str, Any]) -> bool:
    """Whether `status.settled` is set; `runs.lifecycle.is_settled` decides when to set it."""
    return bool((body.get("status") or {}).get("settled"))


def expected_deliveries(run: Mapping[str, Any]) -> set[str]:
    """Returns the names of deliveries that exist or existed: of events not delivered at the first attempt."""
    return {
        event_id
        for event_id, record in recorded_events(run["status"]).items()
        if record["attempts"] != 1 or record["phase"] != DeliveryPhase.DELIVERED.value
    }


def _batch_delay(kept: timedelta | None) -> timedelta:
    return min(_LONGEST_BATCH_DELAY, (kept or timedelta()) * _BATCH_DELAY_FRACTION)


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)


def _created(body: Mapping[str, Any]) -> str:
    return made_at(body["metadata"])
