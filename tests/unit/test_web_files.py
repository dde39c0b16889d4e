"""Built files: which body a client gets, and how long it may keep it."""

from pathlib import Path

import pytest

from checklist_api.web_files import WebFiles, best_coding

BODIES = {"identity": b"x" * 100, "gzip": b"x" * 50, "br": b"x" * 40}


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", "identity"),
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "br"),
        ("GZIP;q=1.0, br;q=0", "gzip"),
        ("br;q=0.000, *", "gzip"),
        ("*", "br"),
        ("*;q=0, gzip", "gzip"),
        ("br;q=nonsense", "identity"),
        ("identity, deflate", "identity"),
    ],
)
def test_the_shortest_body_that_the_client_takes_is_chosen(accepted: str, coding: str) -> None:
    assert best_coding(accepted, BODIES) == coding


def test_files_are_known_by_their_addresses_with_all_their_bodies(tmp_path: Path) -> None:
    assert WebFiles.read(tmp_path / "nothing") == WebFiles()
    (tmp_path / "assets").mkdir()
    texts = {"index.html": "page", "sw.js": "worker", "assets/app-1.js": "app", "assets/app-1.js.br": "b"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = WebFiles.read(tmp_path)
    assert found.page == "page"
    assert set(found.files) == {"sw.js", "assets/app-1.js"}
    assert found.files["assets/app-1.js"].bodies == {"identity": b"app", "br": b"b"}
    assert "immutable" in found.files["assets/app-1.js"].cache
    assert found.files["sw.js"].cache == "no-cache"
