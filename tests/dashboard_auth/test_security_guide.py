"""docs/security.md and docs/sign-in.md: every requirement of level 2 is there, and every row names a test."""

import re
from pathlib import Path

from checklist_crds.settings.names import API
from checklist_dev.repository import ROOT

GUIDE = "\n".join((ROOT / "docs" / page).read_text() for page in ("security.md", "sign-in.md"))
HERE = Path(__file__).parent
ROW = re.compile(r"\| (\d+\.\d+\.\d+) \| (.+?) \| `([^`]+)` \|")
# Levels 1 and 2 of OWASP ASVS 5.0.0, chapters V6 (Authentication) and V7 (Session Management).
SECTIONS = {"6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4}
SECTIONS |= {"7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2}
REQUIRED = {f"{section}.{number}" for section, count in SECTIONS.items() for number in range(1, count + 1)}


def test_every_requirement_of_level_two_has_a_row() -> None:
    rows = [match[1] for match in map(ROW.fullmatch, GUIDE.splitlines()) if match]
    assert sorted(rows) == sorted(REQUIRED)


def test_every_test_that_the_guide_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", GUIDE)
    assert len(named) > len(REQUIRED)
    for file, test in named:
        path = ROOT / file if "/" in file else HERE / file
        assert re.search(rf"^(async )?def {test}\(", path.read_text(), re.MULTILINE), f"{file}::{test}"


def test_every_threat_names_its_test() -> None:
    rows = []
    for table in GUIDE.split("| threat | answer | test |\n|---|---|---|\n")[1:]:
        rows += table.split("\n\n")[0].splitlines()
    assert len(rows) > 40
    for row in rows:
        threat, answer, test = (cell.strip() for cell in row.strip("| ").split(" | "))
        assert threat and answer
        assert re.fullmatch(r"`tests/[\w/]+\.py::test_\w+`", test), row


def test_settings_that_the_guide_names_exist() -> None:
    named = set(re.findall(r"CHECKLISTS_(?:OIDC|SESSION|REDIS|SIGN_IN|LOCAL)_[A-Z_]+", GUIDE))
    assert len(named) >= 5
    assert named <= set(API)
