"""The shapes of the executor API: what the person with the link reads and sends (contract section 6)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from checklist_crds.json_types import Absentable, is_absent
from checklist_crds.template_types import Definition

from ..http.models import Moment, Problem, RunId, Shape, StepId, TemplateId, UserId, Version, without_details_default
from ..http.op_id import MAX_OP_ID
from ..runs.models import Answer, Geo, Identity, Photo, Receipt, RunProgress, RunStatusName, Signature
from .commands import MAX_BATCH, MAX_EMAIL, MAX_NAME, MAX_PHOTO_INDEX, MAX_REASON


class SignedInAs(Shape):
    """The member who looks at a run for members."""

    user_id: UserId
    name: str
    email: str


class ExecutorRun(Shape):
    """A run as its executor sees it: the verbatim snapshot of the checklist and everything answered so far."""

    run_id: RunId
    status: RunStatusName
    template_id: TemplateId
    template_v: Version = Field(description="Version captured at dispatch.")
    template: Definition = Field(description="The checklist, as it was at dispatch.")
    created_by_name: str = Field(description="Who sends it.")
    created_at: Moment
    started_at: Moment | None = Field(description="First answer or skip.")
    completed_at: Moment | None
    cancelled_at: Moment | None
    cancel_reason: str | None
    expires_at: Moment | None = Field(description="From this instant on nothing more is taken; null: never.")
    assigned_to: UserId | None
    executor_identity: Identity
    signed_in_as: SignedInAs | None = Field(
        description="Whose session the request has, in a run for members; null in all others, whoever is signed in."
    )
    answers: dict[str, Answer] = Field(
        description="By step id; also of steps that do not apply now, until the run is completed."
    )
    signature: Signature | None
    signature_drawing: str | None = Field(description="Signed address of a drawn signature that waits for submit.")
    receipt: Receipt | None
    progress: RunProgress
    applicable_steps: list[StepId] = Field(description="Steps whose condition holds now, in order.")
    skipped_steps: list[StepId]
    missing_steps: list[StepId] = Field(description="Steps without which the run cannot be submitted, in order.")


class RunState(Shape):
    """The run without its answers."""

    run_id: RunId
    status: RunStatusName
    progress: RunProgress
    applicable_steps: list[StepId] = Field(description="Steps whose condition holds now, in order.")
    skipped_steps: list[StepId]
    signature_drawing: str | None = Field(description="Signed address of a drawn signature that waits for submit.")
    receipt: Receipt | None


class RunChange(RunState):
    """What became of the run."""

    replayed: bool = Field(description="Whether this op_id was applied before; then nothing was changed.")


class AnswerChange(RunChange):
    """What became of the run, and the answer as it is kept now."""

    answer: Answer | None = Field(description="null when a later operation took it away.")


class PhotoChange(AnswerChange):
    """What became of the run, the answer as it is kept now, and the photo of this upload."""

    photo: Photo | None = Field(description="null when a later operation took it away.")


class OperationDone(Shape):
    """An operation of a batch that is kept."""

    op_id: str
    status: Literal[200]
    replayed: bool = Field(description="Whether this op_id was applied before; then nothing was changed.")
    answer: Answer | None = Field(
        description="Of an answer, as it is kept after the batch; null when a later operation took it away, and of all "
        "other types."
    )


class OperationRefused(Shape):
    """An operation of a batch that changed nothing: status and error as the single request would have had."""

    model_config = ConfigDict(json_schema_extra=without_details_default)

    op_id: str
    status: int = Field(ge=400, le=599, description="503: neither this one nor those after it; send them again later.")
    error: str = Field(description="Machine-readable code.")
    message: str = Field(description="Human-readable text.")
    details: Absentable[list[Problem]] = Field(default=None, exclude_if=is_absent, description="All problems at once.")


class BatchResult(RunState):
    """What became of the run, and of each operation."""

    results: list[OperationDone | OperationRefused] = Field(description="One for each operation, in the same order.")


class Operation(BaseModel):
    """A change that can be sent again without harm."""

    op_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_OP_ID,
        description="Made by the client, a new one for each wish. Sent again, it answers 200 and changes nothing; with "
        "another request it is refused (422 `idempotency_key_reused`). Without it each request is a new operation. "
        "May also be given as the query parameter `op_id` or the header `Op-Id`.",
    )


class AnswerRequest(Operation):
    value: JsonValue = Field(description="The answer; its shape depends on the step's type, see Answer.")
    geo: Geo | None = Field(
        default=None, description="Where it is answered; null when denied, which a step with `geo_required` refuses."
    )


class IdentityRequest(Operation):
    """Who answers: asked for when `execution.identity_required` is external."""

    name: str = Field(min_length=1, max_length=MAX_NAME, description="The person's name.")
    email: str = Field(max_length=MAX_EMAIL, description="The person's e-mail address.", examples=["ada@example.com"])


class SignatureRequest(BaseModel):
    name: str = Field(min_length=1, max_length=MAX_NAME, description="The typed name of who signs.")


class SubmitRequest(Operation):
    signature: SignatureRequest | None = Field(
        default=None, description="Needed when `settings.signature_on_complete` is true."
    )


class RemovePhotosRequest(Operation):
    photo_index: int | None = Field(
        default=None,
        ge=0,
        le=MAX_PHOTO_INDEX,
        description="Which one; absent: all of them. May also be given as the query parameter `photo_index`.",
    )


class CancelRequest(Operation):
    reason: str | None = Field(default=None, max_length=MAX_REASON, description="Why, in the person's own words.")


BatchOpId = Annotated[
    str, Field(min_length=1, max_length=MAX_OP_ID, description="Made by the client, a new one for each wish. Required.")
]


class BatchedAnswer(AnswerRequest):
    op_id: BatchOpId
    type: Literal["answer"]
    step_id: StepId


class BatchedClear(BaseModel):
    """Takes an answer or a skip back."""

    op_id: BatchOpId
    type: Literal["clear"]
    step_id: StepId


class BatchedSkip(BaseModel):
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
    operations: list[BatchedOperation] = Field(
        min_length=1, max_length=MAX_BATCH, description="In the order in which they are to be done."
    )
