"""The page behind a run's link, and the landing page: for people, with a browser and nothing else.

The run page needs no token. The link's fragment never leaves the browser, so the page can show no more than the
preview does, and a messenger that fetches the link for its own preview changes nothing.
"""

from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from aiohttp import web

from checklist_crds.errors import RunExpired, RunNotFound, ServiceError, ServiceUnavailable
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.run_types import Run, RunPhase
from checklist_crds.times import format_timestamp

from .markup import page, page_response
from .run_view import run_preview
from .services import Services

# The executor's page alone may ask for the camera and the place.
_PERMISSIONS: Final = "camera=(self), geolocation=(self), microphone=(), payment=(), usb=()"
_STATES: Final = {
    "pending": ("Not started", "Nobody has answered anything yet."),
    "in_progress": ("Started", "Some of it is answered already."),
    "completed": ("Completed", "The answers were submitted. There is nothing left to do."),
    "cancelled": ("Cancelled", "It takes no more answers."),
}
_REFUSALS: Final[dict[type[ServiceError], tuple[str, str]]] = {
    RunExpired: (
        "This link has expired",
        "The checklist takes no more answers. Ask the person who sent it for a new link.",
    ),
    RunNotFound: (
        "There is no such checklist",
        "Check that the link is complete. It may have been cut where a message broke the line.",
    ),
    ServiceUnavailable: (
        "Not available right now",
        "The checklist is safe, but it cannot be shown at the moment. Load this page again in a few seconds.",
    ),
}
_KEEP_IT: Final = """<p class="hint">Whoever has the complete link can answer this checklist. Pass it on only to the
person who shall do it.</p>"""


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    async def run_page(request: web.Request) -> web.Response:
        try:
            run = await services.run_access.of_anybody(request.match_info["run_id"])
            if run.phase_at(services.clock()) is RunPhase.EXPIRED:
                raise RunExpired()
            view = await _preview(services, run)
        except (RunNotFound, RunExpired) as error:
            return page_response(_refusal(error), status=error.status, permissions=_PERMISSIONS)
        except KubeUnavailable:
            unavailable = ServiceUnavailable()
            response = page_response(_refusal(unavailable), status=unavailable.status, permissions=_PERMISSIONS)
            response.headers.update(unavailable.headers)
            return response
        return page_response(_run(view), permissions=_PERMISSIONS)

    async def landing(_: web.Request) -> web.Response:
        return page_response(_LANDING, cache="no-cache")

    router.add_get("/r/{run_id}", services.gate.public(run_page))
    router.add_get("/", landing)


async def _preview(services: Services, run: Run) -> dict[str, Any]:
    organization = await services.organizations.get(run.resolved.organization) if run.resolved else None
    if organization is None:
        raise RunNotFound()
    return run_preview(run, organization, services.clock())


def _run(view: dict[str, Any]) -> str:
    name, sender = view["template_name"], view["created_by_name"]
    count = view["step_count"]
    steps = "1 step" if count == 1 else f"{count} steps"
    title, text = _STATES[view["status"]]
    is_open = view["status"] in {"pending", "in_progress"}
    until, hint = "", ""
    if is_open:
        until = f"<dt>Open until</dt><dd>{_moment(view['expires_at'])}</dd>"
        hint = _KEEP_IT
    body = f"""<main class="card">
<p class="brand">Checklist</p>
<h1>{escape(name)}</h1>
<p class="state" data-status="{view["status"]}"><span class="mark" aria-hidden="true"></span>\
<strong>{title}.</strong> {text}</p>
<dl>
<dt>From</dt><dd>{escape(sender)}</dd>
<dt>Length</dt><dd>{steps}</dd>
{until}
</dl>
{hint}
</main>"""
    return page(name, body, root="../", head=_open_graph(name, f"{steps}, from {sender}"), kind="run")


def _open_graph(title: str, description: str) -> str:
    """What messengers show of the link: nothing that the preview does not tell anybody who has it."""
    return f"""<meta name="robots" content="noindex, nofollow">
<meta name="description" content="{escape(description)}">
<meta property="og:type" content="website">
<meta property="og:title" content="{escape(title)}">
<meta property="og:description" content="{escape(description)}">
"""


def _refusal(error: ServiceError) -> str:
    title, text = _REFUSALS[type(error)]
    body = f"""<main class="card">
<p class="brand">Checklist</p>
<h1>{title}</h1>
<p>{text}</p>
</main>"""
    return page(title, body, root="../", head='<meta name="robots" content="noindex, nofollow">\n', kind="run")


def _moment(text: str | None) -> str:
    if text is None:
        return "no end"
    moment = datetime.fromisoformat(text).astimezone(UTC)
    words = f"{moment.day} {moment:%B %Y, %H:%M} UTC"
    return f'<time datetime="{format_timestamp(moment)}">{words}</time>'


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
