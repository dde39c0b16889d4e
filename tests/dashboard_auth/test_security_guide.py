"""docs/security.md: every requirement of level 2 is there, and every row names a test that exists."""

import re
from pathlib import Path

import pytest

from checklist_crds.settings.names import API
from checklist_dev.repository import ROOT

GUIDE = ROOT / "docs" / "security.md"
HERE = Path(__file__).parent
ROW = re.compile(r"\| (\d+\.\d+\.\d+) \| (.+?) \| `([^`]+)` \|")
# Levels 1 and 2 of OWASP ASVS 5.0.0, chapters V6 (Authentication) and V7 (Session Management).
REQUIRED = {
    *(f"6.1.{n}" for n in range(1, 4)),
    *(f"6.2.{n}" for n in range(1, 13)),
    *(f"6.3.{n}" for n in range(1, 5)),
    *(f"6.4.{n}" for n in range(1, 5)),
    *(f"6.5.{n}" for n in range(1, 6)),
    *(f"6.6.{n}" for n in range(1, 4)),
    *(f"6.8.{n}" for n in range(1, 5)),
    *(f"7.1.{n}" for n in range(1, 4)),
    *(f"7.2.{n}" for n in range(1, 5)),
    *(f"7.3.{n}" for n in range(1, 3)),
    *(f"7.4.{n}" for n in range(1, 6)),
    *(f"7.5.{n}" for n in range(1, 3)),
    *(f"7.6.{n}" for n in range(1, 3)),
}


def _rows() -> list[tuple[str, str, str]]:
    return [match.groups() for match in map(ROW.fullmatch, GUIDE.read_text().splitlines()) if match]  # type: ignore[misc]


def test_every_requirement_of_level_two_has_a_row() -> None:
    rows = [number for number, _, _ in _rows()]
    assert set(rows) == REQUIRED
    assert len(rows) == len(set(rows))


def test_every_test_that_the_guide_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", GUIDE.read_text())
    assert len(named) > len(REQUIRED)
    for file, test in named:
        path = ROOT / file if "/" in file else HERE / file
        assert re.search(rf"^(async )?def {test}\(", path.read_text(), re.MULTILINE), f"{file}::{test}"


def test_every_threat_names_its_test() -> None:
    rows = []
    for table in GUIDE.read_text().split("| threat | answer | test |\n|---|---|---|\n")[1:]:
        rows += table.split("\n\n")[0].splitlines()
    assert len(rows) > 40
    for row in rows:
        threat, answer, test = (cell.strip() for cell in row.strip("| ").split(" | "))
        assert threat and answer
        assert re.fullmatch(r"`tests/[\w/]+\.py::test_\w+`", test), row


@pytest.mark.parametrize("word", ["OIDC", "SESSION", "REDIS", "SIGN_IN", "LOCAL"])
def test_settings_that_the_guide_names_exist(word: str) -> None:
    form = rf"CHECKLISTS_{word}_[A-Z_]+"
    known = {name for name in API if re.fullmatch(form, name)}
    named = set(re.findall(form, GUIDE.read_text()))
    assert named
    assert named <= known
