"""Before an operator begins: waits until nobody works who divides the work into another number of shards.

Else, while the number is changed, two would do the same work for a while. Whoever begins holds its own lease first and
looks for others' then, so of two that begin at the same time at least one sees the other. When neither goes away, both
wait, and say for whom.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_crds.times import Clock
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.leader import LEASE, steady_seconds
from checklist_operator.runtime.sharding import Shard

logger = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 0.5


class OtherDivisions:
    """The leases of operators with another number of shards."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        identity: str,
        shard: Shard,
        *,
        clock: Clock,
        steady: Callable[[], float] = steady_seconds,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._identity = identity
        self._shard = shard
        self._clock = clock
        self._steady = steady
        self._seen: dict[str, tuple[Any, float]] = {}

    async def until_gone(self) -> None:
        """Returns when no such lease is held. To be called while our own is."""
        told: object = None
        while True:
            try:
                held = await self._held()
            except KubeError as error:
                held = {"": error.message}
            if not held:
                return
            if held != told:
                told = held
                logger.warning("lease.other_division", extra=about(leases=held))
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _held(self) -> dict[str, str]:
        """Holders by the name of their lease. Raises KubeError."""
        leases, _ = await self._client.list_all(LEASE, self._namespace)
        held = {}
        for lease in leases:
            name, spec = str(lease["metadata"]["name"]), lease.get("spec") or {}
            holder = spec.get("holderIdentity")
            if not holder or not self._shard.is_of_another_division(name):
                continue
            if self._has_run_out(name, spec):
                await self._close(lease)
            else:
                held[name] = str(holder)
        return held

    def _has_run_out(self, name: str, spec: JsonObject) -> bool:
        """As far as we have watched it: clocks of machines differ."""
        reading = spec.get("holderIdentity"), spec.get("renewTime")
        if name not in self._seen or self._seen[name][0] != reading:
            self._seen[name] = reading, self._steady()
        return self._steady() - self._seen[name][1] >= float(spec.get("leaseDurationSeconds") or 0)

    async def _close(self, lease: JsonObject) -> None:
        """In our name, and for a second: should its holder wake, it finds that another one has it, and ends. So nobody
        has to wait for it a second time."""
        spec = {
            "holderIdentity": f"{self._identity} ({self._shard.lease_name})",
            "leaseDurationSeconds": 1,
            "renewTime": self._clock().strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z",
        }
        metadata = lease["metadata"]
        await self._client.patch(
            LEASE, metadata["name"], {"spec": spec}, self._namespace, resource_version=metadata["resourceVersion"]
        )
