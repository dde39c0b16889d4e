"""The cluster of a command: options as kubectl has them, and waiting for a change of one object."""

import asyncio
import contextlib
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject

from ..console.cluster import connected
from ..console.command import CommandFailed

if TYPE_CHECKING:
    from checklist_crds.kube.client import KubeClient
    from checklist_crds.resources.kinds import Kind

DEFAULT_NAMESPACE: Final = "default"
_OUTAGE_S: Final = 600.0
"""Longest outage of the Kubernetes API that a wait survives."""
_LONGEST_PAUSE_S: Final = 30.0


def add_cluster_options(parser: ArgumentParser, *, all_namespaces: bool = False) -> None:
    """-n, --context, --kubeconfig, and with `all_namespaces` also -A."""
    cluster = parser.add_argument_group("the cluster")
    cluster.add_argument("-n", "--namespace", metavar="NAME", help="the namespace (default: that of the context)")
    cluster.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: the current one)")
    cluster.add_argument(
        "--kubeconfig", metavar="FILE", help="the kubeconfig (default: KUBECONFIG, ~/.kube/config, the pod)"
    )
    if all_namespaces:
        cluster.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The Kubernetes API and the namespace of the command."""

    client: "KubeClient"
    namespace: str

    async def get(self, kind: "Kind", name: str) -> JsonObject:
        """Raises CommandFailed if there is no such object, and KubeError."""
        from checklist_crds.kube.errors import KubeNotFound

        try:
            return await self.client.get(kind, name, self.namespace)
        except KubeNotFound as error:
            raise CommandFailed(f"{error} (namespace {self.namespace})") from None

    async def until(
        self,
        kind: "Kind",
        name: str,
        holds: Callable[[JsonObject], bool],
        *,
        timeout_s: float | None,
        wake_at: Callable[[JsonObject], datetime | None] = lambda _: None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> JsonObject:
        """Watch an object until `holds(object)`, or return it as it is after `timeout_s`.

        `wake_at`: when to evaluate `holds` again without a change. Outages of up to ten minutes are survived. Raises
        CommandFailed if the object is deleted, and KubeError.
        """
        from checklist_crds.kube.errors import KubeGone, KubeUnavailable

        body = await self.get(kind, name)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        failures, answered_at = 0, time.monotonic()
        while not holds(body):
            left_s = None if deadline is None else deadline - time.monotonic()
            if left_s is not None and left_s <= 0:
                break
            try:
                async with asyncio.timeout(_sooner(left_s, _seconds_to(wake_at(body)))):
                    body = await self._next(kind, body)
                failures = 0
            except TimeoutError:
                failures = 0
            except KubeGone:
                body = await self.get(kind, name)
            except KubeUnavailable:
                answered_at = answered_at if failures else time.monotonic()
                if time.monotonic() - answered_at > _OUTAGE_S:
                    raise
                failures += 1
                pause_s = min(2.0 ** (failures - 1), _LONGEST_PAUSE_S)
                await pause(pause_s if left_s is None else min(pause_s, left_s))
        return body

    async def _next(self, kind: "Kind", body: JsonObject) -> JsonObject:
        """Return the object after its next change, or read it again when the watch ends."""
        name, version = body["metadata"]["name"], body["metadata"]["resourceVersion"]
        watch = self.client.watch(
            kind, self.namespace, resource_version=version, field_selector=f"metadata.name={name}"
        )
        async with contextlib.aclosing(watch) as events:  # type: ignore[type-var]
            async for event in events:
                if event.type == "DELETED":
                    raise CommandFailed(f"{kind.kind} {name} was deleted")
                if event.type != "BOOKMARK":
                    return event.object
        return await self.get(kind, name)


@contextlib.asynccontextmanager
async def cluster_of(options: Namespace) -> AsyncIterator[Cluster]:
    """The cluster of `add_cluster_options`. A KubeError in the block becomes a CommandFailed."""
    async with connected(options.kubeconfig, context=options.context) as client:
        yield Cluster(client, options.namespace or client.default_namespace or DEFAULT_NAMESPACE)


def condition_of(body: JsonObject, kind: str) -> JsonObject | None:
    """The condition of this type, if the object has one."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), None)


def _seconds_to(moment: datetime | None) -> float | None:
    return None if moment is None else max(0.05, (moment - utc_now()).total_seconds())


def _sooner(*seconds: float | None) -> float | None:
    return min((one for one in seconds if one is not None), default=None)
