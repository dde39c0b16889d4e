"""Deadlines of a clean shutdown.

A standby must work three seconds after the leader was asked to end, so a receiver that has not answered after one is
not waited for: it gets the event once more, from the next leader, whatever it answers later. Nor is anything sent
when its answer could hardly come in that time: what was about to be is left to the next leader. But what has been
answered must be recorded, or it would be sent again for nothing; that takes longer under load, and the next leader
works meanwhile (`handover`).
"""

import asyncio
from collections.abc import Callable
from typing import Final

FOR_STARTS_S: Final = 0.25
FOR_ANSWERS_S: Final = 1.0
FOR_RECORDS_S: Final = 10.0


class ShutdownDeadlines:
    """Counts from its creation on."""

    def __init__(self, *, stop_sending: Callable[[], None], discard_responses: Callable[[], None]) -> None:
        """`stop_sending` is called when nothing is to be sent any more, `discard_responses` when receivers are no
        longer waited for, so that records come to an end."""
        loop = asyncio.get_running_loop()
        self._began_at = loop.time()
        self._calls = (
            loop.call_later(min(FOR_STARTS_S, FOR_ANSWERS_S), stop_sending),
            loop.call_later(FOR_ANSWERS_S, discard_responses),
        )

    def allows_responses(self) -> bool:
        """Whether to go on waiting for receivers."""
        return self._waited_s() < FOR_ANSWERS_S

    def allows_records(self) -> bool:
        """Whether to go on waiting until the cluster has the outcomes."""
        return self.seconds_for_records() > 0

    def seconds_for_records(self) -> float:
        """How long outcomes may still be written; negative when that is over."""
        return FOR_RECORDS_S - self._waited_s()

    def cancel(self) -> None:
        """Everything has ended before its deadline."""
        for call in self._calls:
            call.cancel()

    def _waited_s(self) -> float:
        return asyncio.get_running_loop().time() - self._began_at
