"""All tests, and a second look at the few that failed while others ran beside them.

Four processes share the processors with browsers, API servers and each other, so now and then a machine is too slow for
one test. What fails once is run again, alone; what then passes is told by name and its first failure stays printed, so
that nobody takes it for passed at once. More than a few failures are no matter of speed: there is no second look.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from checklist_dev.failures import run_tool, say
from checklist_dev.repository import ROOT

MOST: Final = 10
"""Failures that may be looked at again."""
_SOME_FAILED: Final = 1  # pytest's exit status


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.second_look", description=__doc__, epilog="All other arguments are pytest's."
    )
    _, arguments = parser.parse_known_args()
    return look(arguments, ROOT)


def look(arguments: list[str], folder: Path) -> int:
    """pytest's exit status, there; of the second look, when there was one."""
    last_failed = folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    last_failed.unlink(missing_ok=True)
    status = _pytest(arguments, folder)
    if status != _SOME_FAILED:
        return status
    failed = sorted(json.loads(last_failed.read_text())) if last_failed.is_file() else []
    if not 0 < len(failed) <= MOST:
        say(f"{len(failed)} failed: more than {MOST} are not looked at again")
        return status
    say(f"\n== a second look: {len(failed)} failed while others ran; each again, alone")
    status = _pytest(failed, folder)
    if status == 0:
        say("\n== passed only at the second look (their first failures are printed above):")
        for name in failed:
            say(f"   {name}")
    return status


def _pytest(arguments: list[str], folder: Path) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=folder, check=False).returncode


if __name__ == "__main__":
    run_tool(main)
