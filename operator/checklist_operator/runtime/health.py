"""Serves /healthz, /readyz and /metrics of the operator process.

Healthy means that the event loop answers. Ready means that the process leads and its watches run, or that it is a
standby and can read the lease.
"""

from collections.abc import Callable

from aiohttp import web

from checklist_crds.platform.readiness import Check, readiness_body, reasons_of
from checklist_operator.runtime.metrics import CONTENT_TYPE, Metrics


class HealthServer:
    """Serves until `stop`. `readiness` returns the status word for /readyz, its checks, and notes."""

    def __init__(
        self, host: str, port: int, metrics: Metrics, readiness: Callable[[], tuple[str, list[Check], list[str]]]
    ) -> None:
        self._host = host
        self._port = port
        self._metrics = metrics
        self._readiness = readiness
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Raises OSError when the port is taken. Port 0 disables the server."""
        if not self._port:
            return
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._show_metrics)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _readyz(self, _: web.Request) -> web.Response:
        word, checks, notes = self._readiness()
        return web.json_response(readiness_body(word, checks, notes), status=503 if reasons_of(checks) else 200)

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})
