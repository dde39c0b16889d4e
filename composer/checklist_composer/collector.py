"""The garbage collector, while a template is composed."""

import gc
import threading
from types import TracebackType


class CollectorAtRest:
    """A context in which the collector waits, whichever threads are in it and as long as one of them is.

    Reading a long prompt makes some hundred thousand objects, hardly one of them in a circle: they go as soon as they
    are not needed. The collector would look at all that are needed still, again and again, and then find nothing.
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
