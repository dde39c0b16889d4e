"""Writes `hack/image/requirements.lock`, the part of requirements.lock in the image, and `cjk-requirements.lock`, the
additional packages of the variant with fonts for Chinese, Japanese and Korean.

There is no second resolution: the requirements of the project and its extras `otel` and `redis` (variant: `cjk`) are
followed through the installed packages, and their blocks copied. So the image contains the packages that were tested.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT

FULL = ROOT / "requirements.lock"
RUNTIME = ROOT / "hack" / "image" / "requirements.lock"
CJK = RUNTIME.with_name("cjk-requirements.lock")
EXTRAS = ("otel", "redis")
_NAME = re.compile(r"^([A-Za-z0-9._-]+)==")


def blocks(lock: str) -> dict[str, str]:
    """Lines of each package in the lock file (`name==version ; marker \\`, then the hashes), by name."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if start := _NAME.match(line):
            name = canonicalize_name(start[1])
        if name and not line.startswith("#"):
            found[name] = found.get(name, "") + line
    return found


def runtime_lock(lock: str, direct: Iterable[str]) -> str:
    """The blocks of the requirements `direct` and of everything they require. Raises Failure."""
    locked = blocks(lock)
    waiting = [Requirement(text) for text in direct]
    seen: dict[str, set[str]] = {}
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = set(requirement.extras)
        if name in seen and extras <= seen[name]:
            continue
        if name not in locked:
            if requirement.marker is None:
                raise Failure(f"requirements.lock has no {name}: make lock")
            continue  # for a Python or system that the lock file does not cover
        seen.setdefault(name, set()).update(extras)
        waiting.extend(_needs(name, seen[name]))
    return "".join(locked[name] for name in sorted(seen))


def direct_requirements(pyproject: Mapping[str, Any]) -> list[str]:
    """Requirements of the project and of the extras in the image."""
    project = pyproject["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(each for extra in EXTRAS for each in extras[extra])]


def wanted() -> dict[Path, str]:
    """Current text of each file."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lock = FULL.read_text()
    return {
        RUNTIME: runtime_lock(lock, direct_requirements(pyproject)),
        CJK: runtime_lock(lock, pyproject["project"]["optional-dependencies"]["cjk"]),
    }


def check() -> None:
    """Raise Failure if a file is out of date."""
    for path, text in wanted().items():
        if not path.exists() or path.read_text() != text:
            raise Failure(f"{path.relative_to(ROOT)} is out of date: make image-lock")


def write() -> int:
    """Write the files; returns the number of packages in the image."""
    texts = wanted()
    for path, text in texts.items():
        path.write_text(text)
    return len(blocks(texts[RUNTIME]))


def _needs(name: str, extras: set[str]) -> list[Requirement]:
    """Requirements of a package on any system; empty if it is not installed, being for another system."""
    try:
        requires = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    requirements = [Requirement(text) for text in requires]
    return [each for each in requirements if each.marker is None or _may_hold(each, extras)]


def _may_hold(requirement: Requirement, extras: set[str]) -> bool:
    """Whether the marker names no extra, or one of `extras`. The lock file repeats its conditions on the system."""
    marker = str(requirement.marker)
    asked = set(re.findall(r"extra == [\"']([^\"']+)[\"']", marker))
    return not asked or bool(asked & extras)
