"""How long a clean end waits for what is under way.

A standby shall work three seconds after the leader was asked to end, so a receiver that has not answered after one is
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


class Patience:
    """From now on."""

    def __init__(self, *, no_more_starts: Callable[[], None], no_more_answers: Callable[[], None]) -> None:
        """`no_more_starts` is called when nothing is to be sent any more, `no_more_answers` when receivers are no
        longer waited for, so that records come to an end."""
        loop = asyncio.get_running_loop()
        self._began_at = loop.time()
        self._calls = (
            loop.call_later(min(FOR_STARTS_S, FOR_ANSWERS_S), no_more_starts),
            loop.call_later(FOR_ANSWERS_S, no_more_answers),
        )

    def lasts_for_answers(self) -> bool:
        """Whether to wait on for receivers."""
        return self._waited_s() < FOR_ANSWERS_S

    def lasts_for_records(self) -> bool:
        """Whether to wait on until the cluster knows of the answers."""
        return self.left_for_records_s() > 0

    def left_for_records_s(self) -> float:
        """Seconds; negative when they are over."""
        return FOR_RECORDS_S - self._waited_s()

    def _waited_s(self) -> float:
        return asyncio.get_running_loop().time() - self._began_at

    def end(self) -> None:
        """Nothing is waited for any more."""
        for call in self._calls:
            call.cancel()
