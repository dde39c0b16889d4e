"""`/.well-known/`: association of apps with run links, for Apple's and Google's systems.

Both request these paths at the root of the host and follow no redirects, so a proxy must forward them.
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
    """404 if no app is configured."""
    if document is None:
        raise NotFound()
    return web.Response(body=to_json(document), headers=_HEADERS)
