"""`/dashboard/api/{org_id}/usage`: the runs of the month, also by day, and what the limit says when it is reached."""

from collections.abc import Sequence

from aiohttp import web

from checklist_crds.organization_types import Role

from ..auth.gate import Caller
from ..http.responses import json_response
from ..organizations.usage import current_usage
from ..wiring import Services
from .table import Route


def routes(services: Services) -> Sequence[Route]:
    return (Route("GET", "/usage", Role.VIEWER, UsageRoutes(services).show),)


class UsageRoutes:
    """One method for each operation."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def show(self, _: web.Request, caller: Caller) -> web.Response:
        services = self._services
        found = await current_usage(services.client, services.quota, caller.organization, services.clock)
        return json_response({**found.view(), "by_day": found.by_day(), "limit_reached": found.limit_reached()})
