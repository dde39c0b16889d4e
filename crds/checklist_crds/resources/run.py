"""Run and TemplateRevision: a dispatched checklist in the cluster (architecture sections 2 and 3).

The spec of a run is immutable. Its status is written by conditional patches with the content that
`runs.lifecycle.decide` computes. A run created by the API has `spec.resolved`; for one made with kubectl, the operator
writes `status.resolved` when it admits the run. The name of the object is free; readers use `Run.id`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import Field, JsonValue

from ..ids import ID_PATTERNS, is_id
from ..step_types.photo_bounds import MAX_PHOTOS_PER_STEP
from ..times import Timestamp, later, parse_timestamp
from ..values.json_text import from_json
from .base import OBJECT_NAME_PATTERN, ConditionsField, KubeModel, OrganizationRef, StatusCondition, to_json_text
from .delivery_records import DeliveryRecord, merge, parse_records, waiting_events
from .event_names import EventName
from .template_definition import Definition
from .webhook_url import MAX_URL_LENGTH

MAX_EXPIRY_HOURS: Final = 8760
MAX_EXECUTOR_REF: Final = 200

MAX_ANSWERS_BYTES = 512 * 1024
MAX_OUTBOX_ENTRIES = 1000
MAX_OUTBOX_BYTES = 384 * 1024
MAX_OPERATIONS = 600
MAX_DELIVERY_RECORDS = 600
MAX_RECORDS_TEXT = 256 * (MAX_DELIVERY_RECORDS + MAX_OUTBOX_ENTRIES)
MAX_NOTE: Final = 2_000
MAX_PHOTOS = 500
MAX_RUN_PHOTO_BYTES = 2 * 1024**3
MAX_PHOTOS_EVER = 1000
_OF_THE_OPERATOR: Final = ("resolved", "deliveries", "expiresAt", "linkSecretUid")
"""Status fields that only the operator writes, without the API."""
STEP_ID_PATTERN = r"^s-[A-Za-z0-9_-]{1,64}$"


class RunPhase(StrEnum):
    """Phase in the cluster; `rest` is the status in the REST API."""

    PENDING = "Pending"
    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"
    EXPIRED = "Expired"

    @property
    def rest(self) -> str:
        return "in_progress" if self is RunPhase.IN_PROGRESS else self.value.lower()

    @property
    def is_final(self) -> bool:
        return self in FINAL_PHASES


FINAL_PHASES: Final = frozenset({RunPhase.COMPLETED, RunPhase.CANCELLED, RunPhase.EXPIRED})
REST_STATUSES = tuple(phase.rest for phase in RunPhase)


class IdentityMode(StrEnum):
    ANONYMOUS = "anonymous"
    EXTERNAL = "external"
    MEMBER = "member"


class SecretRef(KubeModel):
    """A key of a Secret in the run's namespace."""

    name: str = Field(min_length=1, max_length=253, pattern=OBJECT_NAME_PATTERN, description="Name of the Secret.")
    key: str = Field(default="secret", min_length=1, max_length=253, description="Key in its data.")


class Webhook(KubeModel):
    """The endpoint of the run's events. Exactly one of sealedSecret and secretRef is set."""

    url: str = Field(min_length=1, max_length=MAX_URL_LENGTH, description="The endpoint, in canonical form.")
    events: list[Annotated[str, Field(max_length=32)]] = Field(
        min_length=1,
        max_length=5,
        description='Names of events, or exactly ["*"].',
        json_schema_extra={"x-item-max": 32},
    )
    sealed_secret: str | None = Field(
        default=None, max_length=4096, description="The signing secret, sealed by the API for this run."
    )
    secret_ref: SecretRef | None = Field(default=None, description="The signing secret in a Secret, for kubectl.")

    def wants(self, event: EventName) -> bool:
        """Whether the caller subscribed to `event`."""
        return "*" in self.events or event.value in self.events


class ObjectNameRef(KubeModel):
    name: str = Field(
        min_length=1,
        max_length=253,
        pattern=OBJECT_NAME_PATTERN,
        description="metadata.name of the object.",
    )


class ResolvedTemplate(KubeModel):
    """Data of the template at dispatch, so that readers need not read it again."""

    organization: str = Field(max_length=63, description="metadata.name of the Organization.")
    template_id: str = Field(max_length=64, description="Public id of the template.")
    template_version: int = Field(ge=1, description="Version captured at dispatch.")
    template_name: str = Field(max_length=200, description="Name of the template at dispatch.")
    revision_ref: ObjectNameRef = Field(description="The TemplateRevision that holds the snapshot.")
    identity_mode: IdentityMode = Field(description="Who may answer.")
    step_count: int = Field(ge=0, description="Number of steps.")
    applicable_steps: int = Field(ge=0, description="Number of steps that apply before the first answer.")
    bound: bool | None = Field(default=None, description="True: the run's link opens it for this organization only.")
    run_id: str | None = Field(
        default=None,
        max_length=64,
        pattern=ID_PATTERNS["r"],
        description="Public id of the run, r-<uuid>; absent: its name. Only in the status.",
    )


class LinkSecretRef(KubeModel):
    """A Secret in the run's namespace that the operator creates for this run only."""

    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        pattern=OBJECT_NAME_PATTERN,
        description="Name of the Secret; absent: that of the run.",
    )


class RunSpec(KubeModel):
    """A dispatch: immutable. With kubectl, templateRef (or templateId), executorRef, expiry and webhook are enough."""

    organization_ref: OrganizationRef | None = Field(
        default=None, description="The organization; absent: the template's."
    )
    template_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        pattern=OBJECT_NAME_PATTERN,
        description="Public id of the template, or its metadata.name.",
    )
    template_ref: ObjectNameRef | None = Field(default=None, description="The Template, by metadata.name.")
    executor_ref: str | None = Field(
        default=None,
        max_length=MAX_EXECUTOR_REF,
        description="The caller's correlation reference, echoed in reads and events.",
    )
    created_at: Timestamp | None = Field(default=None, description="Dispatch time; absent: creationTimestamp.")
    expires_at: Timestamp | None = Field(default=None, description="When the link expires; absent: never.")
    expires_in_hours: float | None = Field(
        default=None, gt=0, le=MAX_EXPIRY_HOURS, description="Instead of expiresAt: hours after the run was made."
    )
    created_by_name: str | None = Field(default=None, max_length=200, description="Sender, shown in the preview.")
    webhook: Webhook | None = Field(default=None, description="Endpoint for events; absent: none.")
    link_secret_ref: LinkSecretRef | None = Field(
        default=None,
        description="Secret that the operator creates with the run's link (key link) while the run is open; "
        "absent: none.",
    )
    resolved: ResolvedTemplate | None = Field(default=None, description="Written by the API: the run is admitted.")


class Place(KubeModel):
    """A point on earth, WGS 84."""

    lat: float = Field(ge=-90, le=90, description="Latitude, in degrees north of the equator.")
    lng: float = Field(ge=-180, le=180, description="Longitude, in degrees east of Greenwich.")


class PhotoRef(KubeModel):
    """A photo of an answer; its bytes are in the photo store."""

    index: int = Field(default=0, ge=0, description="Its number in the step; never reused.")
    key: str = Field(max_length=512, description="Its key in the photo store.")
    content_type: str = Field(max_length=64, description="Its media type, for example image/jpeg.")
    bytes: int = Field(ge=0, description="Its size in bytes.")
    sha256: str = Field(max_length=64, description="Digest of the stored bytes.")
    width: int = Field(ge=0, description="Its width in pixels.")
    height: int = Field(ge=0, description="Its height in pixels.")
    captured_at: Timestamp | None = Field(default=None, description="When it was taken, if known.")
    captured_at_assumed: bool | None = Field(
        default=None, description="True: the file has no time zone, so UTC is assumed."
    )
    taken_at: Place | None = Field(default=None, description="Where it was taken, if known.")
    operation: str | None = Field(default=None, max_length=8, description="Mark of the op_id that added it.")


class Geo(KubeModel):
    """A location, WGS 84."""

    lat: float = Field(ge=-90, le=90, description="Latitude, in degrees north of the equator.")
    lng: float = Field(ge=-180, le=180, description="Longitude, in degrees east of Greenwich.")
    accuracy_m: float | None = Field(default=None, ge=0, alias="accuracyM", description="Radius in metres.")


class Answer(KubeModel):
    """Answer to one step."""

    encoded: str = Field(alias="value", max_length=131_072, description="The value as JSON text.")
    photos: list[PhotoRef] = Field(
        default_factory=list, max_length=MAX_PHOTOS_PER_STEP, description="The photos of the answer, in order."
    )
    drawing: PhotoRef | None = Field(default=None, description="The drawn signature, of a signature step.")
    geo: Geo | None = Field(default=None, description="Where it was answered.")
    at: Timestamp = Field(description="When it was answered.")
    received_at: Timestamp | None = Field(
        default=None, description="When the answer arrived, if more than a second later."
    )
    by: str | None = Field(default=None, max_length=64, description="Public id of the member who answered, u-<uuid>.")
    revision: int = Field(default=1, ge=1, description="Number of the answer, starting with 1.")
    flagged: bool | None = Field(default=None, description="True: outside what the step expects.")
    note: str | None = Field(default=None, max_length=MAX_NOTE, description="What the person adds in words.")

    @property
    def value(self) -> JsonValue:
        is_changeable = self.encoded[:1] in {"[", "{"}
        return _decoded.__wrapped__(self.encoded) if is_changeable else _decoded(self.encoded)


@lru_cache(maxsize=8192)
def _decoded(encoded: str) -> JsonValue:
    decoded: JsonValue = from_json(encoded)
    return decoded


class Progress(KubeModel):
    """Counts over the steps that apply now and can be answered."""

    total: int = Field(ge=0, description="Steps that apply.")
    answered: int = Field(ge=0, description="Of these, answered.")
    skipped: int = Field(ge=0, description="Of these, skipped.")


class ExecutorIdentity(KubeModel):
    """Identity given by the executor."""

    name: str | None = Field(default=None, max_length=200, description="Name given by an external person.")
    email: str | None = Field(default=None, max_length=254, description="E-mail address (external).")
    user_id: str | None = Field(
        default=None, max_length=64, description="Public id of the member who answers, u-<uuid>."
    )


class Signature(KubeModel):
    """The signature on completion."""

    name: str = Field(min_length=1, max_length=200, description="The typed name.")
    signed_at: Timestamp = Field(description="When it was signed.")
    photo: PhotoRef | None = Field(default=None, description="The drawn signature.")


class OutboxEntry(KubeModel):
    """An event that is not delivered yet, written together with its cause."""

    seq: int = Field(ge=1, description="Number of the event in the run.")
    event: EventName = Field(description="Kind of the event.")
    event_id: str = Field(max_length=64, description="Id of the event, evt-<uuid>, the same on every attempt.")
    ts: Timestamp = Field(description="When it happened.")
    encoded: str | None = Field(
        default=None,
        alias="data",
        max_length=262_144,
        description="Data of a step event as JSON text; absent for events of a final run.",
    )

    @property
    def frozen(self) -> dict[str, Any]:
        decoded: dict[str, Any] = from_json(self.encoded) if self.encoded else {}
        return decoded


class RunStatus(KubeModel):
    """State of the run."""

    phase: RunPhase = Field(
        default=RunPhase.PENDING,
        description="Pending, InProgress, Completed, Cancelled or Expired.",
        json_schema_extra={"x-keep-default": True},
    )
    resolved: ResolvedTemplate | None = Field(default=None, description="Written at admission where the spec lacks it.")
    expires_at: Timestamp | None = Field(
        default=None, description="When the link expires; written at admission where the spec has expiresInHours."
    )
    started_at: Timestamp | None = Field(default=None, description="First answer or skip.")
    completed_at: Timestamp | None = Field(default=None, description="When it was submitted.")
    cancelled_at: Timestamp | None = Field(default=None, description="When it was cancelled.")
    cancel_reason: str | None = Field(default=None, max_length=500, description="Why it was cancelled.")
    assigned_to: str | None = Field(
        default=None, max_length=64, description="Public id of the member who opened it, u-<uuid>."
    )
    identity: ExecutorIdentity | None = Field(default=None, description="Identity of the executor.")
    answers: dict[str, Answer] = Field(
        default_factory=dict, description="Answers by step id.", json_schema_extra={"maxProperties": 500}
    )
    skipped_steps: list[Annotated[str, Field(max_length=66)]] = Field(
        default_factory=list, max_length=500, description="Ids of skipped steps."
    )
    revisions: dict[str, int] = Field(
        default_factory=dict,
        description="Last revision of answers that were cleared, by step id.",
        json_schema_extra={"maxProperties": 500},
    )
    photo_counts: dict[str, int] = Field(
        default_factory=dict,
        description="Number of photos ever added, by step id: the index of the next one.",
        json_schema_extra={"maxProperties": 500},
    )
    drawing_count: int = Field(
        default=0, ge=0, description="Number of drawings ever stored for the signature on completion."
    )
    stored_bytes: int = Field(
        default=0,
        ge=0,
        description="Bytes of all photos and drawings ever stored, including replaced and removed ones.",
    )
    progress: Progress | None = Field(default=None, description="Progress of the run.")
    flagged: int | None = Field(
        default=None, ge=0, description="Number of answers outside what is expected; absent: none."
    )
    drawing: PhotoRef | None = Field(default=None, description="A drawn signature for the run's completion.")
    signature: Signature | None = Field(default=None, description="The signature on completion.")
    last_step_id: str | None = Field(default=None, max_length=66, description="The step touched last.")
    operations: str = Field(
        default="",
        max_length=12 * MAX_OPERATIONS,
        description="Digests of the operations already applied, newest last.",
    )
    seq: int = Field(default=0, ge=0, description="Number of the last event.")
    changes: int = Field(default=0, ge=0, description="Number of changes of the run; each change tests it, like `seq`.")
    outbox: list[OutboxEntry] = Field(
        default_factory=list,
        max_length=MAX_OUTBOX_ENTRIES + 8,
        description="Events in their order. Those without a line in `records` wait for their first attempt; the others "
        "are removed by a later write.",
    )
    structured_records: list[DeliveryRecord] = Field(
        default_factory=list,
        alias="deliveries",
        max_length=2 * MAX_DELIVERY_RECORDS,
        description="Like `records`, in runs written by earlier versions.",
    )
    records: str = Field(
        default="",
        max_length=MAX_RECORDS_TEXT,
        description="Delivery of the events, one line each: seq event phase attempts outcome status duration happened "
        "started event_id.",
    )
    recordings: int = Field(default=0, ge=0, description="Number of writes of `records`; each write tests it.")
    link_secret_uid: str | None = Field(
        default=None, max_length=64, description="metadata.uid of the Secret that holds the link, while it exists."
    )
    settled: bool | None = Field(
        default=None, description="True: final, nothing is left to send, and no Secret holds the link."
    )
    conditions: list[StatusCondition] = ConditionsField()

    @property
    def delivery_records(self) -> tuple[DeliveryRecord, ...]:
        """All events whose first attempt is recorded, by number, in both stored forms."""
        if not self.structured_records:
            return parse_records(self.records)
        return merge(self.structured_records, parse_records(self.records))


class TemplateRevisionSpec(KubeModel):
    """A verbatim snapshot of one version of a template; immutable, shared by all runs of that version."""

    organization_ref: OrganizationRef = Field(description="Its organization.")
    template_id: str = Field(max_length=64, description="Public id of the template.")
    version: int = Field(ge=1, description="Version of the template.")
    definition: Definition = Field(description="The TDL as it was at dispatch.")


@dataclass(frozen=True, slots=True)
class Run:
    """A run as read, the input of `decide`."""

    name: str
    uid: str
    namespace: str
    resource_version: str
    created_at: datetime
    spec: RunSpec
    status: RunStatus
    generation: int = 1
    stored: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The status as read, for the tests of a conditional write."""

    @classmethod
    def parse(cls, body: Mapping[str, Any], *, answers: bool = True) -> "Run":
        """Parses an object from the cluster. Raises pydantic.ValidationError.

        `answers=False` leaves out the answers, most of a run, for callers that neither read nor change them.
        """
        metadata, stored = body["metadata"], body.get("status") or {}
        spec = RunSpec.model_validate(body.get("spec") or {})
        # Recorded events are not sent again, although they stay in the outbox until the next change.
        status = {**stored, "outbox": waiting_events(stored)} if stored.get("outbox") else dict(stored)
        if not answers:
            status.pop("answers", None)
        return cls(
            name=metadata["name"],
            uid=metadata.get("uid", ""),
            namespace=metadata.get("namespace", ""),
            resource_version=metadata.get("resourceVersion", ""),
            created_at=spec.created_at or parse_timestamp(metadata["creationTimestamp"]),
            spec=spec,
            status=RunStatus.model_validate(status),
            generation=metadata.get("generation", 1),
            stored=stored,
        )

    def written(self, after: RunStatus, body: Mapping[str, Any]) -> "Run":
        """Returns the run after this process changed its status to `after`, given the written object.

        Only parses what others may have written. Raises pydantic.ValidationError.
        """
        metadata, stored = body["metadata"], body["status"]
        if (
            metadata.get("generation", 1) != self.generation
            or any(stored.get(name) != self.stored.get(name) for name in _OF_THE_OPERATOR)
            or (stored.get("conditions") or []) != [each.to_kube() for each in after.conditions]
        ):
            return Run.parse(body)
        waiting = {entry["seq"] for entry in waiting_events(stored)}
        status = after.model_copy(
            update={
                "outbox": [entry for entry in after.outbox if entry.seq in waiting],
                "changes": stored["changes"],
                "records": stored.get("records", ""),
                "recordings": stored.get("recordings", 0),
                "settled": stored.get("settled"),
            }
        )
        return replace(self, resource_version=metadata["resourceVersion"], status=status, stored=stored)

    @property
    def public_id(self) -> str | None:
        """The public id; None until the operator admits a run whose name is not an id (see `resources.run_id`)."""
        if is_id("r", self.name):
            return self.name
        given = None if self.status.resolved is None else self.status.resolved.run_id
        return given or (self.name if self.spec.resolved is not None else None)

    @property
    def id(self) -> str:
        """The public id of an admitted run. Raises ValueError for a run without one."""
        public_id = self.public_id
        if public_id is None:
            raise ValueError(f"run {self.name} has no id yet")
        return public_id

    @property
    def resolved(self) -> ResolvedTemplate | None:
        """None until the operator admits a run made with kubectl."""
        return (self.spec.resolved or self.status.resolved) if self.public_id is not None else None

    @property
    def admitted_as(self) -> ResolvedTemplate:
        """Returns `resolved` of an admitted run. Raises ValueError for another one."""
        if self.resolved is None:
            raise ValueError(f"run {self.name} is not admitted")
        return self.resolved

    @property
    def expires_at(self) -> datetime | None:
        written = self.spec.expires_at or self.status.expires_at
        if written is not None:
            return written
        if self.spec.expires_in_hours is not None:
            return later(self.created_at, timedelta(hours=self.spec.expires_in_hours))
        return None

    def phase_at(self, now: datetime) -> RunPhase:
        """Returns the phase at `now`: expiry takes effect at its time, whatever is stored."""
        expires_at = self.expires_at
        if not self.status.phase.is_final and expires_at is not None and now >= expires_at:
            return RunPhase.EXPIRED
        return self.status.phase

    @property
    def progress(self) -> Progress:
        if self.status.progress is not None:
            return self.status.progress
        return Progress(total=self.resolved.applicable_steps if self.resolved else 0, answered=0, skipped=0)

    @property
    def flagged(self) -> int:
        """Number of answers outside what is expected, of steps that apply."""
        return self.status.flagged or 0


def new_answer(
    value: JsonValue,
    *,
    geo: Geo | None,
    at: datetime,
    received_at: datetime | None = None,
    by: str | None,
    revision: int,
    flagged: bool = False,
    note: str | None = None,
) -> Answer:
    """Returns an answer with its value encoded."""
    return Answer(
        encoded=to_json_text(value),
        geo=geo,
        at=at,
        received_at=received_at,
        by=by,
        revision=revision,
        flagged=flagged or None,
        note=note,
    )
