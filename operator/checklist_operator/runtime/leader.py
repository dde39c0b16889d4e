"""Leader election: the process that holds the Lease works. Wraps the election of the official client.

- The election only understands ApiException, so the lock converts all errors.
- It measures with the wall clock, which may be set: a standby whose clock jumps ahead would take the lease from a
  healthy leader, and a leader would stop. Here the age of the last renewal, and how long another's lease has not been
  renewed, are measured with a monotonic clock.
- It never releases a lease; `release` does.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.baselock import BaseLock

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeError, KubeNotFound, KubeUnavailable
from checklist_crds.resources.kinds import LEASE
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.handover import (
    HANDOVER_ANNOTATION,
    NO_HANDOVER,
    Handover,
    after,
    holds_for_s,
    note_of,
    read_note,
)
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

LEASE_NAME: Final = "checklist-dispatch-operator"
_ANSWER_WITHIN_S: Final = 2.0
_POLL_S: Final = 0.2
_STANDBY_POLL_S: Final = 0.25
"""More often than a leader renews: it is a mere read, and a released lease must be found quickly."""


def steady_seconds() -> float:
    """Seconds of a monotonic clock that also runs while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds: how long a lease is valid, when its holder stops without a renewal, and the renewal interval."""

    duration: int = 15
    renew_deadline: int = 10
    retry_period: int = 2


class LeaseLock(BaseLock):
    """Lock of the election. `renewed_at` is when the last successful renewal was started."""

    def __init__(
        self, client: KubeClient, name: str, namespace: str, identity: str, *, clock: Clock, steady: Callable[[], float]
    ) -> None:
        super().__init__(name, namespace, identity)
        self._client = client
        self._clock = clock
        self._steady = steady
        self._lease: JsonObject = {}
        self._written: deque[str] = deque(maxlen=16)
        self._answers = True
        self._seen: tuple[Any, Any] = (None, None)
        self._seen_at = 0.0
        self._readings = 0
        self._forgets_handover_at: float | None = None
        self._ran_out_for_s = 0.0
        self.renewed_at: float | None = None
        self.taken_over = False

    def handover(self) -> Handover:
        """Returns the previous leader's handover. Call it once, after acquiring the lease. The annotation stays on the
        lease while it is valid, because the next holder in that time needs it too."""
        annotations = self._lease["metadata"].get("annotations") or {}
        handover = after(self._ran_out_for_s, read_note(annotations.get(HANDOVER_ANNOTATION)))
        self._forgets_handover_at = self._steady() + holds_for_s(handover)
        return handover

    async def get(self, name: str, namespace: str) -> tuple[bool, Any]:
        try:
            self._lease = await self._within(self._client.get(LEASE, name, namespace))
        except KubeNotFound as error:
            return False, _api_exception(error)
        except KubeError as error:
            self._log_reachability(False)
            return False, _api_exception(error)
        self._log_reachability(True)
        spec = self._lease.get("spec") or {}
        holder = spec.get("holderIdentity") or None
        ours = holder == self.identity and spec.get("renewTime") in self._written
        if self.renewed_at is not None and holder is not None and not ours:
            # Another process took it, or one with the same name that was started to replace this one.
            self.taken_over = True
            return False, _api_exception(KubeError("another process holds the lease"))
        duration = spec.get("leaseDurationSeconds")
        if holder is None or (holder != self.identity and self._has_run_out(holder, spec, duration)):
            # The age of the annotation includes the time in which the lease ran out.
            self._ran_out_for_s = 0.0 if holder is None else float(duration or 0)
            return True, LeaderElectionRecord(None, None, None, None)  # means free to the election
        return True, LeaderElectionRecord(holder, str(duration), spec.get("acquireTime"), self._reading(holder, spec))

    def _has_run_out(self, holder: str, spec: JsonObject, duration: Any) -> bool:
        """Whether the holder has not renewed its lease in time, as far as we have watched it."""
        seen = holder, spec.get("renewTime")
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._steady()
        return self._steady() - self._seen_at >= float(duration or 0)

    def _reading(self, holder: str, spec: JsonObject) -> str:
        """Returns the renewal time for the election, which takes a lease whose renewal time stays the same.

        For the lease of another process it is a new value at each call, so that the election never takes that lease:
        it would measure with the wall clock. `_has_run_out` decides.
        """
        if holder == self.identity:
            return str(spec.get("renewTime"))
        self._readings += 1
        return f"reading {self._readings}"

    async def confirm(self) -> None:
        """Returns when the cluster confirms that the lease is ours. Raises KubeConflict when it is not, and other
        KubeErrors without an answer."""
        try:
            lease = await self._within(self._client.get(LEASE, self.name, self.namespace))
        except KubeNotFound:
            lease = {}
        spec = lease.get("spec") or {}
        if spec.get("holderIdentity") != self.identity or spec.get("renewTime") not in self._written:
            raise KubeConflict("the lease is not ours")

    async def create(self, name: str, namespace: str, election_record: Any) -> bool:
        body = LEASE.manifest(name, namespace, self._spec(election_record))
        return await self._write(self._client.create, LEASE, body, namespace)

    async def update(self, name: str, namespace: str, updated_record: Any) -> bool:
        metadata = self._lease["metadata"]
        if self._forgets_handover_at is not None and self._steady() >= self._forgets_handover_at:
            annotations = metadata.get("annotations") or {}
            kept = {key: value for key, value in annotations.items() if key != HANDOVER_ANNOTATION}
            metadata = {**metadata, "annotations": kept}
        body = {**self._lease, "metadata": metadata, "spec": self._spec(updated_record)}
        return await self._write(self._client.replace, LEASE, body)

    async def release(self, handover: Handover) -> None:
        """Releases the lease if we hold it. Never raises: at worst the lease expires."""
        if self.renewed_at is None or self.taken_over:
            return
        with contextlib.suppress(KubeError):
            lease = await self._within(self._client.get(LEASE, self.name, self.namespace))
            if (lease.get("spec") or {}).get("holderIdentity") == self.identity:
                patch = {
                    "metadata": {"annotations": {HANDOVER_ANNOTATION: note_of(handover)}},
                    "spec": {"holderIdentity": None, "leaseDurationSeconds": 1, "renewTime": self._now()},
                }
                version = lease["metadata"]["resourceVersion"]
                await self._within(
                    self._client.patch(LEASE, self.name, patch, self.namespace, resource_version=version)
                )
                logger.info("lease.released", extra=about(identity=self.identity, unrecorded=len(handover)))

    async def _write(self, call: Any, *arguments: Any) -> bool:
        begun = self._steady()
        try:
            self._lease = await self._within(call(*arguments))
        except KubeError as error:
            logger.info("lease.not_written", extra=about(identity=self.identity, reason=error.message))
            return False
        self.renewed_at = begun
        return True

    async def _within(self, call: Any) -> JsonObject:
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                answer: JsonObject = await call
                return answer
        except TimeoutError:
            raise KubeUnavailable("the Kubernetes API takes too long") from None

    def _spec(self, record: Any) -> JsonObject:
        """Replaces the election's local times without a zone; keeps acquireTime if it came from the lease."""
        spec = dict(self._lease.get("spec") or {})
        now = self._now()
        kept = str(record.acquire_time or "")
        if spec.get("holderIdentity") != self.identity:
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + (1 if self._lease else 0)
        self._written.append(now)
        return spec | {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(record.lease_duration),
            "acquireTime": kept if kept.endswith("Z") else now,
            "renewTime": now,
        }

    def _now(self) -> str:
        return self._clock().strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"

    def _log_reachability(self, answers: bool) -> None:
        if answers != self._answers:
            self._answers = answers
            logger.log(
                logging.INFO if answers else logging.WARNING,
                "kubernetes_api.reachable" if answers else "kubernetes_api.unreachable",
            )


class Lead(Protocol):
    """What other components need to know about the lease."""

    def is_certain(self) -> bool:
        """Whether the lease is ours now, judged by the last renewal and its age. Once lost, it stays lost."""

    async def confirm(self) -> None:
        """Asks the cluster. Raises KubeConflict unless the lease is ours, and other KubeErrors without an answer."""


class Leadership:
    """One candidacy: `acquire`, work until `hold` returns, `release`."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        identity: str,
        times: LeaseTimes,
        *,
        clock: Clock,
        name: str = LEASE_NAME,
        steady: Callable[[], float] = steady_seconds,
    ) -> None:
        logging.getLogger("kubernetes.aio.leaderelection").setLevel(logging.CRITICAL)  # logs each failed try
        self._lock = LeaseLock(client, name, namespace, identity, clock=clock, steady=steady)
        self._steady = steady
        self._deadline_s = times.renew_deadline
        config = Config(
            self._lock,
            lease_duration=times.duration,
            renew_deadline=times.renew_deadline,
            retry_period=times.retry_period,
            onstarted_leading=_nothing,
            onstopped_leading=_nothing,
        )
        self._retry_period_s = times.retry_period
        self._election = LeaderElection(config)
        self._has_lapsed = False

    async def acquire(self) -> Handover:
        """Waits until the lease is ours; returns the previous leader's handover."""
        while True:
            if await self._election.try_acquire_or_renew():
                break
            await asyncio.sleep(min(_STANDBY_POLL_S, self._retry_period_s))
        logger.info("lease.acquired", extra=about(identity=self._lock.identity, lease=self._lock.name))
        return self._lock.handover()

    async def hold(self) -> None:
        """Renews the lease; returns when it may be lost, before any other process can acquire it."""
        renewing = asyncio.create_task(self._renew(), name="lease renewal")
        try:
            while not renewing.done() and self.is_certain():
                await asyncio.wait([renewing], timeout=_POLL_S)
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        logger.warning("lease.lost", extra=about(identity=self._lock.identity, taken_over=self._lock.taken_over))

    async def _renew(self) -> None:
        """Runs until cancelled; `hold` decides when to stop."""
        while True:
            await self._election.try_acquire_or_renew()
            await asyncio.sleep(self._retry_period_s)

    async def release(self, handover: Handover = NO_HANDOVER) -> None:
        """Releases the lease, so that a standby takes over at once."""
        await self._lock.release(handover)

    async def confirm(self) -> None:
        await self._lock.confirm()

    def is_certain(self) -> bool:
        renewed_at = self._lock.renewed_at
        if renewed_at is None:
            return False
        # A later renewal does not undo this: work that saw it has stopped, and only a new term starts it again.
        self._has_lapsed |= self._lock.taken_over or self._steady() - renewed_at >= self._deadline_s
        return not self._has_lapsed


async def _nothing() -> None:
    return None


def _api_exception(error: KubeError) -> ApiException:
    """Converts an error: only a 404 means to the election that there is no lease yet."""
    status = error.status or 0
    exception = ApiException(status=status, reason=error.message)
    exception.body = json.dumps({"code": status})
    return exception
