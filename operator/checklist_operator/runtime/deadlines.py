"""Deadlines of a clean shutdown.

A standby must take over three seconds after the leader is asked to end. So the leader stops sending when an answer
could hardly arrive in time, and waits one second for answers; the next leader sends unanswered events again. Answered
attempts must be recorded, or they would be repeated; under load that takes longer, and the next leader already works
meanwhile (`handover`).
"""

import asyncio
from collections.abc import Callable
from typing import Final

FOR_STARTS_S: Final = 0.25
FOR_ANSWERS_S: Final = 1.0
FOR_RECORDS_S: Final = 10.0


class ShutdownDeadlines:
    """Counts from its creation."""

    def __init__(self, *, stop_sending: Callable[[], None], discard_responses: Callable[[], None]) -> None:
        """`stop_sending` is called when no attempt may start any more, `discard_responses` when receivers are no longer
        waited for."""
        loop = asyncio.get_running_loop()
        self._began_at = loop.time()
        self._calls = (
            loop.call_later(min(FOR_STARTS_S, FOR_ANSWERS_S), stop_sending),
            loop.call_later(FOR_ANSWERS_S, discard_responses),
        )

    def allows_responses(self) -> bool:
        """Whether to wait longer for receivers."""
        return self._waited_s() < FOR_ANSWERS_S

    def allows_records(self) -> bool:
        """Whether to wait longer until outcomes are recorded in the cluster."""
        return self.seconds_for_records() > 0

    def seconds_for_records(self) -> float:
        """Remaining time to record outcomes; negative when it is over."""
        return FOR_RECORDS_S - self._waited_s()

    def cancel(self) -> None:
        """Cancels the deadlines after everything has ended."""
        for call in self._calls:
            call.cancel()

    def _waited_s(self) -> float:
        return asyncio.get_running_loop().time() - self._began_at
