"""The pages for people: what the server writes into them, which is what the preview gives, and how they are guarded.

What the app makes of its page is tested in a browser (`tests/browser`).
"""

import re
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
from tests.contract.conftest import Api, StartApi, shared_api
from tests.contract.executor_client import person_for, step

from checklist_api.executor.page_texts import ENGLISH, LANGUAGES
from checklist_api.http.examples import examples
from checklist_api.openapi.docs_page import docs_html
from checklist_api.openapi.document import OPERATIONS, openapi_document
from checklist_crds.ids import new_id
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.times import utc_now

api = shared_api

EVIL = "<script>alert(1)</script>\"'&\N{RIGHT-TO-LEFT OVERRIDE}"


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[str] = []
        self.meta: dict[str, str] = {}
        self.text = ""
        self.scripts = 0
        """Scripts from files. One that is written into the page counts as two."""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes += given
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src", "action", "srcset") if name in given]
        if tag == "script":
            self.scripts += 1 if given.get("src", "").startswith("./assets/") else 2
        if tag == "meta":
            self.meta[given.get("property") or given.get("name") or ""] = given.get("content", "")

    def handle_data(self, data: str) -> None:
        self.text += data


pytestmark = pytest.mark.usefixtures("web_app")


def assert_well_guarded(response: httpx.Response, html: Page, *, app: bool = False) -> None:
    """A page could do no harm without these headers either. Only that of the app (`app`) has a script, from a file."""
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "style-src 'self'" in policy.split("; ")
    assert "unsafe" not in policy
    assert ("script-src 'self'" in policy.split("; ")) is app
    assert {"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "microphone=()" in response.headers["Permissions-Policy"]
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert html.scripts == (1 if app else 0)
    assert not {"style", "img", "iframe", "form", "object", "base"} & set(html.tags)
    assert not [name for name in html.attributes if name.startswith("on") or name == "style"]
    assert not [link for link in html.links if re.match(r"[a-z]+:|//", link)]


async def get_page(api: Api, path: str) -> tuple[httpx.Response, Page]:
    response = await api.anonymous.get(path)
    return response, Page(response.text)


async def test_the_link_opens_a_page_with_what_the_preview_gives_and_where_the_run_stands(api: Api) -> None:
    person = await person_for(api, step("a"), step("b"), dispatch={"expires_in_hours": 24})
    preview = (await api.anonymous.get(f"/v1/runs/{person.run_id}/preview")).json()
    path = f"/r/{person.run_id}"
    response, page = await get_page(api, path)
    assert response.status_code == 200
    assert_well_guarded(response, page, app=True)
    for shown in (preview["template_name"], preview["created_by_name"], "2 steps", "Not started"):
        assert shown in page.text
    assert preview["expires_at"] in response.text
    assert response.headers["Permissions-Policy"].startswith("camera=(self), geolocation=(self)")
    assert (response.headers["Cache-Control"], page.meta["robots"]) == ("no-store", "noindex, nofollow")
    await person.answer("a")
    assert "Started" in (await get_page(api, path))[1].text
    await person.submit()
    response, page = await get_page(api, path)
    assert response.status_code == 200
    assert "Completed" in page.text
    assert "Open until" not in page.text
    cancelled = await person_for(api, step("a"))
    await cancelled.cancel()
    assert "Stopped" in (await get_page(api, f"/r/{cancelled.run_id}"))[1].text


async def test_link_previews_show_nothing_but_the_public_preview(api: Api) -> None:
    for texts in LANGUAGES.values():
        assert (set(texts.states), set(texts.refusals)) == (set(ENGLISH.states), set(ENGLISH.refusals))
        same = [name for name in ENGLISH.__slots__ if getattr(texts, name) == getattr(ENGLISH, name)]
        assert texts is ENGLISH or set(same) <= {"direction"}
    person = await person_for(api, step("a"), dispatch={"executor_ref": "internal reference"})
    response, page = await get_page(api, f"/r/{person.run_id}")
    tags = {name: text for name, text in page.meta.items() if name.startswith("og:")}
    assert tags == {"og:type": "website", "og:title": "Checklist", "og:description": "1 step, from Ada Lovelace"}
    for hidden in ("internal reference", api.organization, "hooks.example.com", "s-a"):
        assert hidden not in response.text


async def test_whatever_a_template_is_called_stays_text(api: Api) -> None:
    template = await api.account.create_template(name=EVIL)
    run = await api.account.dispatch(template["id"])
    response, page = await get_page(api, f"/r/{run['run_id']}")
    assert_well_guarded(response, page, app=True)
    assert EVIL in page.text
    assert page.meta["og:title"] == EVIL


LANGUAGES_ASKED_FOR = (
    ("de-CH,de;q=0.9,en;q=0.5", "de", ("Noch nicht begonnen", "2 Schritte", "Ohne JavaScript")),
    ("es", "es", ("Sin empezar", "2 pasos", "otro navegador")),
    ("it, fr;q=0.8, en;q=0.7", "fr", ("Pas encore commencée", "2 étapes", "autre navigateur")),
    ("ar-EG", "ar", ("لم تبدأ بعد", "خطوتان", "متصفح آخر")),
    ("ja,*;q=0.5", "en", ("Not started", "2 steps", "another browser")),
    ("de;q=0,;;,=,fr;q=x", "en", ("Not started",)),
)


async def test_the_page_without_scripts_speaks_the_browsers_language(api: Api) -> None:
    person = await person_for(api, step("a"), step("b"))
    for accepted, language, shown in LANGUAGES_ASKED_FOR:
        headers = {"Accept-Language": accepted}
        response = await api.anonymous.get(f"/r/{person.run_id}", headers=headers)
        assert response.headers["Vary"] == "Accept-Language"
        direction = "rtl" if language == "ar" else "ltr"
        assert f'<div id="preview" class="run" lang="{language}" dir="{direction}">' in response.text
        for text in shown:
            assert text in Page(response.text).text
        refused = await api.anonymous.get(f"/r/{new_id('r')}", headers=headers)
        assert refused.status_code == 404
        assert f'lang="{language}" dir="{direction}"' in refused.text


@pytest.mark.parametrize("path", ["/r", "/r/"])
async def test_a_link_that_is_cut_before_the_run_is_a_page_that_says_so(api: Api, path: str) -> None:
    response = await api.anonymous.get(path, headers={"Accept-Language": "de"}, follow_redirects=True)
    page = Page(response.text)
    assert (response.status_code, response.url.path) == (404, "/r/")
    assert_well_guarded(response, page, app=True)
    assert "Prüfen Sie, ob der Link vollständig ist." in page.text


async def test_a_run_that_cannot_be_shown_is_a_page_that_says_why(
    start_api: StartApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = utc_now()
    api = await start_api(clock=lambda: now)
    person = await person_for(api, step("a"), dispatch={"expires_in_hours": 1})

    async def refused(run_id: str, status: int, said: str) -> httpx.Response:
        response, page = await get_page(api, f"/r/{run_id}")
        assert response.status_code == status
        assert said in page.text
        assert "Ada Lovelace" not in page.text
        assert_well_guarded(response, page, app=True)
        return response

    for run_id in ("r-00000000-0000-4000-8000-000000000000", "r-1", "%3Cscript%3E", "x" * 3000):
        await refused(run_id, 404, "Checklist not found")
    assert (await api.anonymous.get(f"/r/{person.run_id}")).status_code == 200
    now += timedelta(hours=1)
    await refused(person.run_id, 410, "expired")

    async def down(_: str) -> None:
        raise KubeUnavailable("for the test")

    monkeypatch.setattr(api.services.run_access, "by_id", down)
    response = await refused(person.run_id, 503, "Not available right now")
    assert int(response.headers["Retry-After"]) >= 1


def test_the_documentation_describes_every_operation_event_and_schema_at_an_anchor() -> None:
    document: dict[str, Any] = openapi_document("https://checklists.example")
    docs = Page(docs_html(document))
    wanted = {operation.id for operation in OPERATIONS}
    wanted |= {"event-" + name.replace(".", "-") for name in document["webhooks"]}
    wanted |= {f"schema-{name}" for name in document["components"]["schemas"]} - {"schema-JsonValue"}
    assert wanted | {link[1:] for link in docs.links if link.startswith("#")} <= set(docs.ids)
    assert len(docs.ids) == len(set(docs.ids))
    texts = (examples.RUN_ID, '"error": "quota_exceeded"', "required_steps_missing", "Signature-Input")
    for shown in (*texts, *(operation.path for operation in OPERATIONS)):
        assert shown in docs.text


async def test_landing_page_documentation_and_style_sheet_are_found_behind_a_path_prefix(api: Api) -> None:
    for path in ("/", "/docs"):
        response, page = await get_page(api, path)
        assert_well_guarded(response, page)
        assert path == "/docs" or {"docs", "v1/openapi.json"} <= set(page.links)
        assert path == "/" or "https://checklists.example" in page.text
    person = await person_for(api, step("a"))
    for path in ("/", "/docs", f"/r/{person.run_id}"):
        _, page = await get_page(api, path)
        sheet = next(link for link in page.links if link.endswith(".css") and "pages/" in link)
        prefixed = httpx.URL(f"https://example.com/prefix{path}").join(sheet)
        assert prefixed.path.startswith("/prefix/pages/style."), path
    response = await api.anonymous.get(prefixed.path.removeprefix("/prefix"))
    assert response.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in response.headers["Cache-Control"]
    assert "url(" not in response.text
    assert "@import" not in response.text
    assert "prefers-color-scheme: dark" in response.text
    for other in ("pages/style.css", "pages/..%2fapp.py", "pages/app.py"):
        assert (await api.anonymous.get(f"/{other}")).status_code == 404
