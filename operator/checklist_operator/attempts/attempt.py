"""The values that go through the pipeline: an attempt that is prepared, one that was sent, one that is recorded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.informer import Key
from checklist_crds.resources.delivery_records import DeliveryRecord
from checklist_crds.resources.run import OutboxEntry, Run
from checklist_operator.attempts.delivery_objects import Delivery
from checklist_operator.attempts.progress import Send
from checklist_operator.transport.outcome import Outcome

FIRST = Send(1)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to deliver an event: the first one, a retry, or a replay."""

    event: OutboxEntry
    step: Send
    run: Run
    run_body: JsonObject
    """The run as it was read for the attempt."""
    organization: str
    url: str
    secret: bytes = field(repr=False)
    message: Callable[[], Mapping[str, Any]] = field(repr=False)
    """Makes the envelope, with photos named by their keys and without the number of the attempt."""
    due_at: datetime | None
    """Since when it could have been made."""
    delivery: Delivery | None = None
    """What keeps the event for later attempts; None for a first one, which has only the outbox."""

    @property
    def is_first(self) -> bool:
        return self.delivery is None

    @property
    def event_id(self) -> str:
        return self.event.event_id

    @property
    def number(self) -> int:
        return self.step.attempt

    @property
    def run_key(self) -> Key:
        return self.run.namespace, self.run.name


@dataclass(frozen=True, slots=True)
class SentAttempt:
    """An attempt that ended and exists nowhere but here until it is recorded."""

    attempt: Attempt
    outcome: Outcome
    delivery: Delivery | None
    """As it was last read or written: under our claim, if there is one."""
    is_claimed: bool


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """Of a first attempt the `record` that the outbox writes to the run; else the `delivery` as it is then."""

    record: DeliveryRecord | None = None
    delivery: Delivery | None = None
