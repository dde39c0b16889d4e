"""HTML helpers: escaping, and the layout and headers of all pages.

Pages load their own style sheet only and have no scripts, so the policy forbids everything else. Links are relative, so
that pages work behind a proxy with a path prefix.
"""

import hashlib
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Final

from aiohttp import web

from checklist_crds.errors import NotFound

_STYLE: Final = (Path(__file__).parent / "style.css").read_bytes()
STYLE_NAME: Final = f"style.{hashlib.sha256(_STYLE).hexdigest()[:12]}.css"
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOTHING_PERMITTED: Final = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def add_routes(router: web.UrlDispatcher) -> None:
    async def style(request: web.Request) -> web.Response:
        if request.match_info["name"] != STYLE_NAME:
            raise NotFound()
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=_STYLE, content_type="text/css", charset="utf-8", headers=headers)

    async def landing(_: web.Request) -> web.Response:
        return page_response(_LANDING, cache="no-cache")

    router.add_get("/", landing)
    router.add_get("/pages/{name}", style)


def page_response(
    html: str, *, status: int = 200, permissions: str = NOTHING_PERMITTED, cache: str = "no-store"
) -> web.Response:
    headers = {**SECURITY_HEADERS, "Permissions-Policy": permissions, "Cache-Control": cache}
    return web.Response(text=html, status=status, content_type="text/html", charset="utf-8", headers=headers)


def page(title: str, body: str, *, root: str, head: str = "", kind: str = "") -> str:
    """Return a page. `body` and `head` are HTML; `root` is the relative path to the service's root."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
{head}<link rel="stylesheet" href="{root}pages/{STYLE_NAME}">
</head>
<body class="{kind}">
{body}
</body>
</html>
"""


def inline(text: str) -> str:
    """Render prose with `code` and **strong** as escaped HTML."""
    html = escape(text)
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", html)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", html)


def paragraphs(text: str) -> str:
    return "".join(f"<p>{inline(part)}</p>" for part in text.split("\n\n") if part.strip())


def anchor(*parts: str) -> str:
    """Return a fragment id of letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(parts)).strip("-")


_LANDING: Final = page(
    "Checklist Dispatch",
    """<main class="card">
<p class="brand">Checklist Dispatch</p>
<h1>Checklist Dispatch API</h1>
<p>This service sends checklists to people and returns their answers.</p>
<ul class="links">
<li><a href="docs">Documentation</a> <span>every operation, with examples</span></li>
<li><a href="v1/openapi.json">OpenAPI 3.1</a> <span>machine-readable</span></li>
</ul>
<p class="hint">To answer a checklist, open the complete link that you received.</p>
</main>""",
    root="",
    kind="run",
)
