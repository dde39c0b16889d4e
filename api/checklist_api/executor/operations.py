"""OpenAPI operations of the executor API."""

from typing import Final

from checklist_crds.errors import (
    AnswerInvalid,
    IdempotencyKeyReused,
    InvalidParameter,
    NotFound,
    RequiredStepsMissing,
    RunClosed,
    RunExpired,
    RunNotFound,
    ServiceError,
    ValidationFailed,
)

from ..http.examples import examples
from ..http.json_body import MAX_BODY_BYTES, missing_fields
from ..http.op_id import MAX_OP_ID
from ..http.operations import Access, Body, Operation, Reply, header, problem, query, tagged
from ..runs.waiting import LONGEST_WAIT_S
from . import models
from .access import BASE
from .member import ANSWERING_MEMBER
from .models import MAX_BATCH

TAG: Final = "Executor"
OP_ID_SCHEMA: Final = {"type": "string", "minLength": 1, "maxLength": MAX_OP_ID}
OP_ID_PARAMETERS: Final = (
    query("op_id", OP_ID_SCHEMA, "The op_id, for requests without a body.", examples.OP_ID),
    header("Op-Id", OP_ID_SCHEMA, "The op_id, for requests without a body.", examples.OP_ID)
    | {"x-go-name": "OpIdHeader"},  # otherwise Go generators name both parameters OpId
    header(
        ANSWERING_MEMBER,
        {"type": "string"},
        "For queued operations in a run for members: the member who made the change. The session of another member is "
        "refused (403 `assigned_to_another`).",
        examples.USER_ID,
    ),
)
GIVEN_AT_PARAMETER: Final = query(
    "given_at",
    {"type": "string", "format": "date-time"},
    "When the person acted, as in an answer.",
    "2026-11-21T07:03:20.000Z",
)
_REUSED: Final = IdempotencyKeyReused("This op_id was used for another operation of this run.")
WRITE_ERRORS: Final[tuple[ServiceError, ...]] = (
    InvalidParameter(
        details=[problem("op_id", "out_of_range", f"Must have 1 to {MAX_OP_ID} characters, not {MAX_OP_ID + 1}.")]
    ),
    RunNotFound(),
    RunClosed("The run is completed; it takes no more changes."),
    RunExpired(),
    ValidationFailed(details=[problem("op_id", "wrong_type", "Must be a string, not a number.")]),
    _REUSED,
)
NO_STEP: Final = NotFound("There is no such step to answer in this run.")
_RUNS: Final = {"started": examples.EXECUTOR_RUN, "for members": examples.EXECUTOR_MEMBER_RUN}
IDENTITY_FIRST: Final = ValidationFailed(
    "This checklist asks who you are first.",
    details=[problem("identity", "identity_required", "Name and e-mail address are needed before answering.")],
)


def changed(description: str, example: dict[str, object]) -> tuple[Reply, ...]:
    return (Reply(200, description, models.RunChange, {"changed": example, "replayed": example | {"replayed": True}}),)


def _without(errors: tuple[ServiceError, ...], kind: type[ServiceError]) -> tuple[ServiceError, ...]:
    return tuple(error for error in errors if not isinstance(error, kind))


ONLY_OP_ID: Final = Body(models.Operation, {"with an op_id": examples.OPERATION_REQUEST}, required=False)
EXECUTOR_OPERATIONS: Final = tagged(
    TAG,
    Access.TOKEN,
    Operation(
        f"get {BASE}",
        "getExecutorRun",
        "The checklist and its state",
        Reply(200, "The run.", models.ExecutorRun, _RUNS),
        "The snapshot of the checklist with all answers. Does not change the run.",
        errors=(RunNotFound(), RunExpired()),
    ),
    Operation(
        f"get {BASE}/changes",
        "waitForExecutorRun",
        "Wait for a change of the run",
        Reply(200, "The number of changes.", models.RunChangeCount, {"changed": examples.CHANGE_COUNT}),
        "Answers at once if the run has more than `after` changes, else when it is changed or after `wait` seconds. It "
        "takes no part in the run and reads nothing from the cluster while it waits. For pages that show changes of "
        "other devices.",
        parameters=(
            query("after", {"type": "integer", "minimum": 0}, "`changes` of the state that the client has.", 1),
            query("wait", {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT_S}, "Seconds; 0 if absent.", 50),
        ),
        errors=(
            InvalidParameter(
                details=[problem("wait", "out_of_range", f"Must be a whole number from 0 to {LONGEST_WAIT_S}.")]
            ),
            RunNotFound(),
        ),
    ),
    Operation(
        f"post {BASE}/open",
        "openExecutorRun",
        "Record that the link was opened",
        changed("The run.", examples.CHANGE),
        "Does not change the status. A run for members is assigned to the member who opens it first.",
        parameters=OP_ID_PARAMETERS,
        body=ONLY_OP_ID,
        errors=tuple(error for error in WRITE_ERRORS if not isinstance(error, RunClosed) and error is not _REUSED),
    ),
    Operation(
        f"put {BASE}/identity",
        "putExecutorIdentity",
        "Set the executor's identity",
        changed("Stored.", examples.CHANGE),
        "Required before the first answer when `execution.identity_required` is external.",
        parameters=OP_ID_PARAMETERS,
        body=Body(models.IdentityRequest, {"external executor": examples.IDENTITY_REQUEST}),
        errors=(
            missing_fields(["email"]),
            *_without(WRITE_ERRORS, ValidationFailed),
            ValidationFailed(
                details=[problem("email", "invalid_format", "Must be an e-mail address like name@example.com.")]
            ),
        ),
    ),
    Operation(
        f"put {BASE}/answers/{{step_id}}",
        "putAnswer",
        "Answer a step",
        Reply(
            200,
            "Stored. `replayed` is true if this op_id was applied before.",
            models.AnswerChange,
            {"answered": examples.ANSWERED, "replayed": examples.ANSWERED | {"replayed": True}},
        ),
        "The first answer starts the run. A further answer replaces the previous one and is a new event with the next "
        "revision; with several devices, the last write per step wins. Steps whose condition is not met take no "
        "answer. An answer outside what the step expects is accepted and has `flagged: true`.",
        parameters=OP_ID_PARAMETERS,
        body=Body(
            models.AnswerRequest,
            {
                "number with a location": examples.ANSWER_REQUEST,
                "yes": {"value": True},
                "with a note": {"value": False, "note": "The door was open."},
            },
        ),
        errors=(
            missing_fields(["value"]),
            *_without(WRITE_ERRORS, ValidationFailed),
            NO_STEP,
            AnswerInvalid(
                "The answer must be at least -30.",
                details=[problem("value", "out_of_range", "The answer must be at least -30.")],
            ),
            IDENTITY_FIRST,
        ),
    ),
    Operation(
        f"delete {BASE}/answers/{{step_id}}",
        "deleteAnswer",
        "Remove an answer or a skip",
        changed("Removed, or there was none.", examples.CHANGE),
        "Creates no event.",
        parameters=OP_ID_PARAMETERS,
        body=ONLY_OP_ID,
        errors=(*WRITE_ERRORS, NO_STEP),
    ),
    Operation(
        f"post {BASE}/steps/{{step_id}}/skip",
        "skipStep",
        "Skip a step",
        changed("Skipped, or skipped before.", examples.SKIPPED),
        "Only for optional steps, and if `settings.allow_skip` is true.",
        parameters=OP_ID_PARAMETERS,
        body=Body(models.TimedOperation, {"with its time": examples.SKIP_REQUEST}, required=False),
        errors=(
            *WRITE_ERRORS,
            NO_STEP,
            AnswerInvalid(
                "A required step cannot be skipped.",
                details=[problem("s-fridge-ok", "skip_not_allowed", "A required step cannot be skipped.")],
            ),
            IDENTITY_FIRST,
        ),
    ),
    Operation(
        f"post {BASE}/submit",
        "submitRun",
        "Submit the checklist",
        changed("The run is completed.", examples.SUBMITTED),
        "All required steps that apply need an answer, and flagged answers what `config.on_flag` asks for. The first "
        "submit wins. Answers to steps that do not apply are "
        "removed.",
        parameters=OP_ID_PARAMETERS,
        body=Body(
            models.SubmitRequest,
            {"plain": {"op_id": examples.OP_ID}, "signed": examples.SUBMIT_REQUEST},
            required=False,
        ),
        errors=(
            *WRITE_ERRORS,
            RequiredStepsMissing(
                details=[
                    problem("s-fridge-temp", "required", "'What does the thermometer say?' needs an answer."),
                    problem(
                        "s-door-tight",
                        "note_required",
                        "The answer to 'Is the door tight?' is outside what is expected; it needs a note.",
                    ),
                ]
            ),
            IDENTITY_FIRST,
        ),
    ),
    Operation(
        f"post {BASE}/cancel",
        "cancelExecutorRun",
        "Cancel the checklist",
        changed("The run is cancelled.", examples.CANCELLED),
        "Final. The owner receives the answers given so far.",
        parameters=OP_ID_PARAMETERS,
        body=Body(models.CancelRequest, {"with a reason": examples.CANCEL_REQUEST}, required=False),
        errors=WRITE_ERRORS,
    ),
    Operation(
        f"post {BASE}/operations",
        "applyOperations",
        "Apply several operations in order",
        Reply(
            200,
            "Each operation was applied or refused; see its result.",
            models.BatchResult,
            {"one done, one refused": examples.BATCH_RESULT},
        ),
        f"For queues of offline clients: at most {MAX_BATCH} operations and {MAX_BODY_BYTES // 1024} KiB. They are "
        "decided in order like separate requests, create the same events, and are written together. A refused one does "
        "not affect those after it. One that cannot be applied now (503) does: all after it have the same result, to "
        "preserve the order. The batch can be repeated safely. It counts as one request of its address, and as one of "
        "the run per operation.",
        parameters=OP_ID_PARAMETERS[2:],
        body=Body(models.BatchRequest, {"an answer and a skip": examples.BATCH_REQUEST}),
        errors=(
            missing_fields(["operations"]),
            RunNotFound(),
            RunExpired(),
            ValidationFailed(details=[problem("operations[3].op_id", "missing", "This field is required.")]),
        ),
    ),
)
