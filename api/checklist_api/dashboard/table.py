"""The table of the dashboard's routes below an organization, each with the role that it needs.

What the REST API does for the bearer of a key, they do for members. The same handlers stand behind both; what differs
is who lets the request in. The table says for every route which role it needs, and is what the test of roles goes
through: a route that is not in it does not exist.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from checklist_crds.resources.organization import Role

from ..auth.gate import OwnerHandler
from .access import DashboardGate

BASE: Final = "/dashboard/api/{org_id}"


@dataclass(frozen=True, slots=True)
class Route:
    """One route below an organization. `path` follows `BASE`."""

    method: str
    path: str
    role: Role
    handler: OwnerHandler


def add_routes(router: web.UrlDispatcher, gate: DashboardGate, table: Iterable[Route]) -> None:
    for route in table:
        router.add_route(route.method, BASE + route.path, gate.member(route.role, route.handler))
