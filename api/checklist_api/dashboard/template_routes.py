"""`/dashboard/api/{org_id}/templates`: the handlers of the REST API, extended for the dashboard.

Adds the external manager of a template (GitOps), the current version in conflicts, a preview of deletion, and restoring
an earlier version.
"""

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web

from checklist_crds.errors import VersionConflict
from checklist_crds.resources.organization import Role
from checklist_crds.times import Clock

from ..auth.gate import Caller
from ..http.json_body import json_response, read_optional_json_object
from ..index.runs import RunIndex
from ..organizations.directory import Organization
from ..templates.catalogue import ListedTemplate, StoredTemplate, TemplateCatalogue
from ..templates.routes import TemplateRoutes, requested_versions
from .table import Route

_ONE: Final = "/templates/{template_id}"


class DashboardTemplateRoutes(TemplateRoutes):
    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/templates", Role.VIEWER, self.list),
            Route("GET", _ONE, Role.VIEWER, self.get),
            Route("GET", f"{_ONE}/versions", Role.VIEWER, self.versions),
            Route("GET", f"{_ONE}/versions/{{version}}", Role.VIEWER, self.version),
            Route("POST", "/templates", Role.EDITOR, self.create),
            Route("POST", "/templates/generate", Role.EDITOR, self.generate),
            Route("POST", f"{_ONE}/versions/{{version}}/restore", Role.EDITOR, self.restore),
            Route("PATCH", _ONE, Role.EDITOR, self.patch),
            Route("DELETE", _ONE, Role.EDITOR, self.delete),
        )

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
        """Restore a kept version as a new version; 200 with the template, like PATCH."""
        await read_optional_json_object(request)
        versions, match = requested_versions(request), request.match_info
        try:
            async with self._audit.act(request, caller) as act:
                template = await self._writer.restore(
                    caller.organization, match["template_id"], match["version"], versions=versions, act=act
                )
        except VersionConflict as conflict:
            raise await self._with_current(conflict, request, caller) from None
        return self.answer(template, caller.organization)

    async def _with_current(self, conflict: VersionConflict, request: web.Request, caller: Caller) -> VersionConflict:
        """Add the current version to the error's details, so that the page can show the difference."""
        template = await self._catalogue.get(caller.organization, request.match_info["template_id"])
        return VersionConflict(conflict.message, details={"current": self.view(template, caller.organization)})


class TemplateDeletionRoutes:
    def __init__(self, catalogue: TemplateCatalogue, index: RunIndex, clock: Clock) -> None:
        self._catalogue = catalogue
        self._index = index
        self._clock = clock

    def routes(self) -> Sequence[Route]:
        return (Route("GET", f"{_ONE}/deletion", Role.VIEWER, self.show),)

    async def show(self, request: web.Request, caller: Caller) -> web.Response:
        """Describe the effect of a deletion: existing runs continue on their versions."""
        organization = caller.organization
        template = await self._catalogue.get(organization, request.match_info["template_id"])
        await self._index.wait_for_first_list()
        total, still_open, versions = self._index.of_template(
            organization.name, organization.namespaces, template.meta.id, now=self._clock()
        )
        return json_response(
            {"runs": total, "open_runs": still_open, "kept_versions": versions, "managed_by": _managed_by(template)}
        )


def _managed_by(template: StoredTemplate | ListedTemplate) -> dict[str, str] | None:
    return None if template.manager is None else template.manager.view()
