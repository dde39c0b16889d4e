"""`make flaky`: how often each test of a selection fails, beside a neighbour that uses a core."""

from pathlib import Path

import pytest

from checklist_dev.failures import Failure
from checklist_dev.flaky import run_often

SOMETIMES = """
from pathlib import Path
RUNS = Path(__file__).with_name("runs")

def test_steady():
    RUNS.open("a").write("x")

def test_second_run_fails():
    assert len(RUNS.read_text()) != 2
"""


def test_a_test_that_fails_once_is_counted_once_by_its_name(tmp_path: Path) -> None:
    selection = tmp_path / "test_sometimes.py"
    selection.write_text(SOMETIMES)
    count = run_often([str(selection)], times=2, neighbours=1, folder=tmp_path)
    assert (count.runs, count.tests) == (2, 2)
    [(name, failures)] = count.failures.items()
    assert name.endswith("::test_second_run_fails")
    assert failures == 1


def test_an_empty_selection_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no tests"):
        run_often([str(tmp_path)], times=1, neighbours=0, folder=tmp_path)
