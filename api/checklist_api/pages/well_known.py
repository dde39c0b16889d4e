"""`/.well-known/`: which apps may open a run's link, for Apple's and Google's systems.

Both ask at the root of the host and follow no redirect, so a proxy in front has to pass these two paths on.
"""

from typing import Any, Final

from aiohttp import web

from checklist_crds.errors import NotFound
from checklist_crds.values.json_text import to_json

from ..settings.app_links import AppLinks

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Cache-Control": "public, max-age=3600",
    "X-Content-Type-Options": "nosniff",
}


def add_routes(router: web.UrlDispatcher, links: AppLinks) -> None:
    async def apple(_: web.Request) -> web.Response:
        return _association(links.apple_association() if links.apple_apps else None)

    async def android(_: web.Request) -> web.Response:
        return _association(links.android_association() if links.android_apps else None)

    router.add_get("/.well-known/apple-app-site-association", apple)
    router.add_get("/.well-known/assetlinks.json", android)


def _association(document: Any) -> web.Response:
    """404 when the installation names no app: then there is nothing that could be associated."""
    if document is None:
        raise NotFound()
    return web.Response(body=to_json(document), headers=_HEADERS)
