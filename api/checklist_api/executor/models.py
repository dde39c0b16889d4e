"""Requests and responses of the executor API (contract section 6)."""

import unicodedata
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationInfo

from checklist_crds.errors import AnswerInvalid, Problem
from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.run import MAX_NOTE, Run
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.answers import validate_geo
from checklist_crds.templates.conditions import applicable_step_ids, missing_required
from checklist_crds.times import format_optional, format_timestamp
from checklist_crds.values.json_types import Absentable, has_visible_text, json_type_name, optional, text_fault

from ..auth.members import Member
from ..http.models import Count, Moment, RunId, Shape, StepId, TemplateId, UserId, Version, without_details_default
from ..http.models import Problem as ProblemShape
from ..http.op_id import MAX_OP_ID, ambiguity
from ..http.request_model import LocalInstant, RequestModel, several, wrong
from ..runs.models import (
    FLAGGED_COUNT,
    Answer,
    Geo,
    Identity,
    Photo,
    Receipt,
    RunProgress,
    RunStatusName,
    Signature,
    identity_of,
)
from .email import is_email_address

CHANGES: Final = "Number of changes of the run. Wait for the next one with `GET changes`."


class SignedInAs(Shape):
    """The signed-in member, in a run for members."""

    user_id: UserId
    name: str
    email: str

    @classmethod
    def of(cls, member: Member) -> Self:
        return cls(user_id=member.id, name=member.display_name, email=member.email)


class ExecutorRun(Shape):
    """A run for its executor: the snapshot of the checklist and all answers."""

    run_id: RunId
    status: RunStatusName
    changes: Count = Field(description=CHANGES)
    template_id: TemplateId
    template_v: Version = Field(description="Version captured at dispatch.")
    template: Definition = Field(description="Snapshot of the checklist at dispatch.")
    created_by_name: str = Field(description="Name of the sender.")
    created_at: Moment
    started_at: Moment | None = Field(description="First answer or skip.")
    completed_at: Moment | None
    cancelled_at: Moment | None
    cancel_reason: str | None
    expires_at: Moment | None = Field(description="From this time on changes are refused; null: never.")
    assigned_to: UserId | None
    executor_identity: Identity
    signed_in_as: SignedInAs | None = Field(
        description="The signed-in member, in a run for members; null in all other runs."
    )
    answers: dict[str, Answer] = Field(
        description="By step id. Includes answers of steps that do not apply, until the run is completed."
    )
    signature: Signature | None
    signature_drawing: str | None = Field(description="Signed URL of a drawn signature, until submit.")
    receipt: Receipt | None
    progress: RunProgress
    applicable_steps: list[StepId] = Field(description="Steps whose condition is met, in order.")
    skipped_steps: list[StepId]
    flagged: Count = Field(description=FLAGGED_COUNT)
    missing_steps: list[StepId] = Field(
        description="Steps that prevent the submit, in order: required ones without an answer, and those with a "
        "flagged answer that lacks its note or photos."
    )

    @classmethod
    def of(
        cls,
        run: Run,
        definition: Definition,
        created_by_name: str,
        now: datetime,
        photo_url: PhotoUrl,
        *,
        signed_in: Member | None = None,
    ) -> Self:
        """Render a run without data of the owner (executor_ref, organization, webhook), except the sender's name.

        `signed_in`: the member, in a run for members.
        """
        status, resolved, state = run.status, run.admitted_as, RunState.of(run, definition, now, photo_url)
        return cls(
            **vars(state),
            template_id=resolved.template_id,
            template_v=resolved.template_version,
            template=definition,
            created_by_name=created_by_name,
            created_at=format_timestamp(run.created_at),
            started_at=format_optional(status.started_at),
            completed_at=format_optional(status.completed_at),
            cancelled_at=format_optional(status.cancelled_at),
            cancel_reason=status.cancel_reason,
            expires_at=format_optional(run.expires_at),
            assigned_to=status.assigned_to,
            executor_identity=identity_of(run),
            signed_in_as=None if signed_in is None else SignedInAs.of(signed_in),
            answers={step_id: Answer.of(answer, photo_url) for step_id, answer in status.answers.items()},
            signature=Signature.of(run, photo_url),
            flagged=run.flagged,
            missing_steps=[step.id for step in missing_required(definition, status.answers, status.skipped_steps)],
        )


class RunState(Shape):
    """A run without its answers."""

    run_id: RunId
    status: RunStatusName
    changes: Count = Field(description=CHANGES)
    progress: RunProgress
    applicable_steps: list[StepId] = Field(description="Steps whose condition is met, in order.")
    skipped_steps: list[StepId]
    signature_drawing: str | None = Field(description="Signed URL of a drawn signature, until submit.")
    receipt: Receipt | None

    @classmethod
    def of(cls, run: Run, definition: Definition, now: datetime, photo_url: PhotoUrl, **more: Any) -> Self:
        """`more`: fields of a subclass."""
        status = run.status
        applicable = applicable_step_ids(definition, status.answers, status.skipped_steps)
        return cls(
            run_id=run.id,
            status=run.phase_at(now).rest,
            changes=status.changes,
            progress=RunProgress.of(run.progress),
            applicable_steps=[step.id for step in definition.all_steps if step.id in applicable],
            skipped_steps=list(status.skipped_steps),
            signature_drawing=None if status.drawing is None else photo_url(status.drawing),
            receipt=Receipt.of(run),
            **more,
        )


class RunChangeCount(Shape):
    """How often a run was changed."""

    run_id: RunId
    changes: Count = Field(description="More than `after` if the run was changed; then read it.")


class RunChange(RunState):
    """A run after a change."""

    replayed: bool = Field(description="Whether this op_id was applied before; nothing was changed then.")


class AnswerChange(RunChange):
    """A run after a change, with the answer."""

    answer: Answer | None = Field(description="The stored answer; null if a later operation removed it.")


class PhotoChange(AnswerChange):
    """A run after an upload, with the answer and the photo."""

    photo: Photo | None = Field(description="The uploaded photo; null if a later operation removed it.")


def stored_answer(run: Run, step_id: str, photo_url: PhotoUrl) -> Answer | None:
    """Return the stored answer; None if a later operation removed it."""
    answer = run.status.answers.get(step_id)
    return None if answer is None else Answer.of(answer, photo_url)


class OperationDone(Shape):
    """A successful operation of a batch."""

    op_id: str
    status: Literal[200]
    replayed: bool = Field(description="Whether this op_id was applied before; nothing was changed then.")
    answer: Answer | None = Field(
        description="For an answer: the stored answer after the batch, null if a later operation removed it. Null for "
        "other types."
    )


class OperationRefused(Shape):
    """A refused operation of a batch, with the status and error of a separate request."""

    model_config = ConfigDict(json_schema_extra=without_details_default)

    op_id: str
    status: int = Field(ge=400, le=599, description="503: this and all following ones were not applied; retry later.")
    error: str = Field(description="Machine-readable code.")
    message: str = Field(description="Human-readable text.")
    details: Absentable[list[ProblemShape]] = optional("All problems at once.")


class BatchResult(RunState):
    """A run after a batch, with the result of each operation."""

    results: list[OperationDone | OperationRefused] = Field(description="One per operation, in the same order.")


MAX_BATCH: Final = 200
MAX_NAME: Final = 200
MAX_EMAIL: Final = 254
MAX_REASON: Final = 500
MAX_PHOTO_INDEX: Final = 999_999
OpId = Annotated[str, Field(min_length=1, max_length=MAX_OP_ID)]


def _only_one(op_id: object, info: ValidationInfo) -> object:
    if problem := ambiguity(op_id, (info.context or {}).get("op_id")):
        raise wrong(problem.code, problem.message)
    return op_id


def _only_one_index(index: object, info: ValidationInfo) -> object:
    """Reject an ambiguous index, because an ignored one would remove all photos of the step."""
    given = (info.context or {}).get("photo_index")
    if index is None:
        return None
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index <= MAX_PHOTO_INDEX:
        raise wrong("wrong_type", "Must be the index of a photo: a whole number from 0 on.")
    if given is not None and given != index:
        raise wrong("ambiguous", "photo_index differs between body and query.")
    return index


def _location(geo: object) -> object:
    try:
        return validate_geo(geo)
    except AnswerInvalid as error:
        raise several([problem for problem in error.details or () if isinstance(problem, Problem)]) from None


def _trimmed(longest: int) -> BeforeValidator:
    """Strip white space and limit the length."""

    def check(value: object) -> object:
        if value is None:
            return None
        if not isinstance(value, str):
            raise wrong("wrong_type", f"Must be a string, not {json_type_name(value)}.")
        if fault := text_fault(value):
            raise wrong("invalid_text", f"It {fault}.")
        if len(value.strip()) > longest:
            raise wrong("too_long", f"At most {longest} characters, not {len(value.strip())}.")
        return value.strip()

    return BeforeValidator(check)


def _visible_line(name: object) -> object:
    if not isinstance(name, str):
        raise wrong("missing", "The name is required.")
    if not has_visible_text(name):
        raise wrong("blank", "The name must not be blank.")
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise wrong("invalid_text", "The name must not contain control characters.")
    return name


def _address(email: object) -> object:
    if not isinstance(email, str):
        raise wrong("wrong_type", f"Must be a string, not {json_type_name(email)}.")
    if not is_email_address(email):
        raise wrong("invalid_format", "Must be an e-mail address like name@example.com.")
    return email


# BeforeValidators run from last to first.
PersonName = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME), BeforeValidator(_visible_line), _trimmed(MAX_NAME)
]
"""One line with visible text."""


class Operation(RequestModel):
    """An idempotent change."""

    op_id: Annotated[OpId | None, BeforeValidator(_only_one)] = Field(
        default=None,
        description="Unique id of the operation, chosen by the client. A repetition answers 200 and changes nothing; "
        "with another request it is refused (422 `idempotency_key_reused`). Without it each request is a new "
        "operation. May also be sent as the query parameter `op_id` or the header `Op-Id`.",
    )


class TimedOperation(Operation):
    given_at: LocalInstant | None = Field(
        default=None,
        description="When the person acted, by the client, corrected by the difference of its clock to the `Date` of "
        "responses. Limited to the time from dispatch to now, so a wrong clock refuses nothing. Absent: now. Its "
        "offset gives the person's day, from which a date step counts what it expects.",
    )


class AnswerRequest(TimedOperation):
    value: JsonValue = Field(description="The answer; its type depends on the step's type, see Answer.")
    geo: Annotated[Geo | None, BeforeValidator(_location)] = Field(
        default=None, description="Location of the answer; null if denied, which a step with `geo_required` refuses."
    )
    note: Annotated[Annotated[str, Field(max_length=MAX_NOTE)] | None, _trimmed(MAX_NOTE)] = Field(
        default=None,
        description="What the person adds in words. A flagged answer may need one before the run can be submitted "
        "(`config.on_flag`). Replaced together with the answer.",
    )


class IdentityRequest(Operation):
    """The person who answers, for `execution.identity_required` external."""

    name: PersonName = Field(description="The person's name.")
    email: Annotated[str, Field(max_length=MAX_EMAIL), BeforeValidator(_address), _trimmed(MAX_EMAIL)] = Field(
        description="The person's e-mail address.", examples=["ada@example.com"]
    )


class SignatureRequest(RequestModel):
    name: PersonName = Field(description="The signer's typed name.")


class SubmitRequest(Operation):
    signature: SignatureRequest | None = Field(
        default=None, description="Required if `settings.signature_on_complete` is true."
    )


class RemovePhotosRequest(Operation):
    photo_index: Annotated[Annotated[int, Field(ge=0, le=MAX_PHOTO_INDEX)] | None, BeforeValidator(_only_one_index)] = (
        Field(
            default=None,
            description="Index of the photo; all if absent. May also be sent as the query parameter `photo_index`.",
        )
    )


class CancelRequest(Operation):
    reason: Annotated[Annotated[str, Field(max_length=MAX_REASON)] | None, _trimmed(MAX_REASON)] = Field(
        default=None, description="Reason, as free text."
    )


BatchOpId = Annotated[
    str, Field(min_length=1, max_length=MAX_OP_ID, description="Unique id of the operation, chosen by the client.")
]


class BatchedAnswer(AnswerRequest):
    op_id: BatchOpId
    type: Literal["answer"]
    step_id: StepId


class BatchedClear(BaseModel):
    """Removes an answer or a skip."""

    op_id: BatchOpId
    type: Literal["clear"]
    step_id: StepId


class BatchedSkip(TimedOperation):
    op_id: BatchOpId
    type: Literal["skip"]
    step_id: StepId


class BatchedIdentity(IdentityRequest):
    op_id: BatchOpId
    type: Literal["identity"]


class BatchedSubmit(SubmitRequest):
    op_id: BatchOpId
    type: Literal["submit"]


class BatchedCancel(CancelRequest):
    op_id: BatchOpId
    type: Literal["cancel"]


BatchedOperation = Annotated[
    BatchedAnswer | BatchedClear | BatchedSkip | BatchedIdentity | BatchedSubmit | BatchedCancel,
    Field(discriminator="type"),
]


class BatchRequest(BaseModel):
    operations: list[BatchedOperation] = Field(min_length=1, max_length=MAX_BATCH, description="Applied in this order.")
