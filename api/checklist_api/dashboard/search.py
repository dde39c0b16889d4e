"""`GET /dashboard/api/{org_id}/search?q=` (viewers): runs and templates of the organization for the command palette.

The cost has a bound: one pass over the newest 5,000 live runs, one over the templates' list rows, one index look-up of
the whole reference, and for a whole id one read of the run.
"""

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web
from attrs import define

from checklist_crds.errors import RunNotFound
from checklist_crds.ids import is_id
from checklist_crds.resources.organization import Role
from checklist_crds.times import Clock, format_timestamp

from ..auth.gate import Caller
from ..auth.members import MemberDirectory
from ..http.json_body import json_response
from ..http.pagination import invalid_parameter, parameter
from ..index.run_filter import RunFilter
from ..index.run_search import LONGEST, SEARCHED, SHORTEST
from ..index.runs import RunIndex
from ..organizations.directory import Organization
from ..runs.access import RunAccess
from ..templates.catalogue import TemplateCatalogue
from .table import Route

RUNS: Final = 8
TEMPLATES: Final = 5


@define(kw_only=True, eq=False, repr=False, slots=False)
class SearchRoutes:
    _index: RunIndex
    _access: RunAccess
    _templates: TemplateCatalogue
    _members: MemberDirectory
    _clock: Clock

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/search", Role.VIEWER, self.search),)

    async def search(self, request: web.Request, caller: Caller) -> web.Response:
        """Return `runs` and `templates`, newest first. `searched_all`: whether parts were looked for in all live runs.
        Without `q`, nothing is found. Raises InvalidParameter and KubeError."""
        text, organization = _requested_text(request), caller.organization
        await self._index.wait_for_first_list()
        runs, searched_all = await self._runs(organization, text) if text else ([], True)
        templates = [
            {"id": each.meta.id, "name": each.display_name, "step_count": each.step_count}
            for each in await self._templates.all_of(organization)
            if text and (text.casefold() in each.display_name.casefold() or each.meta.id == text)
        ]
        return json_response(
            {
                "runs": runs[:RUNS],
                "templates": templates[:TEMPLATES],
                "searched_all": searched_all,
                "searched": SEARCHED,
            }
        )

    async def _runs(self, organization: Organization, text: str) -> tuple[list[dict[str, Any]], bool]:
        if is_id("r", text):
            return await self._by_id(organization, text), True
        now, wanted = self._clock(), text.casefold()
        members = {
            member.id
            for member in self._members.of_organization(organization.name)
            if wanted in member.display_name.casefold()
        }
        _, exact = self._index.page(
            organization.name, organization.namespaces, RunFilter(executor_ref=text), now=now, offset=0, limit=RUNS
        )
        found = self._index.search.find(
            organization.name, organization.namespaces, text, members=members, now=now, limit=RUNS
        )
        known = {run["run_id"] for run in exact}
        runs = [*exact, *(run for run in found.runs if run["run_id"] not in known)]
        return [_view(run) for run in runs], found.complete

    async def _by_id(self, organization: Organization, run_id: str) -> list[dict[str, Any]]:
        try:
            run = await self._access.of_organization(run_id, organization)
        except RunNotFound:
            return []
        status, name = run.phase_at(self._clock()).rest, run.admitted_as.template_name
        found = {"run_id": run.id, "status": status, "template_name": name, "executor_ref": run.spec.executor_ref}
        return [{**found, "created_at": format_timestamp(run.created_at)}]


def _view(run: dict[str, Any]) -> dict[str, Any]:
    """As little of a list row as the palette shows."""
    return {name: run[name] for name in ("run_id", "status", "template_name", "executor_ref", "created_at")}


def _requested_text(request: web.Request) -> str:
    text = (parameter(request, "q") or "").strip()
    if text and not SHORTEST <= len(text) <= LONGEST:
        raise invalid_parameter("q", f"must have {SHORTEST} to {LONGEST} characters")
    return text
