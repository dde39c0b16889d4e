"""How long a clean end waits for what is under way.

A standby shall work three seconds after the leader was asked to end, so a receiver that has not answered after one is
not waited for: it gets the event once more, from the next leader, whatever it answers later. Nor is anything sent
when its answer could hardly come in that time: what was about to be is left to the next leader. But what has been
answered must be recorded, or it would be sent again for nothing; after a backlog that takes longer, and has priority.
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

    def lasts(self, *, unrecorded: bool) -> bool:
        """Whether to wait on. `unrecorded`: there are answers that the cluster does not know of."""
        waited_s = asyncio.get_running_loop().time() - self._began_at
        return waited_s < (FOR_RECORDS_S if unrecorded else FOR_ANSWERS_S)

    def end(self) -> None:
        """Nothing is waited for any more."""
        for call in self._calls:
            call.cancel()
