"""Files of the API: the web app, and working folders of its processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from checklist_api.executor.page import BARE_SHELL, BODY_MARK, HEAD_MARK, SHELL_TITLE, ExecutorPage
from checklist_api.executor.page_texts import LANGUAGES
from checklist_api.http.working_folder import PREFIX, WorkingFolder, remove_left_behind
from checklist_api.pages.web_files import best_coding
from checklist_api.runs.models import RunPreview
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


def test_the_page_loads_the_texts_of_its_language_beside_the_app() -> None:
    links = [f'<link rel="modulepreload" data-language="{name}" href="./assets/{name}-x.js">' for name in ("de", "en")]
    page = ExecutorPage(BARE_SHELL.replace("</head>", "\n".join([*links, "</head>"])), read_group(AppLinks, {}))
    preview = RunPreview(
        run_id=f"r-{uuid4()}", status="pending", template_name="a", step_count=1, created_by_name="b", expires_at=None
    )
    for language, (its, other) in {"de": links, "en": links[::-1]}.items():
        text = page.of_run(preview, LANGUAGES[language])
        assert (text.count(its), other in text) == (1, False)
    assert not any(link in page.of_run(preview, LANGUAGES["fr"]) + page.empty() for link in links)


OWNER = """
import sys, time
from pathlib import Path
from checklist_api.http.working_folder import WorkingFolder
folder = WorkingFolder(Path(sys.argv[1]))
if len(sys.argv) > 2:
    folder.path = folder.path.with_name(sys.argv[2])
folder.take()
(folder.path / "pdf-abc").mkdir()
(folder.path / "pdf-abc" / "image").write_bytes(b"a photo")
print(folder.path, flush=True)
time.sleep(600)
"""


class Owner:
    """Another process that works in a folder of its own, which has a PDF on the way."""

    def __init__(self, parent: Path, *name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(parent), *name], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.folder = Path(self._process.stdout.readline().strip())

    @property
    def works(self) -> bool:
        return (self.folder / "pdf-abc" / "image").exists()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate()


@pytest.fixture
def owners() -> Iterator[list[Owner]]:
    made: list[Owner] = []
    yield made
    for owner in made:
        owner.kill()


def test_folders_of_killed_processes_are_removed(tmp_path: Path, owners: list[Owner]) -> None:
    """A number may be counted in another container; and ours, after a restart there, is mostly the one of before."""
    owners += [Owner(tmp_path, f"{PREFIX}{os.getpid()}-bb"), Owner(tmp_path, f"{PREFIX}{2**22 + 1}-aa")]
    killed, living = owners
    remove_left_behind(tmp_path)
    assert all(owner.works for owner in owners)
    killed.kill()
    assert killed.works, "no process was left to clear up"
    ours = WorkingFolder(tmp_path)
    ours.take()
    assert living.works
    assert sorted(tmp_path.glob(f"{PREFIX}*/")) == sorted([living.folder, ours.path])
    ours.release()
    assert set(tmp_path.iterdir()) == set(tmp_path.glob(f"{living.folder.name}*"))
    first, second = WorkingFolder(tmp_path / "of one"), WorkingFolder(tmp_path / "of one")  # of one process
    first.take()
    second.take()
    (first.path / "upload").write_bytes(b"x")
    second.release()
    assert (first.path / "upload").exists()
    first.release()
    assert list((tmp_path / "of one").iterdir()) == []


def test_folders_without_a_lock_go_when_no_process_has_their_number_and_foreign_ones_stay(tmp_path: Path) -> None:
    without_lock = [tmp_path / f"{PREFIX}{process}" for process in (2**22 + 1, os.getpid(), os.getppid())]
    foreign = [tmp_path / "pdf-abc", tmp_path / f"{PREFIX}7-cc", tmp_path / f"{PREFIX}notes"]
    for folder in without_lock + foreign:
        folder.mkdir()
    remove_left_behind(tmp_path)
    assert [folder.exists() for folder in without_lock] == [False, False, True]
    assert all(folder.exists() for folder in foreign)
