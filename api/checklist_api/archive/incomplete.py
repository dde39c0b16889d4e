"""Reasons why archived runs may be missing from a list."""

from enum import StrEnum
from typing import Any, Final


class Incomplete(StrEnum):
    """Why lists may lack archived runs at the moment."""

    LOADING = "loading"
    UNAVAILABLE = "unavailable"
    DAMAGED = "damaged"

    @property
    def message(self) -> str:
        return _MESSAGES[self]

    def view(self) -> dict[str, Any]:
        return {"complete": False, "reason": self.value, "message": self.message}


_MESSAGES: Final = {
    Incomplete.LOADING: "The archive is still being read; runs of it may be missing in this list.",
    Incomplete.UNAVAILABLE: "The archive cannot be reached; runs of it may be missing in this list.",
    Incomplete.DAMAGED: "A part of the archive cannot be read; its runs are missing in this list.",
}
