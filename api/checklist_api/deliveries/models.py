"""Requests and responses of deliveries, replays and endpoints."""

from collections.abc import Callable
from typing import Annotated, ClassVar, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from checklist_crds.errors import Problem
from checklist_crds.ids import ID_PATTERNS, is_id
from checklist_crds.resources import replay as replay_types
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.event_names import EVENT_NAMES, EventName
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.resources.replay import MAX_EVENT_IDS, ReplayPhase
from checklist_crds.resources.run import ObjectNameRef
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_crds.times import format_milliseconds, format_optional, format_optional_milliseconds, format_timestamp

from ..http.models import Count, Moment, Pagination, RunId, Shape
from ..http.request_model import Instant, RequestModel, among, several, wrong
from ..index import delivery_history as history
from ..index import endpoint_figures
from ..index.delivery_history import DELIVERED, FAILED, OUTCOMES, STATUSES
from .replays import RequestedReplay

_PHASES: Final = {FAILED: DeliveryPhase.FAILED, DELIVERED: DeliveryPhase.DELIVERED}
REPLAYED_STATUSES: Final = tuple(_PHASES)

EventId = Annotated[str, Field(pattern=ID_PATTERNS["evt"])]
EventNameText = Annotated[str, among(EVENT_NAMES), Field(json_schema_extra={"enum": list(EVENT_NAMES)})]
DeliveryStatusName = Annotated[str, among(STATUSES), Field(json_schema_extra={"enum": list(STATUSES)})]
OutcomeText = Annotated[str, among(OUTCOMES), Field(json_schema_extra={"enum": list(OUTCOMES)})]
RefusalText = Annotated[str, Field(json_schema_extra={"enum": [refusal.value for refusal in ReplayRefusal]})]
ReplayStatusName = Annotated[str, Field(json_schema_extra={"enum": [phase.rest for phase in ReplayPhase]})]
ReplayedStatusName = Annotated[
    str, among(REPLAYED_STATUSES), Field(json_schema_extra={"enum": list(REPLAYED_STATUSES)})
]
HttpStatus = Annotated[int, Field(ge=0, le=999)]
Host = Annotated[str, Field(min_length=1, max_length=253)]


class DeliveryAttempt(Shape):
    """One attempt to deliver an event."""

    number: int = Field(
        ge=1, le=5, description="1 to 5: `delivery_attempt` of the envelope. Replays have the last number."
    )
    started_at: Moment
    duration_ms: Count = Field(description="Time from the start to the response's status, or to the failure.")
    outcome: OutcomeText | None = Field(
        description="`success` is a 2xx within 10 seconds; other values are classes of failure. null in old records."
    )
    http_status: HttpStatus | None = Field(description="null without a response.")
    manual: bool = Field(description="true for a replay.")
    next_attempt_at: Moment | None = Field(description="When the next attempt was due.")
    detail: str | None = Field(description="Short description of the failure.")

    @classmethod
    def of(cls, attempt: history.Attempt) -> Self:
        return cls(
            number=attempt.number,
            started_at=format_milliseconds(attempt.started_at),
            duration_ms=attempt.duration_ms,
            outcome=attempt.outcome,
            http_status=attempt.http_status,
            manual=attempt.manual,
            next_attempt_at=format_optional_milliseconds(attempt.next_attempt_at),
            detail=attempt.detail,
        )


class LastReplay(Shape):
    """The last finished replay."""

    requested_at: Moment
    requested_by: str | None = Field(description="The member who created the API key, or a program's name.")
    attempted_at: Moment | None = Field(description="null if it could not be sent.")
    outcome: OutcomeText | None = Field(description="null if it could not be sent.")
    http_status: HttpStatus | None = Field(description="null without a response.")

    @classmethod
    def of(cls, replay: history.Replay) -> Self:
        return cls(
            requested_at=format_milliseconds(replay.requested_at),
            requested_by=replay.requested_by,
            attempted_at=format_optional_milliseconds(replay.attempted_at),
            outcome=replay.outcome,
            http_status=replay.http_status,
        )


class Delivery(Shape):
    """An event of a run and its delivery."""

    event_id: EventId = Field(description="The same on every attempt.")
    run_id: RunId
    event: EventNameText
    seq: int = Field(ge=1, description="Number of the event in its run.")
    ts: Moment | None = Field(description="Time of the event; null in old records.")
    status: DeliveryStatusName = Field(
        description="`pending`: an attempt is due. `in_flight`: a retry is being sent (with many at once, some stay "
        "`pending`). `delivered`: answered with 2xx. `failed`: the fifth attempt failed; can be replayed."
    )
    host: str = Field(description="Host of the endpoint. The rest of its URL may be secret and is never shown.")
    attempts_made: int = Field(ge=0, le=5, description="Number of attempts made.")
    attempts: list[DeliveryAttempt] = Field(
        description="Oldest first, including replays. After the retention of deliveries only the last one."
    )
    next_attempt_at: Moment | None = Field(description="When the next attempt is due.")
    finished_at: Moment | None = Field(description="When it was delivered or failed.")
    replayable: bool = Field(description="Whether it can be replayed now.")
    replay_refusal: RefusalText | None = Field(
        description="Why not: `retry_pending` (attempts are left), `replay_under_way`, `payload_not_kept` (a delivered "
        "event of a step), `run_deleted`, `run_archived`."
    )
    last_replay: LastReplay | None

    @classmethod
    def of(cls, delivery: history.Delivery) -> Self:
        event = delivery.event
        return cls(
            event_id=event.event_id,
            run_id=event.run_id,
            event=event.event,
            seq=event.seq,
            ts=format_optional_milliseconds(delivery.happened_at),
            status=delivery.status,
            host=event.host,
            attempts_made=delivery.attempts_made,
            attempts=[DeliveryAttempt.of(attempt) for attempt in delivery.attempts],
            next_attempt_at=format_optional_milliseconds(delivery.next_attempt_at),
            finished_at=format_optional_milliseconds(delivery.finished_at),
            replayable=delivery.refusal is None,
            replay_refusal=None if delivery.refusal is None else delivery.refusal.value,
            last_replay=None if delivery.last_replay is None else LastReplay.of(delivery.last_replay),
        )


class DeliveryList(Shape):
    data: list[Delivery]
    pagination: Pagination


class ReplayOneRequest(BaseModel):
    """Has no fields."""


def _known_ids(events: object) -> object:
    if not (isinstance(events, list) and 0 < len(events) <= MAX_EVENT_IDS and all(is_id("evt", one) for one in events)):
        text = f"Must be a list of 1 to {MAX_EVENT_IDS} event ids: evt- and a lower-case UUID."
        raise wrong("invalid_events", text)
    return events


def _with_its_run(events: list[str], info: ValidationInfo) -> list[str]:
    # An invalid run_id is absent from the data and has its own problem.
    if info.data.get("run_id", events) is None:
        raise several([Problem("filter.run_id", "missing", "event_ids requires run_id.")])
    return events


def _printable(host: str) -> str:
    if not host.isprintable():
        raise wrong("invalid_host", "Must be the name of a host.")
    return host.lower()


class ReplayFilter(RequestModel):
    """Selects deliveries to replay: all given fields must match. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    status: ReplayedStatusName | None = Field(default=None, description="Default: failed ones; with `event_ids`, both.")
    run_id: RunId | None = Field(default=None, description="Only events of this run.")
    event_ids: (
        Annotated[
            list[EventId],
            Field(min_length=1, max_length=MAX_EVENT_IDS),
            BeforeValidator(_known_ids),
            AfterValidator(_with_its_run),
        ]
        | None
    ) = Field(default=None, description="Only these events; needs `run_id`.")
    event: EventNameText | None = Field(default=None, description="Only events of this kind.")
    host: Annotated[Host, AfterValidator(_printable)] | None = Field(
        default=None, description="Only endpoints on this host."
    )
    outcome: OutcomeText | None = Field(default=None, description="Only with this outcome of the last attempt.")
    finished_after: Instant | None = Field(default=None, description="Only deliveries finished at this time or later.")
    finished_before: Instant | None = Field(default=None, description="Only deliveries finished before this time.")

    def to_resource(self, name_of: Callable[[str], str]) -> replay_types.ReplayFilter:
        """`name_of`: returns the name of the run with an id."""
        name = None if self.run_id is None else name_of(self.run_id)
        return replay_types.ReplayFilter(
            phase=_PHASES[self.status] if self.status is not None else None,
            run_ref=None if name is None else ObjectNameRef(name=name),
            run_id=None if name == self.run_id else self.run_id,
            event_ids=list(dict.fromkeys(self.event_ids or ())),
            host=self.host,
            event=EventName(self.event) if self.event is not None else None,
            outcome=OutcomeClass(self.outcome) if self.outcome is not None else None,
            finished_after=self.finished_after,
            finished_before=self.finished_before,
        )


class ReplayRequest(RequestModel):
    """A replay of many deliveries."""

    model_config = ConfigDict(extra="forbid")
    refused: ClassVar = "The replay is not valid."

    filter: ReplayFilter = Field(description="`{}` selects all failed deliveries of the organization.")
    dry_run: bool | None = Field(default=None, description="true: only count them.")


class ReplayFilterShown(Shape):
    """The effective filter."""

    status: ReplayedStatusName | None
    run_id: RunId | None
    event_ids: list[EventId]
    event: EventNameText | None
    host: Host | None
    outcome: OutcomeText | None
    finished_after: Moment | None
    finished_before: Moment | None

    @classmethod
    def of(cls, wanted: replay_types.ReplayFilter, run_id: str | None) -> Self:
        return cls(
            status=None if wanted.phase is None else wanted.phase.value.lower(),
            run_id=run_id,
            event_ids=list(wanted.event_ids),
            event=None if wanted.event is None else wanted.event.value,
            host=wanted.host,
            outcome=None if wanted.outcome is None else wanted.outcome.value,
            finished_after=format_optional(wanted.finished_after),
            finished_before=format_optional(wanted.finished_before),
        )


class ReplayRefusalCount(Shape):
    reason: str = Field(description="As in `replay_refusal` of a delivery.")
    count: int = Field(ge=1)


class Replay(Shape):
    """A replay of many deliveries with its progress."""

    replay_id: str
    status: ReplayStatusName = Field(description="`pending`, `running`, `completed`, or `refused` (not started).")
    filter: ReplayFilterShown
    dry_run: bool
    requested_by: str | None
    requested_at: Moment
    total: Count | None = Field(description="Number of selected deliveries; null before they are counted.")
    done: Count = Field(description="`delivered` + `failed` + `refused`; finally `total`.")
    delivered: Count = Field(description="Answered with 2xx.")
    failed: Count = Field(description="Failed again; can be replayed.")
    refused: Count = Field(description="Not sent, for the reasons in `refusals`.")
    refusals: list[ReplayRefusalCount]
    started_at: Moment | None
    finished_at: Moment | None

    @classmethod
    def of(cls, replay: RequestedReplay, run_id: str | None) -> Self:
        """`run_id`: the id of the run that the filter names."""
        spec, status = replay.spec, replay.status
        return cls(
            replay_id=replay.name,
            status=status.phase.rest,
            filter=ReplayFilterShown.of(spec.filter, run_id),
            dry_run=spec.dry_run,
            requested_by=spec.requested_by,
            requested_at=format_timestamp(replay.requested_at),
            total=status.total,
            done=status.done,
            delivered=status.delivered,
            failed=status.failed,
            refused=status.refused,
            refusals=[ReplayRefusalCount(reason=each.reason, count=each.count) for each in status.refusals],
            started_at=format_optional(status.started_at),
            finished_at=format_optional(status.finished_at),
        )


class ReplayList(Shape):
    data: list[Replay]
    pagination: Pagination


class EndpointError(Shape):
    """The last failed attempt."""

    at: Moment
    outcome: OutcomeText | None
    http_status: HttpStatus | None

    @classmethod
    def of(cls, attempt: history.Attempt) -> Self:
        return cls(at=format_milliseconds(attempt.started_at), outcome=attempt.outcome, http_status=attempt.http_status)


class Endpoint(Shape):
    """A host that receives events."""

    host: str
    deliveries: Count = Field(description="Events in the window.")
    attempts: Count = Field(description="Attempts in the window, including replays.")
    success_rate: float | None = Field(ge=0, le=1, description="Share of successful attempts; null without any.")
    latency_p50_ms: Count | None = Field(description="Median response time, accurate to 5 %.")
    latency_p95_ms: Count | None = Field(description="95th percentile of the response time, accurate to 5 %.")
    last_success_at: Moment | None = Field(description="Not limited to the window.")
    last_error: EndpointError | None = Field(description="Not limited to the window.")
    pending: Count = Field(description="Deliveries with an attempt due.")
    failed: Count = Field(description="Failed deliveries.")

    @classmethod
    def of(cls, figures: endpoint_figures.Endpoint) -> Self:
        error = figures.last_error
        return cls(
            host=figures.host,
            deliveries=figures.deliveries,
            attempts=figures.attempts,
            success_rate=figures.success_rate,
            latency_p50_ms=figures.latency_ms(50),
            latency_p95_ms=figures.latency_ms(95),
            last_success_at=format_optional_milliseconds(figures.last_success_at),
            last_error=None if error is None else EndpointError.of(error),
            pending=figures.pending,
            failed=figures.failed,
        )


class EndpointList(Shape):
    data: list[Endpoint]
    since: Moment = Field(description="Start of the window, a full hour.")
    pagination: Pagination
