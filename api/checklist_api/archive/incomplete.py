"""Reasons why archived runs may be missing from a list."""

from enum import StrEnum
from typing import Any, Final


class Incomplete(StrEnum):
    LOADING = "loading"
    UNAVAILABLE = "unavailable"
    DAMAGED = "damaged"

    @property
    def message(self) -> str:
        return _MESSAGES[self]

    def view(self) -> dict[str, Any]:
        return {"complete": False, "reason": self.value, "message": self.message}


_MESSAGES: Final = {
    Incomplete.LOADING: "The archive is still loading; archived runs may be missing from this list.",
    Incomplete.UNAVAILABLE: "The archive is unavailable; archived runs may be missing from this list.",
    Incomplete.DAMAGED: "A part of the archive is damaged; its runs are missing from this list.",
}
