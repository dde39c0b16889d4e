"""Which deliveries may be replayed, for REST, kubectl and bulk replays (delivery profile, "Outcome")."""

from enum import StrEnum
from typing import Final

from ..resources.delivery import WebhookDeliveryStatus
from ..resources.delivery_records import DeliveryRecord
from ..resources.event_names import EventName
from ..resources.run import Run

FINAL_EVENTS: Final = frozenset({EventName.RUN_COMPLETED, EventName.RUN_CANCELLED, EventName.RUN_EXPIRED})
"""Events that can be built again from a final run, since it no longer changes."""


class ReplayRefusal(StrEnum):
    """Why a delivery is not replayed; `reason` is used in conditions and Events."""

    RETRY_PENDING = "retry_pending"
    REPLAY_UNDER_WAY = "replay_under_way"
    PAYLOAD_NOT_KEPT = "payload_not_kept"
    RUN_DELETED = "run_deleted"
    RUN_ARCHIVED = "run_archived"
    FOREIGN_TARGET = "foreign_target"
    INVALID_TIMESTAMP = "invalid_timestamp"

    @property
    def reason(self) -> str:
        return "".join(part.capitalize() for part in self.value.split("_"))

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_MESSAGES: Final = {
    ReplayRefusal.RETRY_PENDING: "An attempt is under way or still to come; a replay is possible after the last one.",
    ReplayRefusal.REPLAY_UNDER_WAY: "A replay of this delivery is under way.",
    ReplayRefusal.PAYLOAD_NOT_KEPT: "The event was delivered, and its payload was not kept.",
    ReplayRefusal.RUN_DELETED: "The run was deleted, and with it the secret to sign with.",
    ReplayRefusal.RUN_ARCHIVED: "The run is archived: what became of its events can be read, none is sent again.",
    ReplayRefusal.FOREIGN_TARGET: "The delivery has another URL than the webhook of its run, or another organization.",
    ReplayRefusal.INVALID_TIMESTAMP: "The request is not a timestamp with a zone (RFC 3339).",
}


def refusal_of(status: WebhookDeliveryStatus) -> ReplayRefusal | None:
    """Returns why a WebhookDelivery cannot be replayed now, or None."""
    if status.replay is not None:
        return ReplayRefusal.REPLAY_UNDER_WAY
    if not status.phase.is_final or not status.settled:
        return ReplayRefusal.RETRY_PENDING
    if status.attempt == 0:
        return ReplayRefusal.RUN_DELETED  # the only end without any attempt
    return None


def refusal_of_record(run: Run, record: DeliveryRecord) -> ReplayRefusal | None:
    """Returns why an event without a WebhookDelivery cannot be replayed, or None.

    Events of a final run can be built again; those of steps are stored only until they are delivered.
    """
    if not record.phase.is_final:
        return ReplayRefusal.RETRY_PENDING
    if record.event not in FINAL_EVENTS or not run.status.phase.is_final or run.spec.webhook is None:
        return ReplayRefusal.PAYLOAD_NOT_KEPT
    return None
