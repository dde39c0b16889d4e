"""Routes of runs (specification, "Runs"; contract section 5)."""

from collections.abc import Callable
from functools import partial

from aiohttp import web
from attrs import define

from checklist_crds.errors import RunClosed, RunExpired, RunNotFound
from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.audit_entry import AuditTarget
from checklist_crds.resources.run import Run, RunPhase
from checklist_crds.resources.webhook_url import InsecureTargets
from checklist_crds.runs.commands import Cancel
from checklist_crds.runs.lifecycle import CANCELLED_BY_OWNER, decide
from checklist_crds.templates import answer_schema
from checklist_crds.times import Clock, format_optional

from ..archive.reading import ArchivedRuns
from ..audit.trail import AuditTrail
from ..auth.gate import Caller, Gate
from ..http.json_body import json_response, read_json_object, read_optional_json_object
from ..http.pagination import boolean, integer_up_to, one_of, parameter, requested_moment, requested_page
from ..idempotency import REPEATED, Idempotency, requested_key
from ..index.run_filter import FILTER_STATUSES, RunFilter
from ..index.runs import RunIndex
from ..organizations.directory import OrganizationDirectory
from . import models
from .access import RunAccess
from .dispatch import Dispatcher
from .models import Dispatched, DispatchRequest, ExecutorLink, RunPreview
from .waiting import LONGEST_WAIT_S, RunWaits

RunLink = Callable[[str, str], str]
"""Returns the executor's link from the organization's public id and the run id."""


@define(kw_only=True, eq=False, repr=False, slots=False)
class RunRoutes:
    _dispatcher: Dispatcher
    _runs: RunAccess
    _waits: RunWaits
    _index: RunIndex
    _archived: ArchivedRuns
    _organizations: OrganizationDirectory
    _idempotency: Idempotency
    _audit: AuditTrail
    _photo_url: PhotoUrl
    _clock: Clock
    _run_link: RunLink
    _path_prefix: str
    _insecure_targets: InsecureTargets

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_post("/v1/runs", gate.owner(self.dispatch))
        router.add_get("/v1/runs", gate.owner(self.list))
        router.add_get("/v1/runs/{run_id}", gate.owner(partial(self.get_or_wait, gate)))
        router.add_get("/v1/runs/{run_id}/link", gate.owner(self.link))
        router.add_get("/v1/runs/{run_id}/answer-schema", gate.owner(self.answer_schema))
        router.add_get("/v1/runs/{run_id}/preview", gate.public(self.preview))
        router.add_post("/v1/runs/{run_id}/cancel", gate.owner(self.cancel))

    async def dispatch(self, request: web.Request, caller: Caller) -> web.Response:
        body = await read_json_object(request)
        key = requested_key(request)
        wanted = DispatchRequest.read(body, allow_insecure=self._insecure_targets)
        with self._idempotency.claim(key, caller.organization.name, "r", body) as claim:
            dispatched = await self._dispatcher.dispatch(caller, wanted, claim)
        run_id = dispatched.body["metadata"]["name"]
        answer = Dispatched(
            run_id=run_id,
            link=self._run_link(caller.organization.id, run_id),
            expires_at=dispatched.body["spec"].get("expiresAt"),
            assigned_to=None,
        )
        location = f"{self._path_prefix}/v1/runs/{run_id}"
        headers = {"Location": location, **(REPEATED if dispatched.repeated else {})}
        return json_response(answer, status=201, headers=headers)

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page, wanted = requested_page(request), requested_filter(request)
        await self._index.wait_for_first_list()
        total, runs = self._index.page(
            caller.organization.name,
            caller.organization.namespaces,
            wanted,
            now=self._clock(),
            offset=page.offset,
            limit=page.per_page,
        )
        listed = {"data": runs, "pagination": page.view(total)}
        reason = self._archived.incomplete(caller.organization)
        if reason is not None:
            listed["archive"] = reason.view()
        return json_response(listed)

    async def get(self, request: web.Request, caller: Caller) -> web.Response:
        run = await self._runs.of_organization(request.match_info["run_id"], caller.organization)
        return json_response(self.shown(run, caller))

    async def answer_schema(self, request: web.Request, caller: Caller) -> web.Response:
        """Return the JSON Schema of the run's answers after completion."""
        run = await self._runs.of_organization(request.match_info["run_id"], caller.organization)
        schema = answer_schema.answer_schema(await self._runs.definition(run))
        return json_response(schema, media_type=answer_schema.MEDIA_TYPE)

    async def get_or_wait(self, gate: Gate, request: web.Request, caller: Caller) -> web.Response:
        """Read a run; with `?wait=N` answer when it has ended or after N seconds."""
        seconds = integer_up_to(LONGEST_WAIT_S, request, "wait")
        if seconds is None:
            return await self.get(request, caller)
        run_id, reauthorize = request.match_info["run_id"], partial(gate.reauthorize, caller)
        run = await self._waits.until_ended(request, run_id, caller.organization, seconds, reauthorize)
        return json_response(self.shown(run, caller))

    def shown(self, run: Run, _: Caller) -> models.Run:
        """Render the run for `caller`."""
        return models.Run.of(run, self._clock(), self._photo_url)

    async def link(self, request: web.Request, caller: Caller) -> web.Response:
        """Read the link. Not audited, like the response to a dispatch and the dashboard, which contain it too."""
        run_id = request.match_info["run_id"]
        try:
            run = await self._runs.of_organization(run_id, caller.organization)
        except RunNotFound:
            await self._runs.require_none_awaits_admission(run_id, caller.organization)
            raise
        match run.phase_at(self._clock()):
            case RunPhase.EXPIRED:
                raise RunExpired()
            case RunPhase.COMPLETED | RunPhase.CANCELLED:
                raise RunClosed("The run is completed or cancelled; its link can no longer be used.")
        answer = ExecutorLink(
            link=self._run_link(caller.organization.id, run.id), expires_at=format_optional(run.expires_at)
        )
        return json_response(answer)

    async def preview(self, request: web.Request) -> web.Response:
        run = await self._runs.by_id(request.match_info["run_id"])
        now = self._clock()
        if run.phase_at(now) is RunPhase.EXPIRED:
            raise RunExpired()
        organization = await self._organizations.get(run.resolved.organization) if run.resolved else None
        if organization is None:
            raise RunNotFound()
        return json_response(RunPreview.of(run, organization, now))

    async def cancel(self, request: web.Request, caller: Caller) -> web.Response:
        await read_optional_json_object(request)
        run = await self._runs.of_organization(request.match_info["run_id"], caller.organization)
        command = Cancel(reason=CANCELLED_BY_OWNER)
        # Refused runs are not recorded.
        decide(run, await self._runs.definition(run), command, self._clock())
        name = None if run.resolved is None else run.resolved.template_name
        async with self._audit.act(request, caller) as act:
            await act.announce("run.cancelled", AuditTarget(kind="run", id=run.id, name=name))
            change = await self._runs.change(run, command)
        return json_response(self.shown(change.run, caller))


def requested_filter(request: web.Request) -> RunFilter:
    """Parse the query. Raises InvalidParameter."""
    return RunFilter(
        status=one_of(request, "status", FILTER_STATUSES),
        template_id=parameter(request, "template_id"),
        executor_ref=parameter(request, "executor_ref"),
        flagged=boolean(request, "flagged"),
        created_after=requested_moment(request, "created_after"),
        created_before=requested_moment(request, "created_before"),
        completed_after=requested_moment(request, "completed_after"),
        completed_before=requested_moment(request, "completed_before"),
        expires_after=requested_moment(request, "expires_after"),
        expires_before=requested_moment(request, "expires_before"),
    )
