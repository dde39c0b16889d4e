"""Records Kubernetes Events about objects that may need attention, for `kubectl describe` and `kubectl events`.

Events never delay other work: they wait in a short queue and are written at a limited rate, because a dead endpoint may
fail thousands of deliveries in a minute, and Events share etcd with everything else. A repeated Event raises the count
of the first one. An Event that cannot be written is dropped; the object's status shows the same.
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeError, KubeForbidden
from checklist_crds.resources.kinds import EVENT, Kind
from checklist_crds.resources.pause import PAUSED, RESUMED, is_paused
from checklist_crds.times import Clock
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

COMPONENT: Final = "checklist-operator"
MOST_WAITING: Final = 500
BURST: Final = 50
PER_S: Final = 5.0
_LONGEST_MESSAGE: Final = 1000
_CLUSTER_NAMESPACE: Final = "default"
"""Namespace for Events about cluster-scoped objects, as the API server requires."""


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an Event is about."""

    kind: Kind
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, kind: Kind, body: Mapping[str, Any]) -> Self:
        metadata = body["metadata"]
        return cls(kind, str(metadata.get("namespace", "")), str(metadata["name"]), str(metadata.get("uid", "")))


@dataclass(slots=True)
class _Pending:
    type: str
    message: str
    count: int = 1


class EventRecorder:
    """`warn` and `record` enqueue Events; `run` writes them."""

    def __init__(
        self, client: KubeClient, *, instance: str, clock: Clock, burst: int = BURST, per_s: float = PER_S
    ) -> None:
        """`instance`: the reporting operator. Writes at most `burst` Events at once and `per_s` per second."""
        self._client = client
        self._instance = instance
        self._clock = clock
        self._pause_s = 1.0 / per_s
        self._burst = burst
        self._waiting: OrderedDict[tuple[ObjectReference, str], _Pending] = OrderedDict()
        self._something = asyncio.Event()
        self._forbidden = False
        self.dropped = 0

    def warn(self, about_: ObjectReference, reason: str, message: str) -> None:
        """Enqueues a Warning. `reason` is one CamelCase word."""
        self._put("Warning", about_, reason, message)

    def record(self, about_: ObjectReference, reason: str, message: str) -> None:
        """Enqueues a Normal Event."""
        self._put("Normal", about_, reason, message)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _put(self, type_: str, reference: ObjectReference, reason: str, message: str) -> None:
        key = (reference, reason)
        known = self._waiting.get(key)
        if known is not None:
            known.message, known.count = message, known.count + 1
            return
        if len(self._waiting) >= MOST_WAITING:
            self.dropped += 1
            if self.dropped == 1 or self.dropped % 1000 == 0:
                logger.warning("kube_events.dropped", extra=about(dropped=self.dropped))
            return
        self._waiting[key] = _Pending(type_, message)
        self._something.set()

    async def run(self) -> None:
        """Writes Events until cancelled."""
        clock = asyncio.get_running_loop().time
        credit, since = float(self._burst), clock()
        while True:
            await self._something.wait()
            now = clock()
            credit, since = min(float(self._burst), credit + (now - since) / self._pause_s), now
            if credit < 1.0:
                await asyncio.sleep((1.0 - credit) * self._pause_s)
                continue
            credit -= 1.0
            (reference, reason), pending = self._waiting.popitem(last=False)
            if not self._waiting:
                self._something.clear()
            await self._write(reference, reason, pending)

    async def _write(self, reference: ObjectReference, reason: str, pending: _Pending) -> None:
        namespace = reference.namespace or _CLUSTER_NAMESPACE
        try:
            body = self._event(reference, reason, pending)
            try:
                await self._client.create(EVENT, body, namespace)
            except KubeAlreadyExists:
                known = await self._client.get(EVENT, body["metadata"]["name"], namespace)
                again = {name: body[name] for name in ("type", "message", "lastTimestamp", "reportingInstance")}
                again["count"] = int(known.get("count") or 1) + pending.count
                await self._client.patch(EVENT, body["metadata"]["name"], again, namespace)
        except KubeForbidden as error:
            if not self._forbidden:
                logger.warning("kube_events.not_written", extra=about(reason=error.message))
            self._forbidden = True
        except KubeError as error:
            logger.debug("kube_events.refused", extra=about(reason=error.message))

    def _event(self, reference: ObjectReference, reason: str, pending: _Pending) -> dict[str, Any]:
        now = self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        namespace = reference.namespace or _CLUSTER_NAMESPACE
        digest = hashlib.sha256(f"{reference.uid}/{reason}".encode()).hexdigest()[:16]
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{reference.name[:200]}.{digest}",
                "namespace": namespace,
            },
            "involvedObject": {
                "apiVersion": reference.kind.api_version,
                "kind": reference.kind.kind,
                **({"namespace": reference.namespace} if reference.namespace else {}),
                "name": reference.name,
                "uid": reference.uid,
            },
            "type": pending.type,
            "reason": reason,
            "message": pending.message[:_LONGEST_MESSAGE],
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": pending.count,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._instance[:128],
        }


def record_pause(kube_events: EventRecorder, about_: ObjectReference, metadata: Mapping[str, Any]) -> None:
    """Records that the object with this metadata was paused or resumed."""
    if is_paused(metadata):
        kube_events.record(about_, PAUSED, "Paused until the annotation is removed.")
    else:
        kube_events.record(about_, RESUMED, "Resumed.")
