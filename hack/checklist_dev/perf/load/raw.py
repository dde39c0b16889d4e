"""The baseline: a bare aiohttp client of the Kubernetes API."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from yarl import URL

from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.delivery_records import waiting_events
from checklist_crds.resources.kinds import RUN, Kind
from checklist_crds.runs.seal import RunSeals
from checklist_crds.secrets.sealing import KeyRing, ServerKeys, run_owner
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.failures import Failure
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.bootstrap import ServerKeys as ServiceKeys
from checklist_dev.perf.load.pace import rate_of, until

Json = dict[str, Any]
_FILLING: Final = 32


class RawCluster:
    """Sends and returns bytes. Raises Failure for any unexpected status."""

    def __init__(self, connection: KubeConnection) -> None:
        self._base = connection.server
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=connection.tls or True),
            headers={**connection.headers(), "Accept": "application/json"},
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def create(self, kind: Kind, body: bytes) -> None:
        await self._call("POST", kind.path(NAMESPACE), body, 201)

    async def get_run(self, name: str) -> Json:
        return _object(await self.read_run(name))

    async def read_run(self, name: str) -> bytes:
        return await self._call("GET", RUN.path(NAMESPACE, name), None, 200)

    async def patch_run_status(self, name: str, status: Json) -> None:
        await self.patch_status(RUN, name, status)

    async def patch_status(self, kind: Kind, name: str, status: Json) -> None:
        body = json.dumps({"status": status}).encode()
        await self._call(
            "PATCH", kind.path(NAMESPACE, name, "status"), body, 200, content_type="application/merge-patch+json"
        )

    async def list_runs(self, *, field_selector: str = "") -> list[Json]:
        """All runs, in pages of 500."""
        items: list[Json] = []
        async for page in self.pages(RUN, field_selector=field_selector):
            items += page
        return items

    async def pages(self, kind: Kind, *, field_selector: str = "") -> AsyncIterator[list[Json]]:
        """All objects of a kind, 500 at a time."""
        params = {"limit": "500"} | ({"fieldSelector": field_selector} if field_selector else {})
        while True:
            url = URL(self._base + kind.path(NAMESPACE), encoded=True).with_query(params)
            async with self._session.get(url) as response:
                page = _object(await response.read())
            yield page["items"]
            going_on = page["metadata"].get("continue")
            if not going_on:
                return
            params = {**params, "continue": going_on}

    async def metrics(self) -> str:
        return (await self._call("GET", "/metrics", None, 200)).decode()

    async def _call(
        self, method: str, path: str, body: bytes | None, wanted: int, *, content_type: str = "application/json"
    ) -> bytes:
        headers = {"Content-Type": content_type} if body is not None else {}
        url = URL(self._base + path, encoded=True)
        async with self._session.request(method, url, data=body, headers=headers) as response:
            raw = await response.read()
            if response.status != wanted:
                raise Failure(f"{method} {path} answered {response.status}: {raw[:300].decode(errors='replace')}")
            return raw


class RunFactory:
    """Makes JSON of runs like an example created by the API: the same spec, another name, with webhook secret and run
    sealed for that name."""

    def __init__(self, example: Json, keys: ServiceKeys, *, webhook: bool = True) -> None:
        """`keys`: those of the service. `webhook=False`: a run without events."""
        metadata = example["metadata"]
        self._labels = metadata.get("labels", {})
        self._annotations = metadata.get("annotations", {})
        self._spec = {name: value for name, value in example["spec"].items() if webhook or name != "webhook"}
        self._api_version = example["apiVersion"]
        self._ring = KeyRing.parse(keys.sealing_keys)
        self._seals = RunSeals(ServerKeys.parse(keys.server_key))
        self._secret: str | None = None
        sealed = self._spec.get("webhook", {}).get("sealedSecret")
        if sealed is not None:
            self._secret = self._ring.open(sealed, owner=run_owner(metadata["namespace"], metadata["name"]))

    def make(self, **spec: Any) -> tuple[str, bytes]:
        """A name and a body, created now; `spec` replaces fields. An old `createdAt` would void its seal."""
        name = new_id("r")
        body = {
            "apiVersion": self._api_version,
            "kind": "Run",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": self._labels,
                "annotations": self._annotations,
            },
            "spec": {**self._spec, "createdAt": format_timestamp(utc_now()), **self._sealed_for(name), **spec},
        }
        return name, json.dumps(self._seals.sealed(body), ensure_ascii=False, separators=(",", ":")).encode()

    def _sealed_for(self, name: str) -> Json:
        if self._secret is None:
            return {}
        sealed = self._ring.seal(self._secret, owner=run_owner(NAMESPACE, name))
        return {"webhook": {**self._spec["webhook"], "sealedSecret": sealed}}


async def recorded(cluster: RawCluster, names: Iterable[str], *, look_every_s: float = 0.1) -> list[Json]:
    """The named runs, once the operator has recorded all their events. Raises Failure."""
    waiting, done = set(names), list[Json]()

    async def all_are() -> bool:
        for run in await asyncio.gather(*(cluster.get_run(name) for name in sorted(waiting)[:64])):
            if not waiting_events(run["status"]):
                waiting.discard(run["metadata"]["name"])
                done.append(run)
        return not waiting

    await until(all_are, "every event recorded in its run", every_s=look_every_s)
    return done


async def fill(
    cluster: RawCluster,
    factory: RunFactory,
    count: int,
    *,
    spec: Callable[[int], Json] = lambda _: {},
    status: Callable[[int], Json | None] = lambda _: None,
) -> list[str]:
    """Create `count` runs and return their names. Run `n` has the fields of `spec(n)`, and the status `status(n)`."""
    names: list[str] = []

    async def one(number: int) -> None:
        name, body = factory.make(**spec(number))
        await cluster.create(RUN, body)
        names.append(name)
        if (wanted := status(number)) is not None:
            await cluster.patch_run_status(name, wanted)

    await rate_of((partial(one, number) for number in range(count)), concurrency=_FILLING)
    return names


def _object(raw: bytes) -> Json:
    value: Json = json.loads(raw)
    return value
