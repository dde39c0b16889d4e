"""Installs the npm packages in the lock file of a folder. Standard library only, like `node` and `build`."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from checklist_dev.failures import Failure
from checklist_dev.system.progress import Report, last_word, run_with_progress
from checklist_dev.web.node import Node

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Errors of the bundler (`[UNRESOLVED_IMPORT] Could not ...`), of npm and Node, then any line with "error".
_ERROR_PATTERNS = tuple(
    map(re.compile, (r"^\[[A-Z_]{3,}\] ", r"^npm error (?!code|A complete)", r"Error: .", r"(?i)error"))
)
_NPM_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")


def packages_are_current(folder: Path) -> bool:
    """Compare with npm's record in node_modules, which npm writes last: an interrupted `npm ci` does not count."""
    try:
        wanted = json.loads((folder / "package-lock.json").read_text())["packages"]
        found = json.loads((folder / "node_modules" / ".package-lock.json").read_text())["packages"]
    except (OSError, ValueError, KeyError):
        return False
    return all(
        found.get(name, {}).get("version") == package.get("version")
        for name, package in wanted.items()
        if name and not package.get("optional")  # those are of other systems
    )


def install_packages(folder: Path, name: str, node: Node, env: Mapping[str, str], report: Report) -> None:
    """Reinstall node_modules of `folder`, called `name` in messages. Raises Failure."""
    count = (folder / "package-lock.json").read_text().count('"integrity"')
    report(f"installing {count} packages of {name}/package-lock.json")
    code, lines = run_with_progress([*node.npm, *_NPM_CI], folder, node.env(env), "lines", report)
    if code != 0:
        raise Failure(f"the packages of {name} could not be installed: {reason_of(code, lines)}")


def reason_of(code: int, lines: Sequence[str]) -> str:
    """The line with the error; these tools end with a stack trace or a hint."""
    plain = [_COLOUR.sub("", line).strip() for line in lines]
    for pattern in _ERROR_PATTERNS:
        for line in plain:
            if pattern.search(line):
                return line
    return last_word(code, plain)
