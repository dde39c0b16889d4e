"""The page behind a run's link as the server writes it: the app's shell, with what the preview tells filled in.

The link's fragment never leaves the browser, so this can hold no more than the preview does. It is what messengers
read, what is seen until the app has started, and all there is where scripts do not run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from checklist_crds.errors import RunExpired, RunNotFound, ServiceError, ServiceUnavailable
from checklist_crds.times import format_timestamp

from .app_links import AppLinks
from .markup import STYLE_NAME

HEAD_MARK: Final = "<!--server-head-->"
BODY_MARK: Final = "<!--server-body-->"
SHELL_TITLE: Final = "<title>Checklist</title>"
BARE_SHELL: Final = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{SHELL_TITLE}
{HEAD_MARK}
</head>
<body>
{BODY_MARK}
</body>
</html>
"""
"""For a checkout in which the app was not built: the page tells what the checklist is, and cannot take answers."""
_STYLE: Final = f'<link rel="stylesheet" href="../pages/{STYLE_NAME}">'
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
_KEEP_IT: Final = (
    '<p class="hint">Whoever has the complete link can answer this checklist. '
    "Pass it on only to the person who shall do it.</p>"
)
_NO_SCRIPTS: Final = (
    '<noscript><p class="note"><strong>To answer it, this page needs JavaScript.</strong> Allow it for this page, or '
    "open the complete link in another browser. What is written above is all that can be shown without.</p></noscript>"
)


@dataclass(frozen=True, slots=True)
class ExecutorPage:
    """Writes the page. `shell` is the built index.html, None when the app was not built."""

    shell: str | None
    apps: AppLinks

    def empty(self) -> str:
        """The shell of no run in particular: the service worker keeps it for when there is no network."""
        return self._filled("Checklist", "", "")

    def of_run(self, preview: Mapping[str, Any]) -> str:
        """`preview`: the six fields of `run_view.run_preview`."""
        name, sender = preview["template_name"], preview["created_by_name"]
        steps = "1 step" if preview["step_count"] == 1 else f"{preview['step_count']} steps"
        title, text = _STATES[preview["status"]]
        is_open = preview["status"] in {"pending", "in_progress"}
        until = f"<dt>Open until</dt><dd>{_moment(preview['expires_at'])}</dd>" if is_open else ""
        body = f"""<h1>{escape(name)}</h1>
<p class="state" data-status="{preview["status"]}"><span class="mark" aria-hidden="true"></span>\
<strong>{title}.</strong> {text}</p>
<dl>
<dt>From</dt><dd>{escape(sender)}</dd>
<dt>Length</dt><dd>{steps}</dd>
{until}
</dl>
{self._how_to_answer() if is_open else ""}"""
        return self._filled(name, _open_graph(name, f"{steps}, from {sender}"), body)

    def refusal(self, error: ServiceError) -> str:
        title, text = _REFUSALS[type(error)]
        return self._filled(title, "", f"<h1>{title}</h1>\n<p>{text}</p>")

    def _how_to_answer(self) -> str:
        stores = [("the App Store", self.apps.apple_store), ("Google Play", self.apps.google_store)]
        links = "".join(
            f'<li><a href="{escape(address)}" rel="noreferrer">Get the app from {name}</a></li>'
            for name, address in stores
            if address
        )
        install = f'<ul class="links">{links}</ul>' if links else ""
        return f"{install}{_NO_SCRIPTS if self.shell is not None else ''}\n{_KEEP_IT}"

    def _filled(self, title: str, head: str, card: str) -> str:
        """All that is inserted is escaped already. With the app there, its own style applies where scripts run."""
        style = _STYLE if self.shell is None else f"<noscript>{_STYLE}</noscript>"
        robots = '<meta name="robots" content="noindex, nofollow">\n'
        body = ""
        if card:
            body = f"""<div id="preview" class="run" lang="en" dir="ltr"><main class="card">
<p class="brand">Checklist</p>
{card}
</main></div>"""
        page = self.shell or BARE_SHELL
        for mark, text in (
            (SHELL_TITLE, f"<title>{escape(title)}</title>"),
            (HEAD_MARK, robots + head + self._store_metadata() + style),
            (BODY_MARK, body),
        ):
            before, _, after = page.partition(mark)
            page = before + text + after
        return page

    def _store_metadata(self) -> str:
        """Where the app is to be had: for the browser's own banner, and for the page (`kit/install.ts`)."""
        tags = ""
        if self.apps.apple_store_id:
            tags += f'<meta name="apple-itunes-app" content="app-id={self.apps.apple_store_id}">\n'
        for name, address in (("apple", self.apps.apple_store), ("google", self.apps.google_store)):
            if address:
                tags += f'<meta name="install-{name}" content="{escape(address)}">\n'
        return tags


def _open_graph(title: str, description: str) -> str:
    """What messengers show of the link: nothing that the preview does not tell anybody who has it."""
    return f"""<meta name="description" content="{escape(description)}">
<meta property="og:type" content="website">
<meta property="og:title" content="{escape(title)}">
<meta property="og:description" content="{escape(description)}">
"""


def _moment(text: str | None) -> str:
    if text is None:
        return "no end"
    moment = datetime.fromisoformat(text).astimezone(UTC)
    words = f"{moment.day} {moment:%B %Y, %H:%M} UTC"
    return f'<time datetime="{format_timestamp(moment)}">{words}</time>'
