"""`POST operations`: applies a queue of operations in one request and one write, with a result for each.

The request is refused as a whole if it is malformed or its sender may not answer the run. An error of one operation is
reported in its result and does not affect the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from checklist_crds.errors import AnswerInvalid, Problem, ServiceError, Unprocessable, ValidationFailed
from checklist_crds.kube.run_store import BatchChange
from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.run import Run
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.batch import Outcome
from checklist_crds.runs.commands import Command
from checklist_crds.runs.lifecycle import require_assignee
from checklist_crds.templates.answers import validate_value
from checklist_crds.times import Clock
from checklist_crds.values.json_types import json_type_name

from ..auth.gate import Gate
from ..http.json_body import json_response, read_json_object, require_members
from ..http.op_id import op_id_problem
from ..runs.access import RunAccess
from . import commands
from .access import BASE, ExecutorGate, organization_of
from .member import ExecutorMembers
from .models import MAX_BATCH, BatchResult, OperationDone, OperationRefused, stored_answer

_OF_STEP: Final[Mapping[str, Callable[[str, dict[str, Any], str | None], Command]]] = {
    "answer": commands.answer_step,
    "clear": commands.clear_answer,
    "skip": commands.skip_step,
}
_OF_RUN: Final[Mapping[str, Callable[[dict[str, Any], str | None], Command]]] = {
    "identity": commands.give_identity,
    "submit": commands.submit,
    "cancel": commands.cancel,
}
BATCHED: Final = (*_OF_STEP, *_OF_RUN)
"""Values of `type`."""


@dataclass(frozen=True, slots=True)
class BatchOperation:
    """An operation of the batch. `command`: the parsed command, or its error."""

    body: dict[str, Any]
    command: Command | ServiceError


def read_operations(body: dict[str, Any]) -> list[BatchOperation]:
    """Parse the batch. Raises MissingField, ValidationFailed if it is malformed as a whole."""
    require_members(body, "operations")
    given = body["operations"]
    if not isinstance(given, list):
        wrong = Problem("operations", "wrong_type", f"Must be an array, not {json_type_name(given)}.")
        raise ValidationFailed(details=[wrong])
    if not 1 <= len(given) <= MAX_BATCH:
        text = f"Must have 1 to {MAX_BATCH} operations, not {len(given)}."
        raise ValidationFailed(details=[Problem("operations", "out_of_range", text)])
    problems = [problem for place, each in enumerate(given) for problem in _problems(f"operations[{place}]", each)]
    if problems:
        raise ValidationFailed(details=problems)
    return [BatchOperation(each, _command(each)) for each in given]


def _problems(path: str, given: object) -> list[Problem]:
    """Validate the op_id, type and step_id of an operation."""
    if not isinstance(given, dict):
        return [Problem(path, "wrong_type", f"Must be an object, not {json_type_name(given)}.")]
    problems, needed = [], ["op_id", "type"]
    if given.get("type") in [*_OF_STEP]:
        needed.append("step_id")
    for name in needed:
        if name not in given:
            problems.append(Problem(f"{path}.{name}", "missing", "This field is required."))
        elif name == "type" and given[name] not in BATCHED:
            problems.append(Problem(f"{path}.type", "unknown_value", f"Must be one of {', '.join(BATCHED)}."))
        elif name == "step_id" and not isinstance(given[name], str):
            text = f"Must be a string, not {json_type_name(given[name])}."
            problems.append(Problem(f"{path}.step_id", "wrong_type", text))
        elif name == "op_id" and (wrong := op_id_problem(given[name])):
            problems.append(Problem(f"{path}.op_id", wrong.code, wrong.message))
    return problems


def _command(body: dict[str, Any]) -> Command | ServiceError:
    try:
        if body["type"] in _OF_STEP:
            return _OF_STEP[body["type"]](body["step_id"], body, None)
        return _OF_RUN[body["type"]](body, None)
    except ServiceError as error:
        return error


class ExecutorBatch:
    """The handler; requires the gate."""

    def __init__(
        self, runs: RunAccess, members: ExecutorMembers, gate: Gate, photo_url: PhotoUrl, clock: Clock
    ) -> None:
        self._runs = runs
        self._members = members
        self._gate = gate
        self._photo_url = photo_url
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher, gate: ExecutorGate) -> None:
        # The handler counts for the run, because the number of operations is in the body.
        router.add_post(f"{BASE}/operations", gate.guarded(self.apply, counted=False))

    async def apply(self, request: web.Request) -> web.StreamResponse:
        run_id = request.match_info["run_id"]
        try:
            operations = read_operations(await read_json_object(request))
        except ServiceError:
            await self._gate.count_run(run_id)
            raise
        # Same count as for separate requests.
        await self._gate.count_run(run_id, len(operations))
        member: str | None = None

        async def who(run: Run) -> str | None:
            nonlocal member
            member = await self._members.who(request)(run)
            return member

        asked = [each.command for each in operations if isinstance(each.command, Command)]
        batch = await self._runs.change_batch_by_link(run_id, organization_of(request), asked, who)
        # In this case all were refused; the response must not disclose the run.
        require_assignee(batch.change.run, member)
        return json_response(self._view(operations, batch))

    def _view(self, operations: Sequence[BatchOperation], batch: BatchChange) -> BatchResult:
        run, definition = batch.change.run, batch.change.definition
        outcomes = iter(batch.outcomes)
        results = [
            self._result(each, next(outcomes) if isinstance(each.command, Command) else each.command, run, definition)
            for each in operations
        ]
        return BatchResult.of(run, definition, self._clock(), self._photo_url, results=results)

    def _result(
        self, operation: BatchOperation, outcome: Outcome, run: Run, definition: Definition
    ) -> OperationDone | OperationRefused:
        body = operation.body
        if isinstance(outcome, ServiceError):
            if isinstance(outcome, Unprocessable) and outcome is operation.command and body["type"] == "answer":
                outcome = with_value_problems(outcome, definition, body["step_id"], body.get("value"))
            return OperationRefused(op_id=body["op_id"], status=outcome.status, **outcome.as_body())
        answer = stored_answer(run, body["step_id"], self._photo_url) if body["type"] == "answer" else None
        return OperationDone(op_id=body["op_id"], status=200, replayed=outcome.repeated, answer=answer)


def with_value_problems(error: Unprocessable, definition: Definition, step_id: str, value: Any) -> Unprocessable:
    """Add the problems of the answer's value, so that all problems are reported at once."""
    step = next((step for _, step in definition.steps() if step.id == step_id), None)
    problems = [problem for problem in error.details or () if isinstance(problem, Problem)]
    try:
        if step is not None:
            validate_value(step, value)
    except AnswerInvalid as more:
        problems += [problem for problem in more.details or () if isinstance(problem, Problem)]
    kind = AnswerInvalid if isinstance(error, AnswerInvalid) else ValidationFailed
    return kind(details=problems)
