"""The files of the executor app as they are served, and what native apps read."""

import gzip
from pathlib import Path

import httpx
import pytest
from tests.contract.conftest import Api, StartApi, shared_api
from tests.contract.executor.test_pages import Page
from tests.contract.executor_client import person_for, step

api = shared_api

pytestmark = pytest.mark.usefixtures("web_app")

APPLE_APP = "ABCDE12345.com.example.checklists"
FINGERPRINT = ":".join(f"{number:02X}" for number in range(32))
APPS = {
    "CHECKLISTS_APPLE_APPS": APPLE_APP,
    "CHECKLISTS_APPLE_STORE_ID": "123456789",
    "CHECKLISTS_ANDROID_APPS": f"com.example.checklists {FINGERPRINT}",
}


@pytest.fixture
def script(web_app: Path) -> str:
    return f"/r/assets/{next(path.name for path in (web_app / 'assets').glob('app-*.js'))}"


async def test_hashed_files_are_kept_for_good_and_come_compressed(api: Api, script: str, web_app: Path) -> None:
    content = (web_app / "assets" / Path(script).name).read_bytes()
    lengths = {}
    for coding in ("identity", "gzip", "br"):
        async with api.anonymous.stream("GET", script, headers={"Accept-Encoding": coding}) as response:
            raw = b"".join([chunk async for chunk in response.aiter_raw()])
        assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert response.headers["Vary"] == "Accept-Encoding"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers.get("Content-Encoding", "identity") == coding
        lengths[coding] = len(raw)
        if coding == "gzip":
            assert gzip.decompress(raw) == content
    assert lengths["br"] < lengths["gzip"] < lengths["identity"] == len(content)


async def test_the_service_worker_keeps_its_name_and_is_asked_for_each_time(api: Api) -> None:
    first = await api.anonymous.get("/r/sw.js")
    assert first.status_code == 200
    assert first.headers["Cache-Control"] == "no-cache"
    policy = first.headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "connect-src 'self'", "script-src 'self'"} <= set(policy)
    again = await api.anonymous.get("/r/sw.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["Content-Security-Policy"] == first.headers["Content-Security-Policy"]


async def test_the_page_of_no_run_has_all_its_files_at_relative_addresses_and_no_other_is_served(api: Api) -> None:
    response = await api.anonymous.get("/r/index.html")
    assert (response.status_code, response.headers["Cache-Control"]) == (200, "no-cache")
    page = Page(response.text)
    assert page.links
    for link in page.links:
        address = httpx.URL("https://example.com/prefix/r/index.html").join(link)
        assert address.path.startswith("/prefix/"), link
        response = await api.anonymous.get(address.path.removeprefix("/prefix"))
        assert response.status_code == 200, link
        assert "html" not in response.headers["Content-Type"]
    assert not [name for name in page.meta if name.startswith("og:")]
    assert "preview" not in page.ids
    assert page.scripts == 1
    for other in ("assets/app.js", "assets/..%2findex.html", "icons/nothing.png", "assets/", "sw.js.br"):
        assert (await api.anonymous.get(f"/r/{other}")).status_code == 404


async def test_installations_name_the_apps_that_take_run_links_and_the_page_offers_them(start_api: StartApi) -> None:
    api = await start_api(**APPS)
    apple = await api.anonymous.get("/.well-known/apple-app-site-association")
    (details,) = apple.json()["applinks"]["details"]
    assert details["appIDs"] == [APPLE_APP]
    assert [component["/"] for component in details["components"]] == ["/r/r-*"]
    android = await api.anonymous.get("/.well-known/assetlinks.json")
    (statement,) = android.json()
    assert statement["relation"] == ["delegate_permission/common.handle_all_urls"]
    assert statement["target"]["package_name"] == "com.example.checklists"
    assert statement["target"]["sha256_cert_fingerprints"] == [FINGERPRINT]
    # While there is something to answer, and no longer.
    person = await person_for(api, step("a"))
    stores = {
        "https://apps.apple.com/app/id123456789",
        "https://play.google.com/store/apps/details?id=com.example.checklists",
    }
    page = Page((await api.anonymous.get(f"/r/{person.run_id}")).text)
    assert stores <= set(page.links)
    assert {page.meta["install-apple"], page.meta["install-google"]} == stores
    assert page.meta["apple-itunes-app"] == "app-id=123456789"
    await person.cancel()
    assert not stores & set(Page((await api.anonymous.get(f"/r/{person.run_id}")).text).links)


async def test_the_first_load_is_at_most_100_kb_and_without_an_app_there_is_none_to_install(api: Api) -> None:
    for name in ("apple-app-site-association", "assetlinks.json"):
        assert (await api.anonymous.get(f"/.well-known/{name}")).status_code == 404
    person = await person_for(api, step("a"))
    page = await api.anonymous.get(f"/r/{person.run_id}")
    for word in ("apple-itunes-app", "install-", "apps.apple.com", "play.google.com"):
        assert word not in page.text
    total = len(page.content)
    for link in Page(page.text).links:
        if not link.startswith("./"):
            continue  # of the page without scripts
        async with api.anonymous.stream("GET", f"/r/{link[2:]}", headers={"Accept-Encoding": "gzip"}) as response:
            total += len(b"".join([chunk async for chunk in response.aiter_raw()]))
    assert 10_000 < total <= 100_000
