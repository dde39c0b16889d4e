"""/v1/usage: usage of the current month (contract section 5)."""

from aiohttp import web

from ..auth.gate import Caller, Gate
from ..http.responses import json_response
from .usage import UsageReader


class UsageRoutes:
    """One method for each operation."""

    def __init__(self, usage: UsageReader) -> None:
        self._usage = usage

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_get("/v1/usage", gate.owner(self.show))

    async def show(self, _: web.Request, caller: Caller) -> web.Response:
        found = await self._usage.of(caller.organization)
        return json_response(found.shown())
