"""`/dashboard/api/{org_id}/templates`: as the REST API does it, and what only people need.

Who manages a template besides the service (GitOps); which version is there, when somebody else was faster; what its
deletion would mean; and the making of an earlier version the current one again.
"""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from checklist_crds.errors import VersionConflict
from checklist_crds.organization_types import Role

from ..auth.gate import Caller
from ..http.request_body import read_optional_json_object
from ..http.responses import json_response
from ..organizations.directory import Organization
from ..templates.catalogue import ListedTemplate, StoredTemplate
from ..templates.routes import TemplateRoutes, requested_versions
from ..wiring import Services
from .table import Route


def routes(services: Services) -> Sequence[Route]:
    handlers = DashboardTemplateRoutes(services)
    one = "/templates/{template_id}"
    return (
        Route("GET", "/templates", Role.VIEWER, handlers.list),
        Route("GET", one, Role.VIEWER, handlers.get),
        Route("GET", f"{one}/versions", Role.VIEWER, handlers.versions),
        Route("GET", f"{one}/versions/{{version}}", Role.VIEWER, handlers.version),
        Route("GET", f"{one}/deletion", Role.VIEWER, handlers.deletion),
        Route("POST", "/templates", Role.EDITOR, handlers.create),
        Route("POST", "/templates/generate", Role.EDITOR, handlers.generate),
        Route("POST", f"{one}/versions/{{version}}/restore", Role.EDITOR, handlers.restore),
        Route("PATCH", one, Role.EDITOR, handlers.patch),
        Route("DELETE", one, Role.EDITOR, handlers.delete),
    )


class DashboardTemplateRoutes(TemplateRoutes):
    """One method for each operation."""

    def view(self, template: StoredTemplate, organization: Organization) -> dict[str, Any]:
        return {**super().view(template, organization), "managed_by": _managed_by(template)}

    def summary(self, template: ListedTemplate) -> dict[str, Any]:
        return {
            **super().summary(template),
            "step_count": template.step_count,
            "managed_by": _managed_by(template),
        }

    async def patch(self, request: web.Request, caller: Caller) -> web.Response:
        try:
            return await super().patch(request, caller)
        except VersionConflict as conflict:
            raise await self._with_current(conflict, request, caller) from None

    async def restore(self, request: web.Request, caller: Caller) -> web.Response:
        """The content of a kept version as a new version; 200 with the template, as PATCH answers."""
        await read_optional_json_object(request)
        versions, match = requested_versions(request), request.match_info
        try:
            async with self._services.audit.act(request, caller) as act:
                template = await self._services.template_writer.restore(
                    caller.organization, match["template_id"], match["version"], versions=versions, act=act
                )
        except VersionConflict as conflict:
            raise await self._with_current(conflict, request, caller) from None
        return self.answer(template, caller.organization)

    async def deletion(self, request: web.Request, caller: Caller) -> web.Response:
        """What a deletion would leave: runs go on, on the versions that they were made of."""
        services, organization = self._services, caller.organization
        template = await services.templates.get(organization, request.match_info["template_id"])
        await services.index.wait_for_first_list()
        total, still_open, versions = services.index.of_template(
            organization.name, organization.namespaces, template.meta.id, now=services.clock()
        )
        return json_response(
            {"runs": total, "open_runs": still_open, "kept_versions": versions, "managed_by": _managed_by(template)}
        )

    async def _with_current(self, conflict: VersionConflict, request: web.Request, caller: Caller) -> VersionConflict:
        """The same refusal, with the version that is there, so that the page can show the difference."""
        template = await self._services.templates.get(caller.organization, request.match_info["template_id"])
        return VersionConflict(conflict.message, details={"current": self.view(template, caller.organization)})


def _managed_by(template: StoredTemplate | ListedTemplate) -> dict[str, str] | None:
    return None if template.manager is None else template.manager.view()
