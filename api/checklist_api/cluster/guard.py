"""Kubernetes client with a circuit breaker: it notices within moments that the cluster is down, and fails fast.

Without this, requests would pile up behind a Kubernetes API that hangs: each waits its time, one behind the other. A
short patience for every call would be no answer either, since a server that has just started may be slow for good
reasons. So a probe, small and frequent, tells slow from down: when it gets no answer, all calls end, those that wait
for their turn included, and new ones fail at once until it is answered again. It reads through to the store, so an API
server that lost its etcd counts as down.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError, KubeOutcomeUnknown, KubeUnavailable
from checklist_crds.kube.kinds import ORGANIZATION, Kind

from ..metrics import Metrics

logger = logging.getLogger(__name__)

_PROBE_NAME: Final = "checklists-probe"
# Together less than the two seconds within which callers are told: pause, a first answer, and one more chance.
_PROBE_EVERY_S: Final = 0.4
_PROBE_WHILE_DOWN_EVERY_S: Final = 0.25
_ANSWER_WITHIN_S: Final = 1.0
_SECOND_ANSWER_WITHIN_S: Final = 0.3


class GuardedKubeClient(KubeClient):
    """A KubeClient with at most `concurrency` calls under way, that fails at once while the cluster is down."""

    def __init__(
        self,
        connection: KubeConnection,
        metrics: Metrics,
        *,
        concurrency: int = 32,
        namespaces: Sequence[str] = (),
        check: Callable[[Kind, JsonObject], None] = lambda _, __: None,
    ) -> None:
        super().__init__(connection, pool_size=concurrency + 2, namespaces=namespaces, check=check)
        self._metrics = metrics
        self._room = asyncio.Semaphore(concurrency)
        self._under_way: set[asyncio.Timeout] = set()
        self._look_now = asyncio.Event()
        self.down: str | None = None
        """Why the cluster counts as down; None while it answers."""
        metrics.kube_up.set(1)

    def require_up(self) -> None:
        """Raises KubeUnavailable while the cluster is down."""
        if self.down is not None:
            raise KubeUnavailable(self.down)

    async def watch_over(self) -> None:
        """Probe the cluster until cancelled."""
        while True:
            pause_s = _PROBE_EVERY_S if self.down is None else _PROBE_WHILE_DOWN_EVERY_S
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look_now.wait(), pause_s)
            self._look_now.clear()
            reason = await self._probe(_ANSWER_WITHIN_S)
            if reason is not None and self.down is None:
                # The answer may have come while this process had no time to read it.
                reason = await self._probe(_SECOND_ANSWER_WITHIN_S)
            self._now_is(reason)

    async def _probe(self, answer_within_s: float) -> str | None:
        """Why there is no answer; None when there is one, whatever it says (usually that there is no such object)."""
        try:
            async with asyncio.timeout(answer_within_s):
                await super()._call("GET", ORGANIZATION.path(None, _PROBE_NAME))
        except TimeoutError:
            return "the Kubernetes API does not answer in time"
        except KubeUnavailable as error:
            return error.message
        except KubeError:
            return None
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
        async with self._room:
            self.require_up()
            started = time.perf_counter()
            deadline = asyncio.timeout(None)
            try:
                async with deadline:
                    self._under_way.add(deadline)
                    try:
                        return await super()._call(
                            method, path, body=body, params=params, content_type=content_type, accept=accept
                        )
                    finally:
                        self._under_way.discard(deadline)
            except TimeoutError:
                self._metrics.kube_failures.inc()
                failure = KubeUnavailable if method == "GET" else KubeOutcomeUnknown
                raise failure(self.down or "the Kubernetes API does not answer in time") from None
            except KubeUnavailable as error:
                self._metrics.kube_failures.inc()
                if error.status is None:
                    self._look_now.set()
                raise
            finally:
                self._metrics.count_kube_call(method, time.perf_counter() - started)
