"""The result of a check."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any


class Level(IntEnum):
    """Severity; the worst is the exit status, as for monitoring plugins."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = -1
    """Not visible from here; the text says why. Ignored unless --strict."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `check`: name of the check, `advice`: what to do."""

    check: str
    level: Level
    text: str
    advice: str = ""

    def to_json(self) -> dict[str, Any]:
        """`{check, level: ok|warning|critical|unknown, text, advice}`."""
        return {**asdict(self), "level": self.level.name.lower()}


def ok(check: str, text: str) -> Finding:
    return Finding(check, Level.OK, text)


def unknown(check: str, why: str, advice: str = "") -> Finding:
    return Finding(check, Level.UNKNOWN, why, advice)


def worst(findings: Iterable[Finding], *, strict: bool) -> Level:
    """The worst level. `strict`: unknown counts as a warning."""
    levels = (Level.WARNING if strict and finding.level is Level.UNKNOWN else finding.level for finding in findings)
    return max((level for level in levels if level is not Level.UNKNOWN), default=Level.OK)


def spoken(seconds: float) -> str:
    """`45 s`, `3 min`, `5 h`, `12 days`."""
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
