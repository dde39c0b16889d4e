"""WebhookDelivery: an event whose first attempt failed, with its retries and replays."""

from typing import Final

from pydantic import Field

from ..times import Timestamp
from .base import GROUP, ConditionsField, KubeModel, OrganizationRef, StatusCondition
from .delivery_records import DeliveryPhase
from .event_names import EventName
from .outcome import OutcomeClass
from .run import ObjectNameRef
from .webhook_url import MAX_URL_LENGTH

__all__ = [
    "MAX_ATTEMPTS",
    "MAX_PAYLOAD",
    "MAX_RECORDED",
    "REPLAY_ANNOTATION",
    "REPLAY_BY_ANNOTATION",
    "Claim",
    "DeliveryAttempt",
    "LastReplay",
    "OutcomeClass",
    "ReplayRequest",
    "WebhookDeliverySpec",
    "WebhookDeliveryStatus",
]

MAX_ATTEMPTS: Final = 5
MAX_PAYLOAD: Final = 1024 * 1024
MAX_RECORDED: Final = 100
"""Attempts in the history: all five of the schedule, and the newest replays."""

REPLAY_ANNOTATION: Final = f"{GROUP}/replay"
"""A timestamp (RFC 3339) on a WebhookDelivery requests one replay. The operator accepts it, records it and clears it.
The same timestamp counts once."""
REPLAY_BY_ANNOTATION: Final = f"{GROUP}/replay-by"
"""Optional: who requests it, for the history. Without it, the field manager that set the replay annotation."""


class WebhookDeliverySpec(KubeModel):
    """The event and its endpoint; immutable."""

    organization_ref: OrganizationRef = Field(description="Its organization.")
    run_ref: ObjectNameRef = Field(description="The run, whose webhook holds the signing secret.")
    run_id: str | None = Field(
        default=None, max_length=64, description="Public id of the run, r-<uuid>; absent: the name in runRef."
    )
    event_id: str = Field(max_length=64, description="Id of the event, evt-<uuid>, the same on every attempt.")
    event: EventName = Field(description="Kind of the event.")
    seq: int = Field(ge=1, description="Number of the event in its run.")
    ts: Timestamp = Field(description="When the event happened.")
    url: str = Field(max_length=MAX_URL_LENGTH, description="The endpoint, in canonical form.")
    payload: str = Field(
        max_length=MAX_PAYLOAD, description="The envelope as JSON text, without delivery_attempt and thumbnails."
    )

    @property
    def public_run_id(self) -> str:
        """The public id of its run."""
        return self.run_id or self.run_ref.name


class DeliveryAttempt(KubeModel):
    """A finished attempt."""

    number: int = Field(ge=1, le=5, description="Number of the attempt, 1 to 5.")
    started_at: Timestamp = Field(description="When it started.")
    duration_ms: int = Field(ge=0, description="Duration in milliseconds.")
    outcome: OutcomeClass = Field(description="Outcome: success, or the class of the failure.")
    http_status: int | None = Field(default=None, ge=0, le=999, description="Status of the answer, if there was one.")
    manual: bool = Field(default=False, description="True for a replay.")
    next_attempt_at: Timestamp | None = Field(default=None, description="When the next one was due then.")
    detail: str | None = Field(
        default=None, max_length=200, description="The cause of a failure; absent for a success."
    )


class Claim(KubeModel):
    """Who sends which attempt: written before the first byte is sent. Above a rate of retries, the lease is used
    instead."""

    attempt: int = Field(ge=1, le=5, description="Number of the attempt.")
    holder: str = Field(max_length=253, description="The operator that sends it.")
    until: Timestamp = Field(description="After this the attempt may be sent again with the same number.")
    manual: bool = Field(default=False, description="True while a replay is being sent.")


class ReplayRequest(KubeModel):
    """An accepted request for a replay, identified by `requestedAt`."""

    requested_at: Timestamp = Field(description="The timestamp of the request.")
    requested_by: str | None = Field(default=None, max_length=200, description="Who requested it.")
    replay_ref: ObjectNameRef | None = Field(default=None, description="The DeliveryReplay that requested it.")


class LastReplay(ReplayRequest):
    """The last finished replay."""

    attempted_at: Timestamp | None = Field(
        default=None, description="When it was sent; absent if it could not be sent."
    )
    outcome: OutcomeClass | None = Field(default=None, description="Outcome; absent if it could not be sent.")
    http_status: int | None = Field(default=None, ge=0, le=999, description="Status of the answer, if there was one.")


class WebhookDeliveryStatus(KubeModel):
    """Progress of the delivery."""

    phase: DeliveryPhase = Field(
        default=DeliveryPhase.PENDING,
        description="Pending, InFlight, Delivered or Failed.",
        json_schema_extra={"x-keep-default": True},
    )
    attempt: int = Field(default=0, ge=0, le=5, description="How many attempts were made.")
    next_attempt_at: Timestamp | None = Field(default=None, description="When the next attempt is due.")
    claim: Claim | None = Field(default=None, description="The attempt in progress, unless the lease covers it.")
    attempts: list[DeliveryAttempt] = Field(
        default_factory=list, max_length=MAX_RECORDED, description="All attempts, oldest first."
    )
    replay: ReplayRequest | None = Field(default=None, description="The replay in progress.")
    last_replay: LastReplay | None = Field(default=None, description="The previous replay.")
    settled: bool | None = Field(default=None, description="True: delivered or failed, and nothing left to do.")
    finished_at: Timestamp | None = Field(
        default=None, description="When it failed or was delivered, also by a replay."
    )
    conditions: list[StatusCondition] = ConditionsField()
