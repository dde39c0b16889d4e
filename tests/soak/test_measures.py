"""What `make soak` reads from the kernel and from metrics."""

import os
import subprocess
import sys

import pytest

from checklist_dev.soak.flatness import Bound, Verdict
from checklist_dev.soak.measures import MEASURES, Scraped, family_of, resident_mib
from checklist_dev.soak.report import Outcome, table

TEXT = """# HELP of_watches Long running requests.
of_watches{group="checklists.dev",resource="runs",verb="WATCH"} 3
of_watches{group="checklists.dev",resource="templates",verb="WATCH"} 2
of_watches{group="",resource="pods",verb="WATCH"} 7
big 1.5e+06
other{of="a",text="quoted \\" } brace"} 4
"""


def test_samples_are_summed_by_their_labels() -> None:
    told = Scraped.of(TEXT, ("of_watches", "big", "other", "missing"))
    assert told.total("of_watches") == 12
    assert told.total("of_watches", lambda labels: labels["group"] == "checklists.dev") == 5
    assert told.total("big") == 1_500_000
    assert told.total("other", lambda labels: labels["of"] == "a") == 4


def test_what_is_not_told_is_none_and_not_zero() -> None:
    assert Scraped.of(TEXT, ("missing",)).total("missing") is None
    assert Scraped.of(TEXT, ("big",)).total("of_watches") is None


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_family_holds_what_a_process_has_started() -> None:
    with subprocess.Popen(["sleep", "30"]) as child:
        assert child.pid in family_of(os.getpid())
        assert resident_mib(os.getpid()) > 10
        child.terminate()
    assert child.pid not in family_of(os.getpid())


def test_every_measure_has_a_name_of_its_own() -> None:
    assert len({measure.name for measure in MEASURES}) == len(MEASURES)


def test_a_report_names_what_is_broken() -> None:
    leaks = Verdict("API: memory", "MiB", Bound(20), 100, 120, 140, 140, 60, holds=False, why="it rises")
    flat = Verdict("watches", "", Bound(3), 100, 18, 18, 18, 0, holds=True)
    outcome = Outcome({"seed": 1}, [leaks, flat])
    assert outcome.broken == ["API: memory: it rises"]
    assert outcome.as_json()["holds"] is False
    lines = table(outcome.verdicts).splitlines()
    assert lines[2].startswith("BROKEN  API: memory")
    assert lines[3].startswith("flat    watches")
