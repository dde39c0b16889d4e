"""What a check says."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any


class Level(IntEnum):
    """How bad it is; the worst is the exit status, as monitoring plugins have it."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = -1
    """It could not be looked at from here, and the text says why. Counts as nothing, unless that is asked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `check` names what was looked at, `advice` says what to do where something is to be done."""

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
    """Of all. `strict`: what could not be looked at is a warning."""
    levels = (Level.WARNING if strict and finding.level is Level.UNKNOWN else finding.level for finding in findings)
    return max((level for level in levels if level is not Level.UNKNOWN), default=Level.OK)


def spoken(seconds: float) -> str:
    """`45 s`, `3 min`, `5 h`, `12 days`."""
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
