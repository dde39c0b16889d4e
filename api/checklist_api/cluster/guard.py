"""Kubernetes client with a circuit breaker and bounded queues: fails fast when the cluster is down, waits when slow.

Without this, requests would pile up behind a Kubernetes API that hangs: each waits its time, one behind the other. So
while the cluster is down, all calls end, those that wait for their turn included, and new ones fail at once until it
answers again. A small and frequent probe, which reads through to the store, tells slow from down:

- Down is an API server that refuses connections or answers the probe with an error, twice, while no other call gets an
  answer; and one that answers nothing at all for `_SILENT_S`, no probe and no call, although this process had time to
  read. So an API server that lost its etcd counts as down.
- Slow is everything else: a server that answers late, because of load, a neighbour or its distance. Its calls have
  their time; how many may wait for it is bounded (`call_queue`).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError, KubeOutcomeUnknown, KubeUnavailable
from checklist_crds.resources.kinds import ORGANIZATION, Kind

from ..metrics import Metrics
from .call_queue import CallQueue

logger = logging.getLogger(__name__)

_PROBE_NAME: Final = "checklists-probe"
_PROBE_EVERY_S: Final = 0.4
_PROBE_WHILE_DOWN_EVERY_S: Final = 0.25
# A starved API server was seen to answer nothing for 1.3 s, and one behind a bad line takes three. With the pause
# before the probe, callers of a server that hangs hear of it within five seconds.
_SILENT_S: Final = 4.0
# As a hang is noticed by its silence, this only ends calls whose own connection is lost.
_ANSWER_WITHIN_S: Final = 20.0
_TICK_S: Final = 0.25
_TOO_MANY: Final = 429
_NO_ANSWER: Final = "the Kubernetes API does not answer in time"


class GuardedKubeClient(KubeClient):
    """A KubeClient with at most `concurrency` calls under way, that fails at once while the cluster is down.

    All methods raise KubeOverloaded when the request that calls has not begun and would wait too long.
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
            answer_within_s=_ANSWER_WITHIN_S,
            namespaces=namespaces,
            check=check,
        )
        self._metrics = metrics
        self._queue = CallQueue(concurrency, metrics.overloaded.inc)
        metrics.calls_waiting.set_function(lambda: self._queue.waiting)
        self._under_way: set[asyncio.Timeout] = set()
        self._look_now = asyncio.Event()
        self._heard = self._heard_well = 0
        """Answers that were read from the store: all, and those that were no failure of the server."""
        self.down: str | None = None
        """Why the cluster counts as down; None while it answers."""
        metrics.kube_up.set(1)

    def require_up(self) -> None:
        """Raises KubeUnavailable while the cluster is down."""
        if self.down is not None:
            raise KubeUnavailable(self.down)

    def slot(self) -> AbstractAsyncContextManager[None]:
        """One turn for all calls of the block, for a request whose first call is made together with others'."""
        return self._queue.slot(for_all_calls=True)

    def turn(self, lock: asyncio.Lock) -> AbstractAsyncContextManager[None]:
        """`async with client.turn(lock): ...`, where changes of one object wait for each other."""
        return self._queue.turn(lock)

    async def watch_over(self) -> None:
        """Probe the cluster until cancelled."""
        while True:
            pause_s = _PROBE_EVERY_S if self.down is None else _PROBE_WHILE_DOWN_EVERY_S
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look_now.wait(), pause_s)
            self._look_now.clear()
            heard_well = self._heard_well
            try:
                reason = await self._probe()
                if reason is not None and self.down is None and self._heard_well == heard_well:
                    # One connection may break, as when it has been idle for too long.
                    reason = await self._probe()
            except TimeoutError:
                self._now_is(_NO_ANSWER)
            else:
                self._now_is(reason if self._heard_well == heard_well else None)

    async def _probe(self) -> str | None:
        """Why there is no answer; None when there is one, whatever it says (usually that there is no such object).

        Raises TimeoutError when nothing at all is heard for too long.
        """
        answer = asyncio.create_task(self._read_through("GET", ORGANIZATION.path(None, _PROBE_NAME)))
        now, silent_s, heard = asyncio.get_running_loop().time, 0.0, self._heard
        try:
            while not answer.done():
                began = now()
                await asyncio.wait({answer}, timeout=_TICK_S)
                # Time in which this process did not run, and could not read either, does not count.
                silent_s += min(now() - began, 2 * _TICK_S)
                if self._heard != heard:
                    silent_s, heard = 0.0, self._heard
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

    def _now_is(self, reason: str | None) -> None:
        self._metrics.kube_up.set(0 if reason else 1)
        if reason is not None and self.down is None:
            logger.warning("cluster.down", extra={"reason": reason})
            now = asyncio.get_running_loop().time()
            for call in self._under_way:
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
                    self._under_way.add(deadline)
                    try:
                        return await self._read_through(
                            method, path, body=body, params=params, content_type=content_type, accept=accept
                        )
                    finally:
                        self._under_way.discard(deadline)
            except TimeoutError:
                self._metrics.kube_failures.inc()
                failure = KubeUnavailable if method == "GET" else KubeOutcomeUnknown
                raise failure(self.down or _NO_ANSWER) from None
            except KubeUnavailable as error:
                self._metrics.kube_failures.inc()
                if error.status is None:
                    self._look_now.set()
                raise
            finally:
                self._metrics.count_kube_call(method, time.perf_counter() - started)

    async def _read_through(self, method: str, path: str, **given: Any) -> JsonObject:
        """The call itself, and what its answer says about the server: nothing where that comes from its memory."""
        try:
            answer = await super()._call(method, path, **given)
        except KubeError as error:
            if error.status is not None:
                self._hear(given, well=not isinstance(error, KubeUnavailable) or error.status == _TOO_MANY)
            raise
        self._hear(given, well=True)
        return answer

    def _hear(self, given: Mapping[str, Any], *, well: bool) -> None:
        if "resourceVersion" not in (given.get("params") or {}):
            self._heard += 1
            self._heard_well += well
