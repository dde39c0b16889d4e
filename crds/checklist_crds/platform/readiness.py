"""Answer of /readyz of both programs: a status word, the checks with their reasons, and notes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """A condition for the process to work. `reason`: why it does not hold; None if it does."""

    name: str
    reason: str | None

    def view(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.reason is None, "reason": self.reason}


def reasons_of(checks: Sequence[Check]) -> list[str]:
    return [check.reason for check in checks if check.reason is not None]


def readiness_body(word: str, checks: Sequence[Check], notes: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "status": word,
        "reasons": reasons_of(checks),
        "notes": list(notes),
        "checks": [check.view() for check in checks],
    }
