"""The built-in composer, off the event loop: a long prompt takes it some ten milliseconds, and the first one reads its
data.

One thread, since Python runs one at a time anyway; what does not fit into its queue is told to come again.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from checklist_crds.errors import ServiceUnavailable

_WAITING: Final = 64
"""At 50 ms each, the last of them waits three seconds."""

_T = TypeVar("_T")


class ComposerPool:
    """Runs what takes a while. `close` it."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="composer")
        self._waiting = 0

    async def run(self, function: Callable[[str], _T], text: str) -> _T:
        """What `function(text)` returns or raises. Raises ServiceUnavailable when too many wait."""
        if self._waiting >= _WAITING:
            raise ServiceUnavailable("Too many templates are being made; please try again.", retry_after_s=2)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, function, text)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
