"""DeliveryReplay: sends many deliveries again, selected by a filter, and shows the progress."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, JsonValue

from ..times import Timestamp
from .base import ConditionsField, KubeModel, OrganizationRef, StatusCondition
from .delivery_records import DeliveryPhase
from .event_names import EventName
from .outcome import OutcomeClass
from .run import ObjectNameRef

MAX_EVENT_IDS: Final = 100
KEPT_FOR_S: Final = 7 * 86_400
_SHOWN: Final[dict[str, JsonValue]] = {"x-keep-default": True}
"""Zeros are written too, so that `kubectl get` shows them."""


class ReplayPhase(StrEnum):
    """State of a DeliveryReplay."""

    PENDING = "Pending"
    RUNNING = "Running"
    COMPLETED = "Completed"
    REFUSED = "Refused"

    @property
    def rest(self) -> str:
        return self.value.lower()

    @property
    def is_final(self) -> bool:
        return self in {ReplayPhase.COMPLETED, ReplayPhase.REFUSED}


class ReplayFilter(KubeModel):
    """Selects deliveries; all given fields must match. Without `phase` and `eventIds`: the failed ones."""

    phase: DeliveryPhase | None = Field(
        default=None, description="Failed or Delivered. Absent: Failed; with eventIds, both."
    )
    run_ref: ObjectNameRef | None = Field(default=None, description="Only events of this run.")
    run_id: str | None = Field(
        default=None, max_length=64, description="Only events of the run with this public id, r-<uuid>; needs runRef."
    )
    event_ids: list[Annotated[str, Field(max_length=64)]] = Field(
        default_factory=list,
        max_length=MAX_EVENT_IDS,
        description="Only these events; needs runRef.",
        json_schema_extra={"x-item-max": 64},
    )
    host: str | None = Field(
        default=None, min_length=1, max_length=253, description="Only endpoints on this host, without the port."
    )
    event: EventName | None = Field(default=None, description="Only events of this kind.")
    outcome: OutcomeClass | None = Field(
        default=None, description="Only deliveries whose last attempt had this outcome."
    )
    finished_after: Timestamp | None = Field(
        default=None, description="Only what failed or was delivered at this time or later."
    )
    finished_before: Timestamp | None = Field(
        default=None, description="Only what failed or was delivered before this time."
    )


class DeliveryReplaySpec(KubeModel):
    """Which deliveries to send again; immutable. Deleting the object stops it."""

    organization_ref: OrganizationRef = Field(description="Its organization.")
    filter: ReplayFilter = Field(default_factory=ReplayFilter, description="Which deliveries are sent again.")
    dry_run: bool = Field(default=False, description="True: only count.")
    requested_by: str | None = Field(default=None, max_length=200, description="Who requests it, for the history.")
    ttl_seconds_after_finished: int = Field(
        default=KEPT_FOR_S,
        ge=0,
        le=366 * 86_400,
        description="How long the object stays after its end; default 7 days.",
    )


class RefusalCount(KubeModel):
    """How many deliveries were not replayed for one reason."""

    reason: str = Field(max_length=64, description="For example payload_not_kept.")
    count: int = Field(ge=1, description="Number of refused deliveries.")


class DeliveryReplayStatus(KubeModel):
    """Progress. done = delivered + failed + refused, and total when it is Completed (but for a dry run)."""

    phase: ReplayPhase = Field(
        default=ReplayPhase.PENDING,
        description="Pending, Running, Completed or Refused.",
        json_schema_extra={"x-keep-default": True},
    )
    total: int | None = Field(default=None, ge=0, description="Number of selected deliveries.")
    done: int = Field(default=0, ge=0, description="Of these, processed.", json_schema_extra=_SHOWN)
    delivered: int = Field(default=0, ge=0, description="Of these, delivered now.", json_schema_extra=_SHOWN)
    failed: int = Field(default=0, ge=0, description="Of these, failed again.", json_schema_extra=_SHOWN)
    refused: int = Field(
        default=0, ge=0, description="Of these, not sent; `refusals` says why.", json_schema_extra=_SHOWN
    )
    refusals: list[RefusalCount] = Field(default_factory=list, max_length=16, description="Why some were not sent.")
    started_at: Timestamp | None = Field(
        default=None, description="When it started. Deliveries that ended or were replayed later are excluded."
    )
    finished_at: Timestamp | None = Field(default=None, description="When it ended.")
    settled: bool | None = Field(default=None, description="True: ended, nothing left to do.")
    conditions: list[StatusCondition] = ConditionsField()
