"""Values of the pipeline: a prepared, a sent and a recorded attempt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from checklist_crds.ids import object_id
from checklist_crds.photos.keys import PhotoFolder
from checklist_crds.resources.delivery_records import DeliveryRecord
from checklist_crds.resources.kinds import Key
from checklist_crds.resources.run import OutboxEntry, Run
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.delivery_objects import Delivery
from checklist_operator.attempts.delivery_state import Send
from checklist_operator.transport.outcome import Outcome

FIRST_ATTEMPT = Send(1)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to deliver an event: the first one, a retry, or a replay."""

    event: OutboxEntry
    action: Send
    run: Run
    run_body: JsonObject
    """The run, as read for the attempt."""
    organization: str
    url: str
    secret: bytes = field(repr=False)
    message: Callable[[], Mapping[str, Any]] = field(repr=False)
    """Builds the envelope, with photos as keys and without the attempt's number."""
    due_at: datetime | None
    """Since when it was due."""
    delivery: Delivery | None = None
    """The event's WebhookDelivery; None for a first attempt, whose event is in the outbox."""

    @property
    def is_first(self) -> bool:
        return self.delivery is None

    @property
    def event_id(self) -> str:
        return self.event.event_id

    @property
    def number(self) -> int:
        return self.action.attempt

    @property
    def run_key(self) -> Key:
        return self.run.namespace, self.run.name

    @property
    def photo_folders(self) -> tuple[PhotoFolder, PhotoFolder]:
        return PhotoFolder(object_id("org", self.organization), self.run.id), PhotoFolder("", self.run.id)


@dataclass(frozen=True, slots=True)
class SentAttempt:
    """An attempt that has ended but is not recorded yet."""

    attempt: Attempt
    outcome: Outcome
    delivery: Delivery | None
    """As last read or written, with our claim if there is one."""
    is_claimed: bool


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """For a first attempt, the `record` that the outbox writes to the run; else the updated `delivery`."""

    record: DeliveryRecord | None = None
    delivery: Delivery | None = None
