"""What /readyz of both programs answers: one word, each check with its reason, and what else should be known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must be so for the process to do its work. `reason`: why it is not; None: it is."""

    name: str
    reason: str | None

    def view(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.reason is None, "reason": self.reason}


def reasons_of(checks: Sequence[Check]) -> list[str]:
    return [check.reason for check in checks if check.reason is not None]


def readiness_body(word: str, checks: Sequence[Check], notes: Sequence[str] = ()) -> dict[str, Any]:
    """`{status, reasons, notes, checks}`."""
    return {
        "status": word,
        "reasons": reasons_of(checks),
        "notes": list(notes),
        "checks": [check.view() for check in checks],
    }
