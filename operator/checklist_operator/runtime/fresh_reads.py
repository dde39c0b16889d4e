"""Reads that the API server answers from its watch cache instead of etcd, at a third of the cost.

A result may be older than etcd's state, but not older than the start of this term, so it includes the previous leader's
writes, nor than our own writes (Kubernetes API concepts, "Resource versions").
"""

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import Kind, version_of
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.call_coalescer import CallCoalescer


class FreshReads:
    """Cached reads of one term. Pass every written object, and every one read from etcd, to `note`."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._at_least: dict[Kind, int] = {}
        self._begun: set[Kind] = set()
        self._beginnings: CallCoalescer[Kind, str, None] = CallCoalescer(
            lambda kind, where: self._begin(kind, where[0])
        )

    async def get(self, kind: Kind, name: str, namespace: str) -> JsonObject:
        if kind not in self._begun:
            await self._beginnings.add(kind, namespace)
        return await self._client.get(kind, name, namespace, not_older_than=str(self._at_least[kind]))

    async def get_newest(self, kind: Kind, name: str, namespace: str) -> JsonObject:
        """Reads from etcd: for decisions that cannot be undone."""
        return await self._client.get(kind, name, namespace)

    def note(self, kind: Kind, body: JsonObject) -> None:
        """Later reads of `kind` are at least as new as this object."""
        self._at_least[kind] = max(self._at_least.get(kind, 0), version_of(body))

    async def close(self) -> None:
        await self._beginnings.close()

    async def _begin(self, kind: Kind, namespace: str) -> None:
        """Lists one object to learn etcd's current version."""
        if kind in self._begun:
            return
        async for _, version in self._client.pages(kind, namespace, page=1):
            self._at_least[kind] = max(self._at_least.get(kind, 0), int(version))
            self._begun.add(kind)
            return
