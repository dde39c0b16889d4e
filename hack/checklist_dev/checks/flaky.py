"""Runs a selection of tests many times next to a busy process, and counts how often each test fails.

The busy process uses one core completely, like another build on the same machine. A test that fails once in twenty
runs depends on the speed of the machine or on an unguaranteed order: find out which, and fix the test or the product.

    make flaky ARGS="tests/contract/dashboard/test_live.py"
    make flaky ARGS="--times 50 tests/unit -k lease"
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from checklist_dev.failures import Failure, run_tool, say
from checklist_dev.perf.load.neighbours import busy_neighbours
from checklist_dev.repository import ROOT

TIMES: Final = 20
_NO_TESTS: Final = 5  # pytest's exit status
_RAN: Final = (0, 1)


@dataclass(slots=True)
class Count:
    """Counts over several runs of one selection: runs, and failures by test."""

    runs: int = 0
    tests: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, report: Path) -> list[str]:
        """Count one run by its JUnit report; returns the failed tests."""
        cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314 - pytest has just written it
        failed = sorted({_name(case) for case in cases if {part.tag for part in case} & {"failure", "error"}})
        self.runs += 1
        self.tests = max(self.tests, len(cases))
        self.failures.update(failed)
        return failed


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"


def run_often(arguments: Sequence[str], *, times: int, neighbours: int, folder: Path) -> Count:
    """Run pytest `times` times. Raises Failure if it cannot run the selection."""
    count = Count()
    with busy_neighbours(neighbours, folder):
        for number in range(1, times + 1):
            report, output = folder / f"{number}.xml", folder / f"{number}.txt"
            started = time.monotonic()
            with output.open("w") as file:
                status = subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "pytest",
                        "-q",
                        "-p",
                        "no:cacheprovider",
                        f"--junit-xml={report}",
                        *arguments,
                    ],
                    cwd=ROOT,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    check=False,
                ).returncode
            if status == _NO_TESTS:
                raise Failure("the selection has no tests")
            if status not in _RAN:
                raise Failure(f"pytest ended with exit code {status} (see {output})")
            failed = count.add(report)
            verdict = f"{len(failed)} failed (see {output})" if failed else "passed"
            say(f"run {number} of {times}: {verdict}, {time.monotonic() - started:.0f} s")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.checks.flaky",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="All other arguments are pytest's.",
    )
    parser.add_argument("--times", type=int, default=TIMES, help="number of runs (default: %(default)s)")
    parser.add_argument(
        "--neighbours", type=int, default=1, help="busy processes, one core each (default: %(default)s)"
    )
    options, arguments = parser.parse_known_args()
    if options.times < 1 or options.neighbours < 0:
        parser.error("--times must be at least 1 and --neighbours at least 0")
    if not arguments:
        parser.error("give the tests to run, as for pytest")
    folder = Path(tempfile.mkdtemp(prefix="flaky-"))
    count = run_often(arguments, times=options.times, neighbours=options.neighbours, folder=folder)
    for name, failures in count.failures.most_common():
        print(f"{failures} of {count.runs}  {name}")
    print(f"{count.tests} tests, {count.runs} runs, {len(count.failures)} tests failed at least once")
    return 1 if count.failures else 0


if __name__ == "__main__":
    run_tool(main)
