"""Builds the aiohttp application: middleware, routes, start-up and shutdown."""

from collections.abc import Awaitable, Callable, Collection

from aiohttp import hdrs, web

from checklist_crds.kube.client import KubeConnection

from .http.json_body import MAX_BODY_BYTES
from .http.middleware import request_frame
from .settings.service import Settings
from .wiring.routes import add_routes
from .wiring.services import Services


def _refuse_other_methods_of_literal_paths(router: web.UrlDispatcher) -> None:
    """Answer 405, because otherwise `GET /v1/templates/generate` would read a template with the id `generate`."""
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


async def application(settings: Settings) -> web.Application:
    """Create the application for the configured cluster. Raises InvalidSetting, KubeError."""
    return create_app(Services(settings, await KubeConnection.load()))


def create_app(services: Services) -> web.Application:
    """Create the application, which starts and closes `services`."""
    app = web.Application(
        middlewares=[request_frame(services.metrics, services.tracing)], client_max_size=MAX_BODY_BYTES
    )
    add_routes(app.router, services)
    _refuse_other_methods_of_literal_paths(app.router)

    async def start(_: web.Application) -> None:
        await services.start()

    async def end_waiting(_: web.Application) -> None:
        # Streams do not end by themselves, waits only after up to a minute, and shutdown waits for open requests.
        services.live.close()
        services.run_waits.close()
        services.run_changes.close()

    async def close(_: web.Application) -> None:
        await services.close()

    app.on_startup.append(start)
    app.on_shutdown.append(end_waiting)
    app.on_cleanup.append(close)
    return app
