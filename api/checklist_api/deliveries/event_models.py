"""The five webhook events (specification, "Events"; contract section 9)."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from checklist_crds.ids import ID_PATTERNS

from ..http.models import Count, Moment, RunId, Shape, StepId, TemplateId, UserId, Version
from ..runs.models import RECEIVED_AT, AnswerParts, ExecutorRef, Geo, Identity, RunProgress, Signature

ReceivedAt = Annotated[
    Moment | None,
    Field(exclude_if=lambda moment: moment is None, description=f"{RECEIVED_AT} Left out if it equals `at`."),
]


class EventAnswer(AnswerParts):
    """The answer to a step in an event."""

    received_at: ReceivedAt = None


class EventPhoto(Shape):
    photo_index: Count
    url: str = Field(description="Signed URL, valid for 7 days; renewed at each attempt.")
    thumbnail: str | None = Field(description="Base64 of a JPEG of at most 320 px; null if omitted.")


class StepCompletedData(Shape):
    """A step was answered, including its required photos."""

    step_id: StepId
    section_id: str
    type: str = Field(description="The step's type.")
    label: str
    value: JsonValue = Field(description="See Answer.")
    display: str = Field(description="The formatted value.")
    photos: list[EventPhoto]
    thumbnails_dropped: bool = Field(
        default=False,
        exclude_if=lambda dropped: not dropped,
        description="true if thumbnails were omitted: the event would be too large, or they could not be read.",
    )
    geo: Geo | None
    at: Moment = Field(description="When the answer was given.")
    by: UserId | None
    revision: Version = Field(description="1 for the first answer, incremented by each further one.")
    received_at: ReceivedAt = None
    progress: RunProgress


class StepSkippedData(Shape):
    """An optional step was skipped."""

    step_id: StepId
    section_id: str
    label: str
    at: Moment = Field(description="When the step was skipped.")
    by: UserId | None
    received_at: ReceivedAt = None
    progress: RunProgress


class CompletedPhoto(Shape):
    step_id: StepId
    photo_index: Count
    url: str


class RunCompletedData(Shape):
    """The run was submitted."""

    completed_at: Moment
    started_at: Moment
    duration_seconds: float = Field(ge=0)
    answers: dict[str, EventAnswer]
    photos: list[CompletedPhoto]
    skipped_steps: list[StepId]
    signature: Signature | None
    progress: RunProgress


class RunCancelledData(Shape):
    """The executor or the owner cancelled the run."""

    cancelled_at: Moment
    reason: str | None = Field(description="`cancelled_by_owner` if the owner cancelled.")
    last_step_id: StepId | None
    answers: dict[str, EventAnswer] = Field(description="Answers given so far.")
    progress: RunProgress


class RunExpiredData(Shape):
    """The link expired before completion."""

    expires_at: Moment
    progress: RunProgress


class _Envelope(Shape):
    event_id: Annotated[str, Field(pattern=ID_PATTERNS["evt"])] = Field(
        description="Stable: the same on every attempt. Receivers deduplicate on it."
    )
    delivery_attempt: int = Field(ge=1, le=5, description="Number of this attempt.")
    run_id: RunId
    template_id: TemplateId
    template_v: Version
    ts: Moment = Field(description="Time of the event, the same on every attempt.")
    identity: Identity
    seq: Version = Field(description="Number of the event in its run, without gaps.")
    executor_ref: ExecutorRef


class StepCompletedEvent(_Envelope):
    event: Literal["step.completed"]
    data: StepCompletedData


class StepSkippedEvent(_Envelope):
    event: Literal["step.skipped"]
    data: StepSkippedData


class RunCompletedEvent(_Envelope):
    event: Literal["run.completed"]
    data: RunCompletedData


class RunCancelledEvent(_Envelope):
    event: Literal["run.cancelled"]
    data: RunCancelledData


class RunExpiredEvent(_Envelope):
    event: Literal["run.expired"]
    data: RunExpiredData
