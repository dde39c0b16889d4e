"""`/dashboard/api/{org_id}/usage`: runs of the month, also by day, and the refusal when the limit is reached."""

from collections.abc import Sequence

from aiohttp import web

from checklist_crds.organization_types import Role

from ..auth.gate import Caller
from ..http.responses import json_response
from ..runs.usage import UsageReader
from .table import Route


class DashboardUsageRoutes:
    """One method for each operation."""

    def __init__(self, usage: UsageReader) -> None:
        self._usage = usage

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/usage", Role.VIEWER, self.show),)

    async def show(self, _: web.Request, caller: Caller) -> web.Response:
        found = await self._usage.of(caller.organization)
        return json_response(
            {**found.shown().model_dump(), "by_day": found.by_day(), "limit_reached": found.limit_reached()}
        )
