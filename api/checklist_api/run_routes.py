"""/v1/runs and /v1/usage (specification, "Runs"; contract section 5)."""

from datetime import datetime
from typing import Any

from aiohttp import web

from checklist_crds.errors import RunExpired, RunNotFound
from checklist_crds.kube.kinds import ORGANIZATION
from checklist_crds.organization_types import OrganizationSpec
from checklist_crds.photo_urls import IN_ANSWERS
from checklist_crds.quota import Quota, usage
from checklist_crds.run_lifecycle import CANCELLED_BY_OWNER, Cancel
from checklist_crds.run_types import REST_STATUSES, RunPhase
from checklist_crds.sealing import executor_token
from checklist_crds.times import parse_timestamp

from .auth import Caller
from .dispatch_request import DispatchRequest
from .idempotency import REPLAYED, requested_key
from .pagination import invalid_parameter, parameter, requested_page
from .request_body import read_json_object, read_optional_json_object
from .responses import json_response
from .run_index import RunFilter
from .run_view import run_preview, run_view
from .services import Services


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
        wanted = DispatchRequest.read(body, allow_insecure=services.settings.allow_insecure_targets)
        with services.idempotency.claim(key, caller.organization.name, "r", body) as claim:
            dispatched = await services.dispatcher.dispatch(caller, wanted, claim)
        run_id = dispatched.body["metadata"]["name"]
        token = executor_token(services.settings.server_key, run_id)
        answer = {
            "run_id": run_id,
            "link": f"{services.settings.base_url}/r/{run_id}#{token}",
            "expires_at": dispatched.body["spec"].get("expiresAt"),
            "assigned_to": None,
        }
        location = f"{services.settings.path_prefix}/v1/runs/{run_id}"
        headers = {"Location": location, **(REPLAYED if dispatched.replayed else {})}
        return json_response(answer, status=201, headers=headers)

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page, wanted = requested_page(request), _requested_filter(request)
        await self._services.index.wait_for_first_list()
        total, runs = self._services.index.page(
            caller.organization.name,
            caller.organization.namespaces,
            wanted,
            now=self._services.clock(),
            offset=page.offset,
            limit=page.per_page,
        )
        return json_response({"data": runs, "pagination": page.view(total)})

    async def get(self, request: web.Request, caller: Caller) -> web.Response:
        run = await self._services.run_access.of_organization(request.match_info["run_id"], caller.organization)
        return json_response(run_view(run, self._services.clock(), self._photo_url))

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
        change = await access.change(run, Cancel(reason=CANCELLED_BY_OWNER))
        return json_response(run_view(change.run, self._services.clock(), self._photo_url))

    async def usage(self, _: web.Request, caller: Caller) -> web.Response:
        """The count as it is now, from the cluster itself."""
        await self._services.quota.settle(caller.organization.name)
        body: dict[str, Any] = await self._services.client.get(ORGANIZATION, caller.organization.name)
        plan = OrganizationSpec.model_validate(body["spec"]).plan
        quota = Quota.parse((body.get("status") or {}).get("quota"))
        now = self._services.clock()
        counted = usage(quota, limit=plan.runs_per_month, now=now)
        return json_response({**counted, "period": quota.at(now).period, "plan": plan.name})


def _requested_filter(request: web.Request) -> RunFilter:
    """From the query. Raises InvalidParameter."""
    status = parameter(request, "status")
    if status is not None and status not in REST_STATUSES:
        raise invalid_parameter("status", f"must be one of {', '.join(REST_STATUSES)}")
    return RunFilter(
        status=status,
        template_id=parameter(request, "template_id"),
        executor_ref=parameter(request, "executor_ref"),
        created_after=_moment(request, "created_after"),
        created_before=_moment(request, "created_before"),
    )


def _moment(request: web.Request, name: str) -> datetime | None:
    text = parameter(request, name)
    if text is None:
        return None
    try:
        # In a query, the plus of +00:00 arrives as a space unless it is escaped.
        return parse_timestamp(text.replace(" ", "+"))
    except (ValueError, OverflowError):
        raise invalid_parameter(name, "must be a timestamp such as 2026-11-21T13:50:00Z") from None
