"""The API's way to the cluster: it knows within moments that the cluster is down, and then says so at once.

Without this, requests would pile up behind a Kubernetes API that hangs: each of them waits its time, one behind the
other. So a call that got no answer closes the way for all others, those that wait for their turn included, until a
probe is answered again. The probe reads through to the store, so an API server that lost its etcd counts as down.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError, KubeUnavailable
from checklist_crds.kube.kinds import ORGANIZATION

from .metrics import Metrics

logger = logging.getLogger(__name__)

_PROBE_NAME: Final = "checklists-probe"
_PROBE_WHILE_UP_S: Final = 1.0
_PROBE_WHILE_DOWN_S: Final = 0.25


class GuardedKubeClient(KubeClient):
    """A KubeClient with at most `concurrency` calls under way, that fails at once while the cluster is down."""

    def __init__(
        self, connection: KubeConnection, metrics: Metrics, *, concurrency: int = 32, answer_within_s: float = 1.5
    ) -> None:
        super().__init__(connection, pool_size=concurrency + 2, answer_within_s=answer_within_s)
        self._metrics = metrics
        self._room = asyncio.Semaphore(concurrency)
        self._look_again = asyncio.Event()
        self.down: str | None = None
        """Why the cluster counts as down; None while it answers."""

    def require_up(self) -> None:
        """Raises KubeUnavailable while the cluster is down."""
        if self.down is not None:
            raise KubeUnavailable(self.down)

    async def watch_over(self) -> None:
        """Probe the cluster until cancelled: what ends an outage, and what notices one that no request met."""
        while True:
            with contextlib.suppress(TimeoutError):
                pause = _PROBE_WHILE_UP_S if self.down is None else _PROBE_WHILE_DOWN_S
                await asyncio.wait_for(self._look_again.wait(), pause)
            self._look_again.clear()
            await self._probe()

    async def _probe(self) -> None:
        try:
            await super()._call("GET", ORGANIZATION.path(None, _PROBE_NAME))
        except KubeUnavailable as error:
            self._has_failed(error)
            return
        except KubeError:
            pass  # Any answer is an answer; the usual one is that there is no such organization.
        if self.down is not None:
            logger.info("cluster.up")
        self.down = None
        self._metrics.kube_up.set(1)

    def _has_failed(self, error: KubeUnavailable) -> None:
        if self.down is None:
            logger.warning("cluster.down", extra={"reason": error.message})
        self.down = error.message
        self._metrics.kube_up.set(0)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> JsonObject:
        self.require_up()
        async with self._room:
            self.require_up()
            started = time.perf_counter()
            try:
                return await super()._call(method, path, body=body, params=params, content_type=content_type)
            except KubeUnavailable as error:
                self._metrics.kube_failures.inc()
                if error.status is None:
                    self._has_failed(error)
                    self._look_again.set()
                raise
            finally:
                self._metrics.count_kube_call(method, time.perf_counter() - started)
