"""Pauses the garbage collector while a template is composed."""

import gc
import threading
from types import TracebackType


class CollectorAtRest:
    """A context in which garbage collection is off, while at least one thread is in it.

    Reading a long prompt creates 100,000 objects, hardly any in a reference cycle, which the collector would traverse
    repeatedly without result.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._was_enabled = gc.isenabled()
                gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._was_enabled:
                gc.enable()


collector_at_rest = CollectorAtRest()
