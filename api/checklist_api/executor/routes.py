"""Routes of the executor API (contract section 6).

All writes follow the same steps: token, body, command, `decide` with a conditional write, response. Run id and token
are the credential (a run for members also needs a session: `member.py`). GET and HEAD change nothing, and open only
assigns a run for members, so link previews of messengers and mail scanners have no effect.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from checklist_crds.errors import RunExpired, Unprocessable
from checklist_crds.kube.run_store import Change
from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.run import Run, RunPhase
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.commands import AnswerStep, Command, DrawSignature, Open, RemovePhotos
from checklist_crds.runs.lifecycle import require_assignee
from checklist_crds.times import Clock

from ..http.json_body import json_response, read_json_object, read_optional_json_object
from ..photos.unused import UnusedPhotos
from ..runs.access import RunAccess
from . import commands
from .access import BASE, ExecutorGate, Handler, organization_of, requested_given_at, requested_op_id
from .batch import with_value_problems
from .member import ExecutorMembers
from .models import AnswerChange, ExecutorRun, RunChange, stored_answer
from .photo_routes import requested_index

Parse = Callable[[web.Request, str | None], Awaitable[Command]]


class ExecutorRoutes:
    """The handlers; they require the gate."""

    def __init__(
        self, runs: RunAccess, members: ExecutorMembers, unused: UnusedPhotos, photo_url: PhotoUrl, clock: Clock
    ) -> None:
        self._runs = runs
        self._members = members
        self._unused = unused
        self._photo_url = photo_url
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher, gate: ExecutorGate) -> None:
        router.add_get(BASE, gate.guarded(self.show))
        for method, path, parse in (
            ("POST", "open", _of_run(commands.open_run)),
            ("PUT", "identity", _of_run(commands.give_identity, needs_body=True)),
            ("PUT", "answers/{step_id}", _of_step(commands.answer_step, needs_body=True)),
            ("DELETE", "answers/{step_id}", _of_step(commands.clear_answer)),
            ("DELETE", "answers/{step_id}/photos", _remove_photos),
            ("POST", "steps/{step_id}/skip", _of_step(commands.skip_step)),
            ("DELETE", "signature", _of_run(commands.remove_drawing)),
            ("POST", "submit", _of_run(commands.submit)),
            ("POST", "cancel", _of_run(commands.cancel)),
        ):
            router.add_route(method, f"{BASE}/{path}", gate.guarded(self.write(parse)))

    async def show(self, request: web.Request) -> web.StreamResponse:
        run = await self._run(request)
        member = await self._members.answering(request, run)
        require_assignee(run, member.id if member is not None else None)
        definition = await self._definition(run)
        now = self._clock()
        if run.phase_at(now) is RunPhase.EXPIRED:
            raise RunExpired()
        sender = run.spec.created_by_name or organization_of(request).display_name
        return json_response(ExecutorRun.of(run, definition, sender, now, self._photo_url, signed_in=member))

    def write(self, parse: Parse) -> Handler:
        """Return a handler that applies the command parsed by `parse`."""

        async def handler(request: web.Request) -> web.StreamResponse:
            try:
                command = await parse(request, requested_op_id(request))
            except Unprocessable as error:
                raise await self._with_value_problems(request, error) from None
            change = await self._runs.change_by_link(
                request.match_info["run_id"], organization_of(request), command, self._members.who(request)
            )
            if isinstance(command, DrawSignature):
                await self._unused.discard_replaced(change)
            return json_response(self._answer_to(command, change))

        return handler

    def _answer_to(self, command: Command, change: Change) -> RunChange:
        run, now, photo_url = change.run, self._clock(), self._photo_url
        definition, repeated = change.definition, change.decision.repeated
        if isinstance(command, Open) and run.phase_at(now) is RunPhase.EXPIRED:
            raise RunExpired()
        if isinstance(command, AnswerStep | RemovePhotos):
            answer = stored_answer(run, command.step_id, photo_url)
            return AnswerChange.of(run, definition, now, photo_url, replayed=repeated, answer=answer)
        return RunChange.of(run, definition, now, photo_url, replayed=repeated)

    async def _run(self, request: web.Request) -> Run:
        return await self._runs.of_organization(request.match_info["run_id"], organization_of(request))

    async def _definition(self, run: Run) -> Definition:
        return await self._runs.definition(run)

    async def _with_value_problems(self, request: web.Request, error: Unprocessable) -> Unprocessable:
        """Add the problems of the answer's value, so that all problems are reported at once."""
        step_id = request.match_info.get("step_id")
        if step_id is None or request.method != "PUT":
            return error
        run = await self._run(request)
        require_assignee(run, await self._members.who(request)(run))
        value = (await read_json_object(request)).get("value")
        return with_value_problems(error, await self._definition(run), step_id, value)


def _of_run(make: Callable[[dict[str, Any], str | None], Command], *, needs_body: bool = False) -> Parse:
    async def parse(request: web.Request, op_id: str | None) -> Command:
        return make(await _body(request, needs_body), op_id)

    return parse


def _of_step(make: Callable[[str, dict[str, Any], str | None], Command], *, needs_body: bool = False) -> Parse:
    async def parse(request: web.Request, op_id: str | None) -> Command:
        return make(request.match_info["step_id"], await _body(request, needs_body), op_id)

    return parse


async def _remove_photos(request: web.Request, op_id: str | None) -> Command:
    body = await read_optional_json_object(request)
    step_id, index = request.match_info["step_id"], requested_index(request)
    return commands.remove_photos(step_id, index, body, op_id, requested_given_at(request))


async def _body(request: web.Request, needed: bool) -> dict[str, Any]:
    return await read_json_object(request) if needed else await read_optional_json_object(request)
