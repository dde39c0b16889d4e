"""`make audit`: looks up known vulnerabilities of every package in the lock files, with pip-audit and `npm audit`.

pip-audit is installed apart from the packages of the project (`hack/audit/`). Exit code 1 for vulnerabilities; with
`--strict`, 2 if a database could not be queried.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checklist_dev.failures import Failure, run_tool, say
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder, packages_once
from checklist_dev.web.node import find_node

TOOL_LOCK: Final = ROOT / "hack" / "audit" / "requirements.lock"
_WITHIN_S: Final = 90
_SKIPPED: Final = (".cache", ".run", ".venv", "node_modules")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result for one lock file. `weak`: a line per vulnerability; `not_asked`: packages not looked up, due to `why`."""

    packages: int
    weak: tuple[str, ...] = ()
    not_asked: int = 0
    why: str = ""

    def line(self) -> str:
        asked = self.packages - self.not_asked
        line = f"{asked} of {self.packages} packages asked for, {len(self.weak)} known weaknesses"
        return f"{line}; NOT ASKED: {self.not_asked} ({self.why})" if self.not_asked else line


def of_python(output: str, names: Sequence[str], complaint: str) -> Verdict:
    """Parse pip-audit's JSON output for a lock file with packages `names`."""
    try:
        results = {str(one["name"]).lower(): one for one in json.loads(output)["dependencies"]}
    except (ValueError, KeyError, TypeError):
        return Verdict(len(names), not_asked=len(names), why=complaint or "pip-audit gave no answer")
    weak = [
        f"{one['name']} {one['version']}: {found['id']}, fixed in {', '.join(found['fix_versions']) or 'none yet'}"
        for one in results.values()
        for found in one.get("vulns", ())
    ]
    skipped = [one["skip_reason"] for one in results.values() if "skip_reason" in one]
    missing = [name for name in names if name.lower() not in results]
    why = skipped[0] if skipped else f"{missing[0]} was left out" if missing else ""
    return Verdict(len(names), tuple(weak), len(skipped) + len(missing), why)


def of_npm(output: str, packages: int) -> Verdict:
    """Parse the output of `npm audit --json` for a lock file with `packages` packages."""
    try:
        found: Mapping[str, Any] = json.loads(output)["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        return Verdict(packages, not_asked=packages, why=_complaint_of_npm(output))
    weak = [f"{name} {one.get('range', '')}: {one.get('severity', 'unknown')}" for name, one in found.items()]
    return Verdict(packages, tuple(weak))


def python_names(lock: str) -> list[str]:
    """Packages of a hashed requirements file, which has `name==version` at the beginning of lines."""
    return [
        line.partition("==")[0].partition("[")[0] for line in lock.splitlines() if "==" in line and line[0].isalnum()
    ]


def _complaint_of_npm(output: str) -> str:
    try:
        answer = json.loads(output)
        return str(answer.get("message") or answer["error"]["summary"]).splitlines()[0].partition(" - ")[0]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return "npm gave no answer"


def audit(env: Mapping[str, str] = os.environ) -> dict[str, Verdict]:
    """Verdict by lock file (path in the repository). Raises Failure if a tool cannot be installed."""
    found: dict[str, Verdict] = {}
    tool = _pip_audit(env)
    for lock in _locks("requirements.lock"):
        say(f"asking for {lock}")
        options = ("--disable-pip", "--require-hashes", "--format", "json", "--progress-spinner", "off")
        command = [sys.executable, "-m", "pip_audit", "-r", str(ROOT / lock), *options]
        output, complaint = _output_of(command, ROOT, {**env, "PYTHONPATH": str(tool)})
        found[lock] = of_python(output, python_names((ROOT / lock).read_text()), complaint)
    node = find_node(cache_folder(env), env, report=say)
    npm = shutil.which("npm", path=node.env(env).get("PATH"))
    if npm is None:
        raise Failure("npm is missing")
    for lock in _locks("package-lock.json"):
        say(f"asking for {lock}")
        packages = json.loads((ROOT / lock).read_text())["packages"]
        command = [npm, "audit", "--json", "--package-lock-only"]
        output, _ = _output_of(command, (ROOT / lock).parent, node.env(env))
        found[lock] = of_npm(output, len(packages) - 1)
    return found


def _locks(name: str) -> list[str]:
    return sorted(
        str(path.relative_to(ROOT))
        for path in ROOT.rglob(name)
        if not any(part in _SKIPPED for part in path.relative_to(ROOT).parts)
    )


def _output_of(command: list[str], folder: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """Standard output, and the last line of standard error."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_WITHIN_S} s"
    return done.stdout, (done.stderr.strip().splitlines() or [""])[-1][:200]


def _pip_audit(env: Mapping[str, str]) -> Path:
    """The packages of the tool, in the user's cache."""
    digest = hashlib.sha256(TOOL_LOCK.read_bytes()).hexdigest()[:12]
    folder = cache_folder(env) / f"pip-audit-{digest}-packages-python{sys.version_info.major}.{sys.version_info.minor}"
    return packages_once(folder, TOOL_LOCK, "pip-audit", say, env)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.release.audit", description=__doc__.split("\n\n")[0])
    parser.add_argument("--strict", action="store_true", help="exit code 2 when a database could not be asked")
    arguments = parser.parse_args()
    verdicts = audit()
    for lock, verdict in verdicts.items():
        print(f"{lock}: {verdict.line()}")
        for weakness in verdict.weak:
            print(f"  {weakness}")
    if any(verdict.weak for verdict in verdicts.values()):
        return 1
    if any(verdict.not_asked for verdict in verdicts.values()):
        print("a database could not be reached: the result is incomplete")
        return 2 if arguments.strict else 0
    return 0


if __name__ == "__main__":
    run_tool(main)
