"""Kubernetes client with a circuit breaker and bounded queues: fails fast if the cluster is down, waits if it is slow.

Otherwise requests would pile up behind a hanging API server. While the cluster is down, all calls fail at once, also
queued ones. A cheap, frequent probe that reads through to etcd distinguishes down from slow:

- Down: the API server refuses connections or answers the probe with an error, twice, while no other call succeeds; or
  neither probes nor calls get any response for `_SILENT_S`. An API server without etcd counts as down.
- Slow: all else (load, noisy neighbours, distance). Calls wait; how many is bounded (`call_queue`).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError, KubeOutcomeUnknown, KubeUnavailable
from checklist_crds.resources.kinds import ORGANIZATION, Kind
from checklist_crds.values.json_text import JsonObject

from ..metrics import Metrics
from .call_queue import CallQueue

logger = logging.getLogger(__name__)

_PROBE_NAME: Final = "checklists-probe"
_PROBE_EVERY_S: Final = 0.4
_PROBE_WHILE_DOWN_EVERY_S: Final = 0.25
# CPU-starved API servers were measured to be silent for 1.3 s, ones behind a lossy network for 3 s. Including the pause
# between probes, requests to a hanging server fail within five seconds.
_SILENT_S: Final = 4.0
# Hangs are detected by silence, so this only ends calls whose own connection is lost.
_CALL_TIMEOUT_S: Final = 20.0
_TICK_S: Final = 0.25
_TOO_MANY: Final = 429
_TIMEOUT: Final = "the Kubernetes API does not respond in time"


class GuardedKubeClient(KubeClient):
    """A KubeClient with at most `concurrency` concurrent calls, which fail at once while the cluster is down.

    All methods raise KubeOverloaded if the calling request has not begun and would wait too long.
    """

    def __init__(
        self,
        connection: KubeConnection,
        metrics: Metrics,
        *,
        concurrency: int = 16,
        namespaces: Sequence[str] = (),
        check: Callable[[Kind, JsonObject], None] = lambda _, __: None,
    ) -> None:
        super().__init__(
            connection,
            pool_size=concurrency + 2,
            answer_within_s=_CALL_TIMEOUT_S,
            namespaces=namespaces,
            check=check,
        )
        self._metrics = metrics
        self._queue = CallQueue(concurrency, metrics.overloaded.inc)
        metrics.calls_waiting.set_function(lambda: self._queue.waiting)
        self._running: set[asyncio.Timeout] = set()
        self._probe_now = asyncio.Event()
        self._responses = self._successes = 0
        """Number of responses read from etcd: all, and those without a server error."""
        self.down: str | None = None
        """Why the cluster is down; None while it is up."""
        metrics.kube_up.set(1)

    def require_up(self) -> None:
        """Raises KubeUnavailable while the cluster is down."""
        if self.down is not None:
            raise KubeUnavailable(self.down)

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Hold one slot for all calls of the block, for requests with concurrent calls."""
        return self._queue.slot(for_all_calls=True)

    def turn(self, lock: asyncio.Lock) -> AbstractAsyncContextManager[None]:
        """Hold an object's lock: `async with client.turn(lock): ...`."""
        return self._queue.turn(lock)

    async def keep_probing(self) -> None:
        """Probe the cluster until cancelled."""
        while True:
            pause_s = _PROBE_EVERY_S if self.down is None else _PROBE_WHILE_DOWN_EVERY_S
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._probe_now.wait(), pause_s)
            self._probe_now.clear()
            successes = self._successes
            try:
                reason = await self._probe()
                if reason is not None and self.down is None and self._successes == successes:
                    # Probe again: a single failure may be a stale connection.
                    reason = await self._probe()
            except TimeoutError:
                self._set_down(_TIMEOUT)
            else:
                self._set_down(reason if self._successes == successes else None)

    async def _probe(self) -> str | None:
        """Return the error; None for any response (usually 404). Raises TimeoutError after too long a silence."""
        answer = asyncio.create_task(self._read_through("GET", ORGANIZATION.path(None, _PROBE_NAME)))
        now, silent_s, responses = asyncio.get_running_loop().time, 0.0, self._responses
        try:
            while not answer.done():
                began = now()
                await asyncio.wait({answer}, timeout=_TICK_S)
                # Bounded, so that time in which this process was stalled does not count.
                silent_s += min(now() - began, 2 * _TICK_S)
                if self._responses != responses:
                    silent_s, responses = 0.0, self._responses
                elif silent_s >= _SILENT_S:
                    raise TimeoutError
            await answer
        except KubeUnavailable as error:
            return None if error.status == _TOO_MANY else error.message
        except KubeError:
            return None
        finally:
            answer.cancel()
        return None

    def _set_down(self, reason: str | None) -> None:
        self._metrics.kube_up.set(0 if reason else 1)
        if reason is not None and self.down is None:
            logger.warning("cluster.down", extra={"reason": reason})
            now = asyncio.get_running_loop().time()
            for call in self._running:
                call.reschedule(now)
        if reason is None and self.down is not None:
            logger.info("cluster.up")
        self.down = reason

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        accept: str | None = None,
    ) -> JsonObject:
        self.require_up()
        async with self._queue.slot():
            self.require_up()
            started = time.perf_counter()
            deadline = asyncio.timeout(None)
            try:
                async with deadline:
                    self._running.add(deadline)
                    try:
                        return await self._read_through(
                            method, path, body=body, params=params, content_type=content_type, accept=accept
                        )
                    finally:
                        self._running.discard(deadline)
            except TimeoutError:
                self._metrics.kube_failures.inc()
                failure = KubeUnavailable if method == "GET" else KubeOutcomeUnknown
                raise failure(self.down or _TIMEOUT) from None
            except KubeUnavailable as error:
                self._metrics.kube_failures.inc()
                if error.status is None:
                    self._probe_now.set()
                raise
            finally:
                self._metrics.count_kube_call(method, time.perf_counter() - started)

    async def _read_through(self, method: str, path: str, **given: Any) -> JsonObject:
        """Make a call and count its response, unless it was served from the API server's cache."""
        try:
            answer = await super()._call(method, path, **given)
        except KubeError as error:
            if error.status is not None:
                self._count_response(given, success=not isinstance(error, KubeUnavailable) or error.status == _TOO_MANY)
            raise
        self._count_response(given, success=True)
        return answer

    def _count_response(self, given: Mapping[str, Any], *, success: bool) -> None:
        if "resourceVersion" not in (given.get("params") or {}):
            self._responses += 1
            self._successes += success
