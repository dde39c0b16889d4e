"""`make chart`: everything about the chart, on a real Kubernetes API always, with real pods where a node can be had.

Says plainly which of the two it was.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from checklist_dev.chart_files import stale
from checklist_dev.chart_tools import TOOLS, find_tool, pinned_version
from checklist_dev.failures import run_tool, say
from checklist_dev.repository import ROOT

TESTS: Final = ROOT / "tests"
PARTS: Final = (
    ("lint, values, rendering, validity", "chart_render"),
    ("install, upgrade, rollback, uninstall on a real Kubernetes API", "chart_install"),
    ("API and operator with exactly the rights of their ServiceAccounts", "chart_rbac"),
)
NODE_PART: Final = ("the same with real pods", "chart")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.chart_run", description=__doc__)
    parser.add_argument("arguments", nargs="*", help="for pytest")
    arguments = parser.parse_args().arguments
    for tool in TOOLS:
        say(f"{tool.name} {pinned_version(tool)}: {find_tool(tool)}")
    if wrong := stale():
        say(f"not current: {', '.join(str(file.relative_to(ROOT)) for file in wrong)}; make chart-files")
        return 1
    failed = False
    for what, folder in PARTS:
        failed |= not _tests(what, TESTS / folder, arguments)
    if (TESTS / NODE_PART[1]).is_dir():
        failed |= not _tests(NODE_PART[0], TESTS / NODE_PART[1], arguments)
    _tell_where()
    return 1 if failed else 0


def _tests(what: str, folder: Path, arguments: list[str]) -> bool:
    say(f"== {what}")
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-rs", str(folder), *arguments]
    passed = subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    say(f"== {what}: {'passed' if passed else 'FAILED'} in {time.monotonic() - started:.0f} s")
    return passed


def _tell_where() -> None:
    say("on a real Kubernetes API (etcd and kube-apiserver, RBAC on): yes")
    given = [name for name in ("CHECKLISTS_TEST_KUBECONFIG", "CHECKLISTS_TEST_NODE") if os.environ.get(name)]
    if given:
        say(f"with real pods: on the cluster of {given[0]}, unless a line above says that it was skipped")
    else:
        say("with real pods: only where a line above does not say that it was skipped (kind needs Docker; a cluster is")
        say("given by CHECKLISTS_TEST_KUBECONFIG, or a command that starts one by CHECKLISTS_TEST_NODE)")


if __name__ == "__main__":
    run_tool(main)
