"""`/dashboard...`: serves the dashboard's page for every path that is no file and no API route.

`<base>` makes the page work under a path prefix.
"""

import logging
from html import escape
from typing import Final

from aiohttp import web

from checklist_crds.errors import NotFound

from ..pages.markup import NOTHING_PERMITTED, SECURITY_HEADERS
from ..pages.web_files import BUILT, WebFiles

logger = logging.getLogger(__name__)

# blob: and data: are for the template preview, which uses the executor's controls.
PAGE_POLICY: Final = (
    "default-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_HEAD: Final = "<!--server-head-->"
_NOT_BUILT: Final = "<!doctype html><title>Dashboard</title><p>The dashboard was not built: make web</p>"


class DashboardPage:
    def __init__(self, built: WebFiles, *, path_prefix: str) -> None:
        self._files = built.files
        base = f'<base href="{escape(path_prefix)}/dashboard/">'
        self._page = (built.page or _NOT_BUILT).replace(_HEAD, base)
        if built.page is None:
            logger.warning("dashboard.not_built", extra={"folder": str(BUILT), "remedy": "make web"})

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get("/dashboard", self.show)
        router.add_get("/dashboard/{path:.*}", self.show)

    async def show(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info.get("path", "")
        if (file := self._files.get(path)) is not None:
            return file.response(request)
        if path.startswith(("api/", "assets/")):
            raise NotFound()
        headers = {
            **SECURITY_HEADERS,
            "Content-Security-Policy": PAGE_POLICY,
            "Permissions-Policy": NOTHING_PERMITTED,
            "Cache-Control": "no-cache",
        }
        return web.Response(text=self._page, content_type="text/html", charset="utf-8", headers=headers)
