"""/healthz, /readyz and /metrics."""

from collections.abc import Callable, Sequence

from aiohttp import web

from checklist_crds.platform.readiness import Check, readiness_body, reasons_of

from ..metrics import Metrics
from .json_body import json_response


def add_routes(
    router: web.UrlDispatcher,
    *,
    checks: Callable[[], Sequence[Check]],
    notes: Callable[[], Sequence[str]],
    metrics: Metrics,
) -> None:
    """`checks`: conditions of readiness; `notes`: messages for the operator of the service."""

    async def healthz(_: web.Request) -> web.Response:
        return json_response({"status": "ok"})

    async def readyz(_: web.Request) -> web.Response:
        found = checks()
        if reasons_of(found):
            body = readiness_body("not ready", found, notes())
            return json_response(body, status=503, headers={"Retry-After": "1"})
        return json_response(readiness_body("ok", found, notes()))

    async def exposition(_: web.Request) -> web.Response:
        return web.Response(
            body=metrics.as_text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    router.add_get("/healthz", healthz)
    router.add_get("/readyz", readyz)
    router.add_get("/metrics", exposition)
