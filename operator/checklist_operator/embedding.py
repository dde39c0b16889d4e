"""Kopf inside this process, on a thread and an event loop of its own.

Why not on ours: when Kopf ends, for whatever reason, it cancels every task of its loop that it does not know, and so
would tear down deliveries under way. And it does end: an error in a watch other than 410 Gone, such as etcd's change of
leader, or half a line when a connection breaks, is fatal to it. So it is watched over here and started again; then it
lists everything anew. Its thread also keeps it from taking the process's signals.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable

import kopf

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import Kind
from checklist_operator.handlers import Observe, kopf_registry, kopf_settings
from checklist_operator.json_logging import about

logger = logging.getLogger(__name__)

_AT_ONCE = 500
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_STABLE_AFTER_S = 60.0


class EventBridge:
    """Carries what Kopf's thread sees over to the controllers' loop, in order."""

    def __init__(self, observe: Observe) -> None:
        self._observe = observe
        self._loop = asyncio.get_running_loop()
        self._pending: deque[tuple[Kind, str | None, JsonObject]] = deque()
        self._scheduled = False
        self._closed = False

    def put(self, kind: Kind, type_: str | None, body: JsonObject) -> None:
        """Called in Kopf's thread."""
        self._pending.append((kind, type_, body))
        if not self._scheduled and not self._closed:
            self._scheduled = True
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:  # the loop is closed: the process ends
                self._closed = True

    def close(self) -> None:
        """Nothing more reaches the controllers."""
        self._closed = True
        self._pending.clear()

    def _drain(self) -> None:
        self._scheduled = False  # first, so that what is put from here on schedules again
        for _ in range(_AT_ONCE):
            if self._closed or not self._pending:
                return
            self._observe(*self._pending.popleft())
        self._scheduled = True
        self._loop.call_soon(self._drain)


class EmbeddedKopf:
    """Runs `kopf.operator()` from `start` to `stop`, again and again if it ends by itself."""

    def __init__(
        self, bridge: EventBridge, *, namespaces: tuple[str, ...], on_restart: Callable[[], None] | None = None
    ) -> None:
        self._bridge = bridge
        self._namespaces = namespaces
        self._on_restart = on_restart
        self._stopping = threading.Event()
        self._stop_life: Callable[[], object] | None = None
        self._ready = threading.Event()
        self._ended = asyncio.Event()
        self._owner = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._live_on, name="kopf", daemon=True)

    @property
    def is_ready(self) -> bool:
        """Whether Kopf has started and its watches are being opened."""
        return self._ready.is_set()

    def start(self) -> None:
        self._thread.start()

    async def stop(self, *, within_s: float = 8.0) -> bool:
        """Asks it to end; whether it did within the time. Its events are ignored from here on anyway."""
        self._bridge.close()
        self._stopping.set()
        stop_life = self._stop_life
        if stop_life is not None:
            stop_life()
        if not self._thread.is_alive():
            return True
        try:
            async with asyncio.timeout(within_s):
                await self._ended.wait()
        except TimeoutError:
            logger.warning("Kopf did not end within %g s", within_s)
            return False
        return True

    def _live_on(self) -> None:
        """The thread's life."""
        pause = _FIRST_PAUSE_S
        try:
            while not self._stopping.is_set():
                started = time.monotonic()
                try:
                    asyncio.run(self._live_once())
                except Exception as error:
                    logger.warning("Kopf ended: %s", type(error).__name__, exc_info=error)
                self._ready.clear()
                if self._stopping.is_set():
                    return
                stable = time.monotonic() - started > _STABLE_AFTER_S
                pause = _FIRST_PAUSE_S if stable else min(pause * 2, _LONGEST_PAUSE_S)
                logger.warning("starting Kopf again", extra=about(pause_s=pause))
                if self._on_restart is not None:
                    self._on_restart()
                self._stopping.wait(pause)
        finally:
            _quietly(self._owner, self._ended.set)

    async def _live_once(self) -> None:
        """One `kopf.operator()`."""
        loop = asyncio.get_running_loop()
        stop_flag = asyncio.Event()
        self._stop_life = lambda: _quietly(loop, stop_flag.set)
        if self._stopping.is_set():
            stop_flag.set()
        ready_flag = asyncio.Event()
        telling = loop.create_task(self._tell_when(ready_flag))
        try:
            await kopf.operator(
                registry=kopf_registry(self._bridge.put),
                settings=kopf_settings(),
                standalone=True,
                clusterwide=not self._namespaces,
                namespaces=self._namespaces,
                stop_flag=stop_flag,
                ready_flag=ready_flag,
            )
        finally:
            self._stop_life = None
            telling.cancel()

    async def _tell_when(self, ready_flag: asyncio.Event) -> None:
        await ready_flag.wait()
        self._ready.set()


def _quietly(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    """Calls it in that loop, unless the loop has just ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function)
