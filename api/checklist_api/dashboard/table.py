"""A row of the table of the dashboard's routes below an organization: path, handler and required role.

Each class of handlers returns its rows from `routes()`; `wiring.routes.dashboard_table` assembles the table. The REST
API and the dashboard share handlers and differ in authorization only. The test of roles iterates over the table; routes
outside of it do not exist.
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
    """A route below an organization. `path` is relative to `BASE`."""

    method: str
    path: str
    role: Role
    handler: OwnerHandler


def add_routes(router: web.UrlDispatcher, gate: DashboardGate, table: Iterable[Route]) -> None:
    for route in table:
        router.add_route(route.method, BASE + route.path, gate.member(route.role, route.handler))
