"""Photos and drawings of a run's executor (contract section 6).

Everything that can be refused is refused before the body is read: token, rate, run, step, room. An upload that was
kept before is answered at once. Then the bytes go to the store, and last the run is told: `decide` has the last word.
"""

from collections.abc import Callable
from typing import Any, Final

from aiohttp import web

from checklist_crds.errors import InvalidParameter, Problem
from checklist_crds.events import photo_view
from checklist_crds.kube.run_store import Change
from checklist_crds.photo_urls import IN_ANSWERS
from checklist_crds.run_commands import AddPhoto, DrawSignature
from checklist_crds.run_lifecycle import Decision, decide
from checklist_crds.run_photos import photo_of_operation
from checklist_crds.run_types import PhotoRef, Run
from checklist_crds.template_types import Definition

from .executor_access import ExecutorGate, given_op_id
from .executor_view import answered_view, change_view
from .responses import json_response
from .services import Services

PHOTOS: Final = "/v1/executor/runs/{run_id}/answers/{step_id}/photos"
SIGNATURE: Final = "/v1/executor/runs/{run_id}/signature"

MakeCommand = Callable[[PhotoRef], AddPhoto | DrawSignature]


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    routes, guarded = PhotoRoutes(services), ExecutorGate(services).guarded
    router.add_post(PHOTOS, guarded(routes.add_photo))
    router.add_put(SIGNATURE, guarded(routes.draw_signature))


class PhotoRoutes:
    """Uploads. (What takes photos back has no body of its own kind, and is among the other writes.)"""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._photo_url = services.photo_urls.for_(IN_ANSWERS)

    async def add_photo(self, request: web.Request) -> web.Response:
        """201 with the photo; 200 when the operation was kept before."""
        step_id, op_id = request.match_info["step_id"], given_op_id(request)
        run, definition, decision = await self._upload(
            request, op_id, lambda photo: AddPhoto(step_id=step_id, photo=photo, op_id=op_id)
        )
        view = answered_view(self._change_view(run, definition, decision), run, step_id, self._photo_url)
        answer = run.status.answers.get(step_id)
        photo = photo_of_operation(answer, op_id) or (_newest(decision, step_id) if not decision.replayed else None)
        geo = answer.geo if answer is not None else None
        view["photo"] = None if photo is None else photo_view(photo, geo, self._photo_url)
        return json_response(view, status=200 if decision.replayed else 201)

    async def draw_signature(self, request: web.Request) -> web.Response:
        """The drawing waits in the run for `submit`."""
        op_id = given_op_id(request)
        run, definition, decision = await self._upload(
            request, op_id, lambda photo: DrawSignature(photo=photo, op_id=op_id)
        )
        return json_response(self._change_view(run, definition, decision))

    async def _upload(
        self, request: web.Request, op_id: str | None, make: MakeCommand
    ) -> tuple[Run, Definition, Decision]:
        """The run after the upload. Raises what `decide` raises, and what the intake raises."""
        services, run_id = self._services, request.match_info["run_id"]
        run = await services.run_access.of_anybody(run_id)
        definition = await services.run_access.definition(run)
        first = decide(run, definition, make(_announced(request)), services.clock())
        if first.replayed:
            return run, definition, first
        photo = await services.photo_intake.take(request, run_id, op_id)
        change: Change = await services.run_access.change_for_anybody(run_id, make(photo))
        return change.run, change.definition, change.decision

    def _change_view(self, run: Run, definition: Definition, decision: Decision) -> dict[str, Any]:
        return change_view(run, definition, self._services.clock(), self._photo_url, replayed=decision.replayed)


def requested_index(request: web.Request) -> int | None:
    """`photo_index` of the query. Raises InvalidParameter."""
    given = request.query.getall("photo_index", [])
    if not given:
        return None
    if len(given) > 1 or not (given[0].isascii() and given[0].isdigit() and len(given[0]) <= 6):
        problem = Problem("photo_index", "wrong_type", "Must be the index of a photo: a whole number from 0 on.")
        raise InvalidParameter(details=[problem])
    return int(given[0])


def _announced(request: web.Request) -> PhotoRef:
    """The photo as far as the head of the request tells of it."""
    size = request.content_length or 1
    return PhotoRef(key="", content_type=request.content_type[:64], bytes=size, sha256="", width=0, height=0)


def _newest(decision: Decision, step_id: str) -> PhotoRef | None:
    """What the operation without an op_id has added."""
    answer = decision.after.answers.get(step_id)
    if answer is None:
        return None
    images = [*answer.photos, *([answer.drawing] if answer.drawing is not None else [])]
    return max(images, key=lambda photo: photo.index, default=None)
