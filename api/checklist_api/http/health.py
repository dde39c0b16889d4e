"""/healthz, /readyz and /metrics: for those who run the service."""

from aiohttp import web

from checklist_crds.readiness import readiness_body, reasons_of

from ..wiring import Services
from .responses import json_response


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    async def healthz(_: web.Request) -> web.Response:
        return json_response({"status": "ok"})

    async def readyz(_: web.Request) -> web.Response:
        checks, notes = services.checks(), services.notes()
        if reasons_of(checks):
            body = readiness_body("not ready", checks, notes)
            return json_response(body, status=503, headers={"Retry-After": "1"})
        return json_response(readiness_body("ok", checks, notes))

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=services.metrics.as_text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    router.add_get("/healthz", healthz)
    router.add_get("/readyz", readyz)
    router.add_get("/metrics", metrics)
