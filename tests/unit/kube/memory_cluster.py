"""Clusters of the tests: one in memory, and one that answers nothing."""

import asyncio
import copy
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from aiohttp import web

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.resources.kinds import Kind
from checklist_crds.values import merge_patch
from checklist_crds.values.json_text import JsonObject

CREATED = "2026-11-21T11:00:00Z"


class MemoryCluster:
    """Objects by kind and name: each write is a new resourceVersion, another spec a new generation.

    Counts requests in `asked`.
    """

    def __init__(self) -> None:
        self.objects: dict[tuple[Kind, str], JsonObject] = {}
        self.asked: Counter[str] = Counter()
        self._version = 0

    def put(
        self, kind: Kind, name: str, spec: Mapping[str, Any], namespace: str = "checklists", **annotations: str
    ) -> JsonObject:
        """Write the spec as a user does. Returns a copy of the object."""
        before = self.objects.get((kind, name), {"metadata": {"generation": 0}})
        metadata = before["metadata"] | {"name": name, "uid": f"uid-{name}", "creationTimestamp": CREATED}
        metadata["annotations"] = annotations
        metadata["generation"] += before.get("spec") != spec
        if kind.namespaced:
            metadata["namespace"] = namespace
        self.objects[kind, name] = {"metadata": metadata, "spec": dict(spec), "status": before.get("status", {})}
        return self._written(kind, name)

    async def get(self, kind: Kind, name: str, *_: Any, **__: Any) -> JsonObject:
        self.asked["get"] += 1
        return self.read(kind, name)

    def read(self, kind: Kind, name: str) -> JsonObject:
        """A copy, without a request."""
        if (kind, name) not in self.objects:
            raise KubeNotFound(name)
        return copy.deepcopy(self.objects[kind, name])

    async def pages(self, kind: Kind, *_: Any, **__: Any) -> AsyncIterator[tuple[list[JsonObject], str]]:
        yield [self.read(kind, name) for of, name in self.objects if of is kind], str(self._version)

    async def create(self, kind: Kind, body: Mapping[str, Any], *_: Any) -> JsonObject:
        self.objects[kind, body["metadata"]["name"]] = copy.deepcopy(dict(body))
        return dict(body)

    async def patch(
        self, kind: Kind, name: str, patch: Mapping[str, Any], *_: Any, resource_version: str | None = None, **__: Any
    ) -> JsonObject:
        self.asked["patch"] += 1
        await asyncio.sleep(0.01)
        body = self.read(kind, name)
        if resource_version not in (None, body["metadata"]["resourceVersion"]):
            self.asked["conflict"] += 1
            raise KubeConflict("stale")
        self.objects[kind, name] = merge_patch.apply(body, patch)
        return self._written(kind, name)

    async def patch_status(
        self, kind: Kind, name: str, patch: Mapping[str, Any], *_: Any, **options: Any
    ) -> JsonObject:
        return await self.patch(kind, name, {"status": patch}, **options)

    async def json_patch_status(
        self, kind: Kind, name: str, operations: Sequence[Mapping[str, Any]], *_: Any
    ) -> JsonObject:
        self.asked["patch"] += 1
        await asyncio.sleep(0.01)
        body = self.read(kind, name)
        try:
            for operation in operations:
                _apply(body, **operation)
        except (LookupError, ValueError) as error:
            self.asked["conflict"] += 1
            raise KubeConflict("the patch does not fit") from error
        self.objects[kind, name] = body
        return self._written(kind, name)

    def _written(self, kind: Kind, name: str) -> JsonObject:
        self._version += 1
        self.objects[kind, name]["metadata"]["resourceVersion"] = str(self._version)
        return self.read(kind, name)


def _apply(body: Any, op: str, path: str, value: Any = None) -> None:
    """One operation of a JSON Patch (RFC 6902), as Kubernetes takes it: what is absent passes for null in a test."""
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])
    place = body
    for part in parents:
        place = place[int(part) if isinstance(place, list) else part]
    key: Any = int(last) if isinstance(place, list) and last != "-" else last
    match op:
        case "add" if isinstance(place, list):
            place.insert(len(place) if key == "-" else key, value)
        case "add":
            place[key] = value
        case "remove":
            del place[key]
        case "test" if (place[key] if isinstance(place, list) else place.get(key)) != value:
            raise ValueError(path)


class _NoCluster:
    def places(self, kind: Kind, namespace: str | None = None) -> tuple[str | None, ...]:
        return (namespace,)


NO_CLUSTER = cast(KubeClient, _NoCluster())


@asynccontextmanager
async def played_cluster(application: web.Application, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Until the block ends, every KubeConnection that is loaded leads to the application."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    connection = KubeConnection(f"http://127.0.0.1:{runner.addresses[0][1]}", None, dict)

    async def load() -> KubeConnection:
        return connection

    monkeypatch.setattr(KubeConnection, "load", load)
    try:
        yield
    finally:
        await runner.cleanup()
