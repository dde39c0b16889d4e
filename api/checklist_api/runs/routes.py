"""/v1/runs and /v1/usage (specification, "Runs"; contract section 5)."""

from typing import Any

from aiohttp import web

from checklist_crds.audit_types import AuditTarget
from checklist_crds.errors import RunExpired, RunNotFound
from checklist_crds.photo_urls import IN_ANSWERS
from checklist_crds.run_lifecycle import CANCELLED_BY_OWNER, Cancel, decide
from checklist_crds.run_types import Run, RunPhase

from ..auth.gate import Caller
from ..http.pagination import requested_page
from ..http.request_body import read_json_object, read_optional_json_object
from ..http.responses import json_response
from ..idempotency import REPLAYED, requested_key
from ..organizations.usage import current_usage
from ..wiring import Services
from .dispatch_request import DispatchRequest
from .filter import requested_filter
from .view import run_preview, run_view


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    routes, gate = RunRoutes(services), services.gate
    router.add_post("/v1/runs", gate.owner(routes.dispatch))
    router.add_get("/v1/runs", gate.owner(routes.list))
    router.add_get("/v1/runs/{run_id}", gate.owner(routes.get))
    router.add_get("/v1/runs/{run_id}/preview", gate.public(routes.preview))
    router.add_post("/v1/runs/{run_id}/cancel", gate.owner(routes.cancel))
    router.add_get("/v1/usage", gate.owner(routes.usage))


class RunRoutes:
    """One method for each operation."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._photo_url = services.photo_urls.for_(IN_ANSWERS)

    async def dispatch(self, request: web.Request, caller: Caller) -> web.Response:
        services = self._services
        body = await read_json_object(request)
        key = requested_key(request)
        wanted = DispatchRequest.read(body, allow_insecure=services.settings.openness)
        with services.idempotency.claim(key, caller.organization.name, "r", body) as claim:
            dispatched = await services.dispatcher.dispatch(caller, wanted, claim)
        run_id = dispatched.body["metadata"]["name"]
        answer = {
            "run_id": run_id,
            "link": services.settings.run_link(caller.organization.id, run_id),
            "expires_at": dispatched.body["spec"].get("expiresAt"),
            "assigned_to": None,
        }
        location = f"{services.settings.path_prefix}/v1/runs/{run_id}"
        headers = {"Location": location, **(REPLAYED if dispatched.replayed else {})}
        return json_response(answer, status=201, headers=headers)

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page, wanted = requested_page(request), requested_filter(request)
        await self._services.index.wait_for_first_list()
        total, runs = self._services.index.page(
            caller.organization.name,
            caller.organization.namespaces,
            wanted,
            now=self._services.clock(),
            offset=page.offset,
            limit=page.per_page,
        )
        listed = {"data": runs, "pagination": page.view(total)}
        reason = self._services.archived.incomplete(caller.organization)
        if reason is not None:
            listed["archive"] = reason.view()
        return json_response(listed)

    async def get(self, request: web.Request, caller: Caller) -> web.Response:
        run = await self._services.run_access.of_organization(request.match_info["run_id"], caller.organization)
        return json_response(self.view(run, caller))

    def view(self, run: Run, _: Caller) -> dict[str, Any]:
        """The run as `caller` sees it."""
        return run_view(run, self._services.clock(), self._photo_url)

    async def preview(self, request: web.Request) -> web.Response:
        run = await self._services.run_access.of_anybody(request.match_info["run_id"])
        now = self._services.clock()
        if run.phase_at(now) is RunPhase.EXPIRED:
            raise RunExpired()
        organization = await self._services.organizations.get(run.resolved.organization) if run.resolved else None
        if organization is None:
            raise RunNotFound()
        return json_response(run_preview(run, organization, now))

    async def cancel(self, request: web.Request, caller: Caller) -> web.Response:
        await read_optional_json_object(request)
        access = self._services.run_access
        run = await access.of_organization(request.match_info["run_id"], caller.organization)
        command = Cancel(reason=CANCELLED_BY_OWNER)
        # Refused before it is announced, if it has to be.
        decide(run, await access.definition(run), command, self._services.clock())
        name = None if run.resolved is None else run.resolved.template_name
        async with self._services.audit.act(request, caller) as act:
            await act.announce("run.cancelled", AuditTarget(kind="run", id=run.name, name=name))
            change = await access.change(run, command)
        return json_response(self.view(change.run, caller))

    async def usage(self, _: web.Request, caller: Caller) -> web.Response:
        """The count as it is now, from the cluster itself."""
        services = self._services
        found = await current_usage(services.client, services.quota, caller.organization, services.clock)
        return json_response(found.view())
