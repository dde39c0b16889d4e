"""Renders the page behind a run's link: the app's shell with the run's preview.

The link's fragment never leaves the browser, so the page contains the public preview only. It is shown by messengers,
until the app has started, and without JavaScript.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final

from checklist_crds.errors import ServiceError
from checklist_crds.times import format_timestamp

from ..pages.markup import STYLE_NAME
from ..runs.models import RunPreview
from ..settings.app_links import AppLinks
from .page_texts import ENGLISH, PageTexts

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
"""Used if the app was not built: shows the preview only."""
_LANGUAGE_LINK: Final = re.compile(r'\s*<link rel="modulepreload" data-language="([a-z]+)"[^>]*>')
_STYLE: Final = f'<link rel="stylesheet" href="../pages/{STYLE_NAME}">'


@dataclass(frozen=True, slots=True)
class ExecutorPage:
    """Renders the page. `shell`: the built index.html; None if the app was not built."""

    shell: str | None
    apps: AppLinks

    def empty(self) -> str:
        """Render the shell without a run, which the service worker caches for offline use."""
        return self._filled("Checklist", "", "", ENGLISH)

    def of_run(self, preview: RunPreview, texts: PageTexts) -> str:
        name, sender = preview.template_name, preview.created_by_name
        steps = texts.count_steps(preview.step_count)
        title, text = texts.states[preview.status]
        is_open = preview.status in {"pending", "in_progress"}
        until = f"<dt>{texts.until}</dt><dd>{_moment(preview.expires_at, texts)}</dd>" if is_open else ""
        body = f"""<h1>{escape(name)}</h1>
<p class="state" data-status="{preview.status}"><span class="mark" aria-hidden="true"></span>\
<strong>{title}.</strong> {text}</p>
<dl>
<dt>{texts.sender}</dt><dd>{escape(sender)}</dd>
<dt>{texts.length}</dt><dd>{steps}</dd>
{until}
</dl>
{self._how_to_answer(texts) if is_open else ""}"""
        return self._filled(name, _open_graph(name, texts.about.format(steps=steps, sender=sender)), body, texts)

    def refusal(self, error: ServiceError, texts: PageTexts) -> str:
        title, text = texts.refusals[error.code]
        return self._filled(title, "", f"<h1>{title}</h1>\n<p>{text}</p>", texts)

    def _how_to_answer(self, texts: PageTexts) -> str:
        links = "".join(
            f'<li><a href="{escape(address)}" rel="noreferrer">{texts.get_the_app.format(store=name)}</a></li>'
            for name, address in zip(texts.stores, (self.apps.apple_store, self.apps.google_store), strict=True)
            if address
        )
        install = f'<ul class="links">{links}</ul>' if links else ""
        needed, remedy = texts.no_scripts
        note = f'<noscript><p class="note"><strong>{needed}</strong> {remedy}</p></noscript>'
        return f'{install}{note if self.shell is not None else ""}\n<p class="hint">{texts.keep_it}</p>'

    def _filled(self, title: str, head: str, card: str, texts: PageTexts) -> str:
        """Fill the shell with escaped content. With the app, the fallback style applies without JavaScript only."""
        style = _STYLE if self.shell is None else f"<noscript>{_STYLE}</noscript>"
        robots = '<meta name="robots" content="noindex, nofollow">\n'
        body = language = ""
        if card:
            language = texts.language
            body = f"""<div id="preview" class="run" lang="{texts.language}" dir="{texts.direction}"><main class="card">
<p class="brand">{texts.brand}</p>
{card}
</main></div>"""
        # The link to the texts of the page's language stays, so that the browser loads them together with the app.
        page = _LANGUAGE_LINK.sub(lambda link: link[0] if link[1] == language else "", self.shell or BARE_SHELL)
        for mark, text in (
            (SHELL_TITLE, f"<title>{escape(title)}</title>"),
            (HEAD_MARK, robots + head + self._store_metadata() + style),
            (BODY_MARK, body),
        ):
            before, _, after = page.partition(mark)
            page = before + text + after
        return page

    def _store_metadata(self) -> str:
        """Return metadata of app stores, for browsers and for the page (`kit/install.ts`)."""
        tags = ""
        if self.apps.apple_store_id:
            tags += f'<meta name="apple-itunes-app" content="app-id={self.apps.apple_store_id}">\n'
        for name, address in (("apple", self.apps.apple_store), ("google", self.apps.google_store)):
            if address:
                tags += f'<meta name="install-{name}" content="{escape(address)}">\n'
        return tags


def _open_graph(title: str, description: str) -> str:
    """Return Open Graph metadata with content of the public preview."""
    return f"""<meta name="description" content="{escape(description)}">
<meta property="og:type" content="website">
<meta property="og:title" content="{escape(title)}">
<meta property="og:description" content="{escape(description)}">
"""


def _moment(text: str | None, texts: PageTexts) -> str:
    if text is None:
        return texts.no_end
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return f'<time datetime="{format_timestamp(moment)}">{texts.moment(moment)}</time>'
