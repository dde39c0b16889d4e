"""Faults of this process or its cluster: an event cannot be sent now, for reasons unrelated to its receiver.

They never use up an attempt (delivery profile, "Outcome"). They show as the condition Delivering=False of the run, and
the same attempt is made later.
"""

from typing import Final

TRANSPORT_UNAVAILABLE: Final = "TransportUnavailable"
"""No name server, no file descriptors, no network, or a closed sender."""


class LocalFault(Exception):
    """`reason` is one CamelCase word for the condition, `message` a sentence; neither contains secrets."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    @property
    def as_condition(self) -> tuple[str, str]:
        return self.reason, self.message
