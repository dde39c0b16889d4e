"""The application: the frame around every request, and the routes of each part."""

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from aiohttp import hdrs, web

from .dashboard import page as dashboard_page
from .dashboard import routes as dashboard_routes
from .deliveries import routes as delivery_routes
from .executor import page_routes as executor_app
from .executor import photo_routes
from .executor import routes as executor
from .exports import routes as export_routes
from .http import health
from .http.middleware import request_frame
from .http.request_body import MAX_BODY_BYTES
from .openapi import docs_page
from .openapi import document as openapi
from .pages import landing as landing_page
from .pages import markup, well_known
from .photos import serving as photo_serving
from .runs import routes as run_routes
from .templates import routes as template_routes
from .wiring import Services

AddRoutes = Callable[[web.UrlDispatcher, Services], None]

ROUTES: Final[tuple[AddRoutes, ...]] = (
    health.add_routes,
    template_routes.add_routes,
    run_routes.add_routes,
    export_routes.add_routes,
    delivery_routes.add_routes,
    executor.add_routes,
    photo_routes.add_routes,
    photo_serving.add_routes,
    openapi.add_routes,
    docs_page.add_routes,
    landing_page.add_routes,
    executor_app.add_routes,
    dashboard_routes.add_routes,
    dashboard_page.add_routes,
    well_known.add_routes,
    markup.add_routes,
)
"""One function per part. Each gets the router and the services, and adds its routes."""


def _refuse_other_methods_of_literal_paths(router: web.UrlDispatcher) -> None:
    """Else `GET /v1/templates/generate` would be a template with the id `generate`."""
    patterns = [found["pattern"] for found in (each.get_info() for each in router.resources()) if "pattern" in found]
    literal: dict[str, list[web.PlainResource]] = {}
    for resource in router.resources():
        if isinstance(resource, web.PlainResource):
            literal.setdefault(resource.canonical, []).append(resource)
    for path, resources in literal.items():
        allowed = {route.method for resource in resources for route in resource}
        if hdrs.METH_ANY not in allowed and any(pattern.fullmatch(path) for pattern in patterns):
            resources[-1].add_route(hdrs.METH_ANY, _refusing(allowed))


def _refusing(allowed: Collection[str]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def refuse(request: web.Request) -> web.StreamResponse:
        raise web.HTTPMethodNotAllowed(request.method, allowed)

    return refuse


def create_app(services: Services) -> web.Application:
    """The application; it starts and closes `services`."""
    app = web.Application(
        middlewares=[request_frame(services.metrics, services.tracing)], client_max_size=MAX_BODY_BYTES
    )
    for add_routes in ROUTES:
        add_routes(app.router, services)
    _refuse_other_methods_of_literal_paths(app.router)

    async def start(_: web.Application) -> None:
        await services.start()

    async def end_streams(_: web.Application) -> None:
        # They would go on for as long as somebody looks: requests under way are waited for after this.
        services.live.close()

    async def close(_: web.Application) -> None:
        await services.close()

    app.on_startup.append(start)
    app.on_shutdown.append(end_streams)
    app.on_cleanup.append(close)
    return app
