"""What failed once is looked at again, alone, and never forgotten; what fails twice fails."""

from pathlib import Path

import pytest

from checklist_dev.second_look import MOST, look

ONCE = """
from pathlib import Path

def test_fails_at_first():
    seen = Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError("too slow")

def test_good():
    pass
"""


def _suite(folder: Path, text: str) -> list[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_them.py").write_text(text)
    return ["-q", "test_them.py"]


def test_what_passes_alone_passes_and_is_told_by_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert look(_suite(tmp_path, ONCE), tmp_path) == 0
    told = capfd.readouterr()
    assert "too slow" in told.out
    assert "passed only at the second look" in told.err
    assert "test_them.py::test_fails_at_first" in told.err
    assert "test_good" not in told.err


def test_what_fails_again_fails(tmp_path: Path) -> None:
    assert look(_suite(tmp_path, "def test_bad():\n    assert False\n"), tmp_path) == 1


def test_many_failures_get_no_second_look(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    many = ONCE.replace(
        "def test_fails_at_first():",
        f"import pytest\n@pytest.mark.parametrize('n', range({MOST + 1}))\ndef test_fails_at_first(n):",
    )
    assert look(_suite(tmp_path, many.replace('"seen"', 'f"seen-{n}"')), tmp_path) == 1
    assert "not looked at again" in capfd.readouterr().err


def test_a_file_that_cannot_be_read_fails(tmp_path: Path) -> None:
    assert look(_suite(tmp_path, "import no_such_module\n"), tmp_path) != 0


def test_all_good_is_good_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert look(_suite(tmp_path, "def test_good():\n    pass\n"), tmp_path) == 0
    assert "second look" not in capfd.readouterr().err
