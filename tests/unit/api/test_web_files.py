"""What the API serves of the web app: which body a client gets, and which native apps settings may name."""

import pytest

from checklist_api.executor.page import BARE_SHELL, BODY_MARK, HEAD_MARK, SHELL_TITLE
from checklist_api.pages.web_files import best_coding
from checklist_api.settings.app_links import AndroidApp, AppLinks
from checklist_crds.settings.reading import read_group
from checklist_dev.repository import ROOT

BODIES = {"identity": b"x" * 100, "gzip": b"x" * 50, "br": b"x" * 40}


def test_the_shortest_body_that_the_client_takes_is_chosen() -> None:
    for accepted, coding in {
        "": "identity",
        "gzip, deflate, br, zstd": "br",
        "GZIP;q=1.0, br;q=0": "gzip",
        "br;q=0.000, *": "gzip",
        "*": "br",
        "*;q=0, gzip": "gzip",
        "br;q=nonsense": "identity",
        "identity, deflate": "identity",
    }.items():
        assert best_coding(accepted, BODIES) == coding, accepted


PRINT = ":".join(["AB"] * 32)


def test_several_apps_are_named_with_commas_between() -> None:
    apple = "ABCDE12345.com.example.one, FGHIJ67890.com.example.two"
    android = f"com.example.one {PRINT}, com.example.two {PRINT}"
    links = read_group(AppLinks, {"CHECKLISTS_APPLE_APPS": apple, "CHECKLISTS_ANDROID_APPS": android})
    assert read_group(AppLinks, {}) == AppLinks()
    assert links.apple_apps == ("ABCDE12345.com.example.one", "FGHIJ67890.com.example.two")
    assert links.android_apps == (AndroidApp("com.example.one", PRINT), AndroidApp("com.example.two", PRINT))
    assert len(links.android_association()) == 2
    assert links.google_store == "https://play.google.com/store/apps/details?id=com.example.one"


def test_what_does_not_name_an_app_is_refused_with_the_settings_name() -> None:
    for name, value in (
        ("CHECKLISTS_APPLE_APPS", "com.example.app"),
        ("CHECKLISTS_APPLE_APPS", 'ABCDE12345.com.example"><script>'),
        ("CHECKLISTS_APPLE_STORE_ID", "id123456789"),
        ("CHECKLISTS_ANDROID_APPS", "com.example.app"),
        ("CHECKLISTS_ANDROID_APPS", f"com.example.app {PRINT.lower()}"),
        ("CHECKLISTS_ANDROID_APPS", f"app {PRINT}"),
    ):
        with pytest.raises(ValueError, match=name) as refused:
            read_group(AppLinks, {name: value})
        assert "\n" not in str(refused.value)


def test_the_page_has_a_place_for_all_that_the_server_writes_into_it() -> None:
    source = (ROOT / "api" / "web" / "executor" / "index.html").read_text()
    for mark in (SHELL_TITLE, HEAD_MARK, BODY_MARK):
        assert source.count(mark) == BARE_SHELL.count(mark) == 1
