"""Requests and responses of runs (specification, "Run"; contract section 5)."""

from datetime import datetime
from functools import lru_cache
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, JsonValue, ValidationInfo

from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources import run as run_types
from checklist_crds.resources.event_names import EVENT_NAMES, event_name_problem
from checklist_crds.resources.run import MAX_EXECUTOR_REF, MAX_EXPIRY_HOURS, REST_STATUSES
from checklist_crds.resources.webhook_url import MAX_URL_LENGTH, InvalidTarget, canonical_url
from checklist_crds.runs.events import answer_view, identity_view, signature_view
from checklist_crds.runs.receipt import receipt_view
from checklist_crds.times import format_optional, format_timestamp
from checklist_crds.values.json_types import AS_NUMBER, Absentable, optional

from ..archive.incomplete import Incomplete
from ..http.models import Count, Moment, Pagination, QuotaDetails, RunId, Shape, StepId, TemplateId, UserId, Version
from ..http.request_model import STORABLE, RequestModel, wrong
from ..organizations.directory import Organization

RunStatusName = Annotated[str, Field(json_schema_extra={"enum": list(REST_STATUSES)})]
ExecutorRef = Annotated[str | None, Field(max_length=MAX_EXECUTOR_REF)]


MIN_SECRET: Final = 16
MAX_SECRET: Final = 256
_EventName = Annotated[str, Field(json_schema_extra={"enum": [*EVENT_NAMES, "*"]})]

# Cached, because callers have few receivers and many runs.
_canonical_url: Final = lru_cache(maxsize=1024)(canonical_url)


def _canonical(url: str, info: ValidationInfo) -> str:
    try:
        return _canonical_url(url, allow_insecure=info.context["allow_insecure"] if info.context else False)
    except InvalidTarget as error:
        # Errors never contain the URL, since its path may be secret.
        raise wrong(error.code, error.message) from None


def _known_events(events: object) -> object:
    problem = event_name_problem(events)
    if problem is not None:
        raise wrong("invalid_events", problem)
    return events


class WebhookConfiguration(RequestModel):
    """The receiver of a run's events. Can only be set at dispatch."""

    url: Annotated[str, AfterValidator(_canonical)] = Field(
        description="HTTPS endpoint that receives POST deliveries.", json_schema_extra={"maxLength": MAX_URL_LENGTH}
    )
    """Canonical."""
    secret: Annotated[str, Field(min_length=MIN_SECRET, max_length=MAX_SECRET), STORABLE] = Field(
        repr=False, description="Secret to sign deliveries; never returned."
    )
    events: Annotated[list[_EventName], Field(min_length=1), BeforeValidator(_known_events)] = Field(
        description='Event names, or `["*"]` for all of them.'
    )


class DispatchRequest(RequestModel):
    """A run to dispatch."""

    refused: ClassVar = "The dispatch is not valid."

    template_id: TemplateId = Field(description="The template.")
    webhook: WebhookConfiguration | None = Field(default=None, description="Receiver of events, if any.")
    expires_in_hours: Annotated[float, Field(gt=0, le=MAX_EXPIRY_HOURS), AS_NUMBER] | None = Field(
        default=None, description="Hours until the link expires, may be fractional; never if absent."
    )
    executor_ref: Annotated[str, Field(max_length=MAX_EXECUTOR_REF), STORABLE] | None = Field(
        default=None, description="Your reference, returned in reads and events."
    )


class CancellationRequest(BaseModel):
    """Has no fields; the reason is always `cancelled_by_owner`."""


class Dispatched(Shape):
    run_id: RunId
    link: str = Field(description="Link for the executor. Anyone who has it can answer.")
    expires_at: Moment | None = Field(description="Expiry of the link; null if it never expires.")
    assigned_to: None = Field(description="Always null.")


class ExecutorLink(Shape):
    """The link of an open run."""

    link: str = Field(description="The URL to send to the executor. Anyone with it can answer the run.")
    expires_at: Moment | None = Field(description="Expiry of the link; null without one.")


class Geo(Shape):
    """A location, WGS 84."""

    lat: float = Field(ge=-90, le=90, description="Degrees north.")
    lng: float = Field(ge=-180, le=180, description="Degrees east.")
    accuracy_m: float | None = Field(default=None, ge=0, description="Radius in metres, if known.")


class Photo(Shape):
    """A photo of an answer. Its metadata is removed from the file; time and location are fields."""

    photo_index: Count = Field(description="Starts at 0. Never reused: if a photo is removed, the others keep theirs.")
    url: str = Field(description="Signed URL of the image, valid for an hour; renewed at each read.")
    thumbnail_url: str = Field(description="Signed URL of a JPEG of at most 320 px.")
    content_type: str = Field(description="image/jpeg, image/png or image/webp.")
    bytes: Count = Field(description="Size of the image.")
    sha256: str = Field(description="SHA-256 of the image, in hex.")
    width: Count = Field(description="Width in pixels.")
    height: Count = Field(description="Height in pixels.")
    captured_at: Moment | None = Field(description="When it was taken; null if unknown.")
    captured_at_zone: Literal["stated", "assumed"] | None = Field(
        description="`assumed`: the file has no time zone, so UTC was assumed."
    )
    distance_m: Count | None = Field(
        description="Distance in metres between the photo's location and the answer's `geo`; null if unknown."
    )


RECEIVED_AT: Final = (
    "When it arrived: later than `at` if it was given without network. A delay of at most a second is not stored."
)


class AnswerParts(Shape):
    value: JsonValue = Field(
        description="boolean: true or false. number, rating: a number. choice: an option id. multi_choice: a list of "
        "option ids. text, scan: text. date `2026-11-21`, time `13:50`, datetime RFC 3339 in UTC. "
        "signature: `{url, name, signed_at}`. photo: null (the answer is in `photos`)."
    )
    photos: list[Photo] = Field(description="May be empty.")
    geo: Geo | None = Field(description="Location of the answer.")
    at: Moment = Field(description="When the answer was given.")
    by: UserId | None = Field(description="The answering member; null for others.")


class Answer(AnswerParts):
    """The answer to a step. The type of `value` depends on the step's type."""

    received_at: Moment = Field(description=RECEIVED_AT)

    @classmethod
    def of(cls, answer: run_types.Answer, photo_url: PhotoUrl) -> Self:
        view = answer_view(answer, photo_url)
        geo = None if view["geo"] is None else Geo(**view["geo"])
        return cls(**{**view, "photos": [Photo(**photo) for photo in view["photos"]], "geo": geo})


class AnonymousIdentity(Shape):
    mode: Literal["anonymous"]


class ExternalIdentity(Shape):
    mode: Literal["external"]
    name: str | None = Field(description="null until the executor enters it.")
    email: str | None = Field(description="null until the executor enters it.")


class MemberIdentity(Shape):
    mode: Literal["member"]
    user_id: UserId | None = Field(description="null until a member opens the run.")


Identity = Annotated[AnonymousIdentity | ExternalIdentity | MemberIdentity, Field(discriminator="mode")]


def identity_of(run: run_types.Run) -> AnonymousIdentity | ExternalIdentity | MemberIdentity:
    view = identity_view(run)
    match view["mode"]:
        case "external":
            return ExternalIdentity(**view)
        case "member":
            return MemberIdentity(**view)
        case _:
            return AnonymousIdentity(**view)


class RunProgress(Shape):
    """Counts of steps that apply and can be answered."""

    total: Count
    answered: Count
    skipped: Count

    @classmethod
    def of(cls, progress: run_types.Progress) -> Self:
        return cls(total=progress.total, answered=progress.answered, skipped=progress.skipped)


class Receipt(Shape):
    """Summary of what was stored of a completed run."""

    run_id: RunId
    completed_at: Moment
    answers: Count = Field(description="Number of answers.")
    photos: Count = Field(description="Number of photos.")
    digest: str = Field(
        pattern=r"^sha-256=[A-Za-z0-9_-]{43}$",
        description="`sha-256=` and the base64url digest of the run's answers, photos and signature as a canonical "
        "JSON document (RFC 8785). docs/rest.md describes how to compute it.",
    )

    @classmethod
    def of(cls, run: run_types.Run) -> Self | None:
        view = receipt_view(run)
        return None if view is None else cls(**view)


class Signature(Shape):
    """The signature on completion."""

    url: str | None = Field(description="URL of the drawn signature, if any.")
    name: str = Field(description="Typed name.")
    signed_at: Moment

    @classmethod
    def of(cls, run: run_types.Run, photo_url: PhotoUrl) -> Self | None:
        view = signature_view(run, photo_url)
        return None if view is None else cls(**view)


class RunSummary(Shape):
    """A run in a list, without its answers."""

    run_id: RunId
    status: RunStatusName
    template_id: TemplateId
    template_v: Version = Field(description="Version captured at dispatch.")
    template_name: str = Field(description="The template's name at dispatch.")
    executor_ref: ExecutorRef = Field(description="The caller's reference.")
    created_at: Moment
    started_at: Moment | None = Field(description="First answer or skip.")
    completed_at: Moment | None = Field(description="Set when the run is completed.")
    cancelled_at: Moment | None = Field(description="Set when the run is cancelled.")
    expires_at: Moment | None = Field(description="null if it never expires.")
    assigned_to: UserId | None = Field(description="The executing member; null for others.")
    executor_identity: Identity
    progress: RunProgress


class Run(RunSummary):
    """A run with its answers."""

    cancel_reason: str | None = Field(description="`cancelled_by_owner`, or the executor's text.")
    answers: dict[str, Answer] = Field(description="By step id.")
    skipped_steps: list[StepId]
    signature: Signature | None
    receipt: Receipt | None = Field(description="null until the run is completed.")

    @classmethod
    def of(cls, run: run_types.Run, now: datetime, photo_url: PhotoUrl) -> Self:
        """Render an admitted run."""
        status, resolved = run.status, run.admitted_as
        return cls(
            run_id=run.id,
            status=run.phase_at(now).rest,
            template_id=resolved.template_id,
            template_v=resolved.template_version,
            template_name=resolved.template_name,
            executor_ref=run.spec.executor_ref,
            created_at=format_timestamp(run.created_at),
            started_at=format_optional(status.started_at),
            completed_at=format_optional(status.completed_at),
            cancelled_at=format_optional(status.cancelled_at),
            cancel_reason=status.cancel_reason,
            expires_at=format_optional(run.expires_at),
            assigned_to=status.assigned_to,
            executor_identity=identity_of(run),
            progress=RunProgress.of(run.progress),
            answers={step_id: Answer.of(answer, photo_url) for step_id, answer in status.answers.items()},
            skipped_steps=list(status.skipped_steps),
            signature=Signature.of(run, photo_url),
            receipt=Receipt.of(run),
        )


class ArchiveInList(Shape):
    """Present if archived runs may be missing from the list."""

    complete: bool = Field(description="Always false.")
    reason: Annotated[str, Field(json_schema_extra={"enum": [reason.value for reason in Incomplete]})] = Field(
        description="`loading` (after a start), `unavailable` (the object store), or `damaged` (a part of the archive)."
    )
    message: str


class RunList(Shape):
    data: list[RunSummary]
    pagination: Pagination
    archive: Absentable[ArchiveInList] = optional("Present if archived runs may be missing.")


class RunPreview(Shape):
    """The public data of a run."""

    run_id: RunId
    status: RunStatusName
    template_name: str
    step_count: Count = Field(description="Number of steps.")
    created_by_name: str
    expires_at: Moment | None

    @classmethod
    def of(cls, run: run_types.Run, organization: Organization, now: datetime) -> Self:
        """Render the six public fields, which anyone who knows the id may read."""
        resolved = run.admitted_as
        return cls(
            run_id=run.id,
            status=run.phase_at(now).rest,
            template_name=resolved.template_name,
            step_count=resolved.step_count,
            created_by_name=run.spec.created_by_name or organization.display_name,
            expires_at=format_optional(run.expires_at),
        )


class Usage(QuotaDetails):
    """The quota of the current month."""

    period: str = Field(description="The UTC calendar month, `2026-11`.", pattern=r"^\d{4}-\d{2}$")
    plan: str = Field(description="Name of the plan.")
