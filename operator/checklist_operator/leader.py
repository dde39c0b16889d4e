"""Who works: the one process that holds the Lease. The election is the official client's; around it is what it lacks.

It knows only ApiException, so our lock turns everything that can go wrong into one. It measures with the wall clock,
so a watch of our own counts the seconds since the last renewal, started before the request, on a clock that nobody
sets. It never gives a lease back, so `release` does.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.baselock import BaseLock

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeError, KubeNotFound, KubeUnavailable
from checklist_crds.kube.kinds import Kind
from checklist_crds.times import Clock
from checklist_operator.json_logging import about
from checklist_operator.settings import LeaseTimes

logger = logging.getLogger(__name__)

LEASE: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease")
LEASE_NAME: Final = "checklist-dispatch-operator"
_ANSWER_WITHIN_S: Final = 2.0
_LOOK_EVERY_S: Final = 0.2


def steady_seconds() -> float:
    """Seconds on a clock that nobody sets and that goes on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class LeaseLock(BaseLock):
    """The Lease as the election wants it. `renewed_at` is when the last successful renewal was begun."""

    def __init__(
        self, client: KubeClient, namespace: str, identity: str, *, clock: Clock, steady: Callable[[], float]
    ) -> None:
        super().__init__(LEASE_NAME, namespace, identity)
        self._client = client
        self._clock = clock
        self._steady = steady
        self._lease: JsonObject = {}
        self._written: deque[str] = deque(maxlen=16)
        self._answers = True
        self.renewed_at: float | None = None
        self.taken_over = False

    async def get(self, name: str, namespace: str) -> tuple[bool, Any]:
        try:
            self._lease = await self._within(self._client.get(LEASE, name, namespace))
        except KubeNotFound as error:
            return False, _api_exception(error)
        except KubeError as error:
            self._tell(False)
            return False, _api_exception(error)
        self._tell(True)
        spec = self._lease.get("spec") or {}
        holder = spec.get("holderIdentity")
        if self.renewed_at is not None and holder == self.identity and spec.get("renewTime") not in self._written:
            # Another process with our name, started after us: it was meant to replace us.
            self.taken_over = True
            return False, _api_exception(KubeError("another process of the same name holds the lease"))
        duration = spec.get("leaseDurationSeconds")
        record = LeaderElectionRecord(
            holder or None, str(duration) if duration else None, spec.get("acquireTime"), spec.get("renewTime")
        )
        return True, record

    async def create(self, name: str, namespace: str, election_record: Any) -> bool:
        body = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": self._spec(election_record),
        }
        return await self._write(self._client.create, LEASE, body, namespace)

    async def update(self, name: str, namespace: str, updated_record: Any) -> bool:
        return await self._write(self._client.replace, LEASE, {**self._lease, "spec": self._spec(updated_record)})

    async def release(self) -> None:
        """Gives the lease back if we hold it. Never raises: at worst it runs out by itself."""
        if self.renewed_at is None or self.taken_over:
            return
        with contextlib.suppress(KubeError):
            lease = await self._within(self._client.get(LEASE, self.name, self.namespace))
            if (lease.get("spec") or {}).get("holderIdentity") == self.identity:
                spec = {"holderIdentity": None, "leaseDurationSeconds": 1, "renewTime": self._now()}
                version = lease["metadata"]["resourceVersion"]
                await self._within(
                    self._client.patch(LEASE, self.name, {"spec": spec}, self.namespace, resource_version=version)
                )
                logger.info("gave the lease back", extra=about(identity=self.identity))

    async def _write(self, call: Any, *arguments: Any) -> bool:
        begun = self._steady()
        try:
            self._lease = await self._within(call(*arguments))
        except KubeError as error:
            logger.info("lease not written: %s", error.message, extra=about(identity=self.identity))
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
        """The election's own times are local ones without a zone; acquireTime is kept where it came from the lease."""
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

    def _tell(self, answers: bool) -> None:
        if answers != self._answers:
            self._answers = answers
            logger.log(
                logging.INFO if answers else logging.WARNING,
                "the Kubernetes API answers again" if answers else "the Kubernetes API does not answer",
            )


class Leadership:
    """One candidacy: `acquire`, then work while `hold` has not returned, then `release`."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        identity: str,
        times: LeaseTimes,
        *,
        clock: Clock,
        steady: Callable[[], float] = steady_seconds,
    ) -> None:
        logging.getLogger("kubernetes.aio.leaderelection").setLevel(logging.CRITICAL)  # one line for each failed try
        self._lock = LeaseLock(client, namespace, identity, clock=clock, steady=steady)
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
        self._election = LeaderElection(config)

    async def acquire(self) -> None:
        """Returns when the lease is ours; waits as long as it takes."""
        await self._election.acquire()
        logger.info("holding the lease", extra=about(identity=self._lock.identity))

    async def hold(self) -> None:
        """Renews the lease; returns when it can no longer be counted on, before anybody else can have it."""
        renewing = asyncio.create_task(self._election.renew_loop(), name="lease renewal")
        try:
            while not renewing.done() and self._is_safe():
                await asyncio.wait([renewing], timeout=_LOOK_EVERY_S)
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        logger.warning("lost the lease", extra=about(identity=self._lock.identity, taken_over=self._lock.taken_over))

    async def release(self) -> None:
        """Lets a standby take over at once."""
        await self._lock.release()

    def _is_safe(self) -> bool:
        renewed_at = self._lock.renewed_at
        return not self._lock.taken_over and renewed_at is not None and self._steady() - renewed_at < self._deadline_s


async def _nothing() -> None:
    return None


def _api_exception(error: KubeError) -> ApiException:
    """What the election understands: only a clean 404 means that there is no lease yet."""
    status = error.status or 0
    exception = ApiException(status=status, reason=error.message)
    exception.body = json.dumps({"code": status})
    return exception
