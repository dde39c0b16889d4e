"""Uploads of photos and drawings by a run's executor (contract section 6).

Token, rate, run, step and limits are checked before the body is read, and a repeated upload is answered at once. Then
the image is stored, and last the run is changed, after `decide` has checked it again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from aiohttp import web
from attrs import define

from checklist_crds.errors import InvalidParameter, Problem, ServiceError, ServiceUnavailable
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.kube.run_store import Change
from checklist_crds.limits.organization_limits import Limits
from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.run import PhotoRef, Run
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.commands import AddPhoto, DrawSignature
from checklist_crds.runs.events import photo_view
from checklist_crds.runs.lifecycle import Decision, decide
from checklist_crds.runs.photos import photo_of_operation
from checklist_crds.times import Clock

from ..http.json_body import json_response
from ..metrics import Metrics, UploadResult
from ..organizations.directory import Organization
from ..photos.intake import PhotoIntake
from ..photos.processing import PhotoRefused
from ..photos.unused import UnusedPhotos
from ..photos.upload_body import Upload, upload_of
from ..runs.access import RunAccess
from ..runs.models import Photo
from .access import BASE, ExecutorGate, organization_of, requested_given_at, requested_op_id
from .member import ExecutorMembers
from .models import PhotoChange, RunChange, stored_answer

PHOTOS: Final = f"{BASE}/answers/{{step_id}}/photos"
SIGNATURE: Final = f"{BASE}/signature"

MakeCommand = Callable[[PhotoRef, str | None], AddPhoto | DrawSignature]


@dataclass(frozen=True, slots=True)
class _Uploaded:
    run: Run
    definition: Definition
    decision: Decision
    op_id: str | None
    photo: PhotoRef | None
    """The stored photo; None if the operation is a repetition."""


@define(kw_only=True, eq=False, repr=False, slots=False)
class PhotoRoutes:
    """Upload routes. (Removal is among the other writes.)"""

    _runs: RunAccess
    _members: ExecutorMembers
    _intake: PhotoIntake
    _unused: UnusedPhotos
    _limits: Limits
    _metrics: Metrics
    _photo_url: PhotoUrl
    _clock: Clock

    def add_to(self, router: web.UrlDispatcher, gate: ExecutorGate) -> None:
        router.add_post(PHOTOS, gate.guarded(self.add_photo))
        router.add_put(SIGNATURE, gate.guarded(self.draw_signature))

    async def add_photo(self, request: web.Request) -> web.Response:
        """201 with the photo; 200 for a repetition."""
        step_id, given_at = request.match_info["step_id"], requested_given_at(request)

        def command(photo: PhotoRef, op_id: str | None) -> AddPhoto:
            return AddPhoto(step_id=step_id, photo=photo, op_id=op_id, given_at=given_at)

        made = await self._upload(request, command)
        answer, is_new = made.run.status.answers.get(step_id), not made.decision.repeated
        photo = photo_of_operation(answer, made.op_id) or (_newest(made.decision, step_id) if is_new else None)
        geo = answer.geo if answer is not None else None
        change = PhotoChange.of(
            made.run,
            made.definition,
            self._clock(),
            self._photo_url,
            replayed=made.decision.repeated,
            answer=stored_answer(made.run, step_id, self._photo_url),
            photo=None if photo is None else Photo(**photo_view(photo, geo, self._photo_url)),
        )
        return json_response(change, status=201 if is_new else 200)

    async def draw_signature(self, request: web.Request) -> web.Response:
        """Store the drawing in the run until `submit`."""
        made = await self._upload(request, lambda photo, op_id: DrawSignature(photo=photo, op_id=op_id))
        return json_response(
            RunChange.of(made.run, made.definition, self._clock(), self._photo_url, replayed=made.decision.repeated)
        )

    async def _upload(self, request: web.Request, make: MakeCommand) -> _Uploaded:
        """Store an upload. Raises the errors of `decide` and of reading and storing an image."""
        try:
            made = await self._made(request, make)
        except BaseException as error:
            self._metrics.count_upload(_result_of(error))
            raise
        if made.photo is None or made.decision.repeated:
            self._metrics.count_upload(UploadResult.REPEATED)
        else:
            self._metrics.count_upload(UploadResult.KEPT, made.photo.bytes)
        return made

    async def _made(self, request: web.Request, make: MakeCommand) -> _Uploaded:
        run_id, organization = request.match_info["run_id"], organization_of(request)
        upload = await upload_of(request, requested_op_id(request))
        run = await self._runs.of_organization(run_id, organization)
        who = self._members.who(request)
        asked = replace(
            make(_expected(upload), upload.op_id), by=await who(run), run_bytes=self._bytes_of(organization)
        )
        definition = await self._runs.definition(run)
        first = decide(run, definition, asked, self._clock())
        if first.repeated:
            return _Uploaded(run, definition, first, upload.op_id, None)
        photo = await self._intake.take(upload, organization.id, run_id)
        command = replace(make(photo, upload.op_id), run_bytes=asked.run_bytes)
        try:
            change: Change = await self._runs.change_by_link(run_id, organization, command, who)
        except ServiceError:
            await self._unused.discard_refused(run_id, organization, photo)
            raise
        if change.decision.repeated:
            await self._unused.discard_refused(run_id, organization, photo)
        else:
            await self._unused.discard_replaced(change)
        return _Uploaded(change.run, change.definition, change.decision, upload.op_id, photo)

    def _bytes_of(self, organization: Organization) -> int:
        """Return the limit of bytes ever stored for one run."""
        return self._limits.of(organization.limits).run_bytes


def requested_index(request: web.Request) -> int | None:
    """Parse `photo_index` of the query. Raises InvalidParameter."""
    given = request.query.getall("photo_index", [])
    if not given:
        return None
    if len(given) > 1 or not (given[0].isascii() and given[0].isdigit() and len(given[0]) <= 6):
        problem = Problem("photo_index", "wrong_type", "Must be the index of a photo: a whole number from 0 on.")
        raise InvalidParameter(details=[problem])
    return int(given[0])


def _expected(upload: Upload) -> PhotoRef:
    """Return a photo with what is known before its bytes are read."""
    kind = upload.media_type[:64]
    return PhotoRef(key="", content_type=kind, bytes=upload.at_least, sha256="", width=0, height=0)


def _newest(decision: Decision, step_id: str) -> PhotoRef | None:
    """Return the photo added by an operation without an op_id."""
    answer = decision.after.answers.get(step_id)
    if answer is None:
        return None
    images = [*answer.photos, *([answer.drawing] if answer.drawing is not None else [])]
    return max(images, key=lambda photo: photo.index, default=None)


def _result_of(error: BaseException) -> UploadResult:
    if isinstance(error, PhotoRefused):
        return UploadResult.NO_PHOTO
    if isinstance(error, ServiceUnavailable | KubeUnavailable):
        return UploadResult.UNAVAILABLE
    if isinstance(error, ConnectionError | asyncio.CancelledError):
        return UploadResult.BROKEN_OFF
    return UploadResult.REFUSED if isinstance(error, ServiceError) else UploadResult.FAILED
