"""The dashboard's API, below `/dashboard/api/{org_id}`: what the REST API does for the bearer of a key, for members.

The same handlers stand behind both; what differs is who lets the request in. `table` says for every route which role it
needs, and is what the test of roles goes through: a route that is not in it does not exist.
"""

from collections.abc import Callable, Sequence
from typing import Final

from aiohttp import web

from checklist_crds.organization_types import Role

from ..deliveries.routes import DeliveryRoutes
from ..wiring import Services
from . import audit_routes, export_routes, run_detail_routes, run_routes, template_routes, usage_routes
from .keys import routes as key_routes
from .live import routes as event_routes
from .members import routes as member_routes
from .oidc import routes as oidc_routes
from .sessions import routes as session_routes
from .sign_in import account_routes as accounts_routes
from .sign_in import routes as sign_in_routes
from .table import Route

BASE: Final = "/dashboard/api/{org_id}"


def table(services: Services) -> list[Route]:
    """All routes below an organization."""
    return [route for part in PARTS for route in part(services)]


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    session_routes.add_routes(router, services)
    sign_in_routes.add_routes(router, services)
    oidc_routes.add_routes(router, services)
    accounts_routes.add_routes(router, services)
    for route in table(services):
        router.add_route(route.method, BASE + route.path, services.dashboard.member(route.role, route.handler))


def _deliveries(services: Services) -> Sequence[Route]:
    routes = DeliveryRoutes(services)
    return (
        Route("GET", "/runs/{run_id}/deliveries", Role.VIEWER, routes.of_run),
        Route("GET", "/deliveries", Role.VIEWER, routes.list),
        Route("GET", "/deliveries/replays", Role.VIEWER, routes.replays),
        Route("GET", "/deliveries/replays/{replay_id}", Role.VIEWER, routes.get_replay),
        Route("GET", "/deliveries/{event_id}", Role.VIEWER, routes.get),
        Route("GET", "/endpoints", Role.VIEWER, routes.endpoints),
        Route("POST", "/deliveries/replay", Role.EDITOR, routes.replay_many),
        Route("DELETE", "/deliveries/replays/{replay_id}", Role.EDITOR, routes.stop_replay),
        Route("POST", "/deliveries/{event_id}/replay", Role.EDITOR, routes.replay),
    )


PARTS: Final[tuple[Callable[[Services], Sequence[Route]], ...]] = (
    template_routes.routes,
    run_detail_routes.routes,
    run_routes.routes,
    export_routes.routes,
    _deliveries,
    key_routes.routes,
    member_routes.routes,
    usage_routes.routes,
    audit_routes.routes,
    event_routes.routes,
)
