"""`/`: links for people who open the service in a browser."""

from typing import Final

from aiohttp import web

from .markup import page, page_response


def add_routes(router: web.UrlDispatcher) -> None:
    async def landing(_: web.Request) -> web.Response:
        return page_response(_LANDING, cache="no-cache")

    router.add_get("/", landing)


_LANDING: Final = page(
    "Checklist Dispatch",
    """<main class="card">
<p class="brand">Checklist Dispatch</p>
<h1>Checklists out, answers back</h1>
<p>This is a service for programs: it sends checklists to people and brings their answers back.</p>
<ul class="links">
<li><a href="docs">Documentation</a> <span>every operation, with examples</span></li>
<li><a href="v1/openapi.json">OpenAPI 3.1</a> <span>the same for tools</span></li>
</ul>
<p class="hint">If you came here to answer a checklist, open the complete link that you were sent.</p>
</main>""",
    root="",
    kind="run",
)
