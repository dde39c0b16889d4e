"""`hack/image/requirements.lock`: the part of requirements.lock that the image holds, hashes and all; and
`cjk-requirements.lock`: what the variant of the image with fonts of Chinese, Japanese and Korean holds besides.

It is no second resolution: the packages that the project and its extras `otel` and `redis` (of the variant: `cjk`) need
are followed through what is installed here, and their blocks are copied. So what the tests run with is what the image
holds.
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
    """Package -> its lines (`name==version ; marker \\`, then the hashes), as the lock file has them."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if start := _NAME.match(line):
            name = canonicalize_name(start[1])
        if name and not line.startswith("#"):
            found[name] = found.get(name, "") + line
    return found


def runtime_lock(lock: str, direct: Iterable[str]) -> str:
    """The blocks of `direct` (requirements in pyproject's words) and of all that they need. Raises Failure."""
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
            continue  # for another Python or system than any that the lock file serves
        seen.setdefault(name, set()).update(extras)
        waiting.extend(_needs(name, seen[name]))
    return "".join(locked[name] for name in sorted(seen))


def direct_requirements(pyproject: Mapping[str, Any]) -> list[str]:
    """What the service itself asks for, with the extras that the image has."""
    project = pyproject["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(each for extra in EXTRAS for each in extras[extra])]


def wanted() -> dict[Path, str]:
    """The text that each file must have."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lock = FULL.read_text()
    return {
        RUNTIME: runtime_lock(lock, direct_requirements(pyproject)),
        CJK: runtime_lock(lock, pyproject["project"]["optional-dependencies"]["cjk"]),
    }


def check() -> None:
    """Raises Failure when a file is not what it must be."""
    for path, text in wanted().items():
        if not path.exists() or path.read_text() != text:
            raise Failure(f"{path.relative_to(ROOT)} is not current: make image-lock")


def write() -> int:
    """How many packages the image holds."""
    texts = wanted()
    for path, text in texts.items():
        path.write_text(text)
    return len(blocks(texts[RUNTIME]))


def _needs(name: str, extras: set[str]) -> list[Requirement]:
    """What an installed package requires, on whatever system; nothing for one that is of another system only."""
    try:
        requires = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    requirements = [Requirement(text) for text in requires]
    return [each for each in requirements if each.marker is None or _may_hold(each, extras)]


def _may_hold(requirement: Requirement, extras: set[str]) -> bool:
    """Whether a marker asks for no extra, or for one of `extras`. What it says of the system, the lock file repeats."""
    marker = str(requirement.marker)
    asked = set(re.findall(r"extra == [\"']([^\"']+)[\"']", marker))
    return not asked or bool(asked & extras)
