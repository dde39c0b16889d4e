"""How long a revoked key goes on to open the API: on every replica, from the moment when its revocation was asked for.

Every other key is revoked in the dashboard of the first replica, the others as `kubectl` does it. Each replica has used
the key a moment before, so it has it in its copy; the slowest one counts. The baseline is what nobody can beat: a bare
watch of ApiKeys, from the same moment until it hears of the change.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import API_KEY
from checklist_dev.bench.report import Figure, Goal, percentile
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.failures import Failure
from checklist_dev.people import Person, sign_in

GOAL_MS: Final = 1000.0
_ENDS_WITHIN_S: Final = 10.0
_KNOWN_WITHIN_S: Final = 10.0
_PAUSE_S: Final = 0.001


async def measure_revocations(
    kube: KubeClient, replicas: Sequence[str], organization: str, *, revocations: int
) -> list[Figure]:
    """`replicas`: addresses of API processes. Raises Failure when a replica takes a revoked key for good."""
    person = await sign_in(kube, organization=organization, namespace=NAMESPACE, role="admin")
    took: dict[str, list[float]] = {"dashboard": [], "kubectl": []}
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False) as session,
        _heard_of_by_a_watch(kube) as heard,
    ):
        desk = await _Desk.open(session, replicas[0], person)
        raw: list[float] = []
        for number in range(revocations):
            name, key = await desk.new_key(f"bench {number}")
            await asyncio.gather(*(_until(session, url, key, 200, _KNOWN_WITHIN_S) for url in replicas))
            way = "kubectl" if number % 2 else "dashboard"
            asked = time.perf_counter()
            if way == "dashboard":
                await desk.revoke(name)
            else:
                await kube.patch(API_KEY, name, {"spec": {"revoked": True}}, NAMESPACE)
            refused = await asyncio.gather(*(_until(session, url, key, 401, _ENDS_WITHIN_S) for url in replicas))
            took[way].append((max(refused) - asked) * 1000)
            raw.append((await asyncio.wait_for(heard[name], _ENDS_WITHIN_S) - asked) * 1000)
    bare = f"a bare watch hears of it: p50 {percentile(raw, 50):.1f} ms, p99 {percentile(raw, 99):.1f} ms"
    every = [*took["dashboard"], *took["kubectl"]]
    goal = Goal("<=", GOAL_MS)
    return [
        Figure(f"revoked key refused by all of {len(replicas)} replicas, p99", percentile(every, 99), "ms", goal, bare),
        *(
            Figure(f"revoked key refused, by {way}, p50", percentile(times, 50), "ms", None, f"{len(times)} of them")
            for way, times in took.items()
        ),
        Figure("revoked key refused, the slowest", max(every), "ms", None, f"{len(every)} of them"),
    ]


class _Desk:
    """An admin in the dashboard of one replica."""

    def __init__(self, session: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> None:
        self._session = session
        self._url = url
        self._headers = headers

    @classmethod
    async def open(cls, session: aiohttp.ClientSession, url: str, person: Person) -> "_Desk":
        async with session.get(f"{url}/dashboard/api/session", headers=person.headers) as response:
            token = (await response.json())["csrf_token"]
        return cls(session, f"{url}/dashboard/api/{person.organization_id}/keys", person.csrf_headers(token))

    async def new_key(self, purpose: str) -> tuple[str, str]:
        """Its id and its plaintext."""
        async with self._session.post(self._url, json={"name": purpose}, headers=self._headers) as response:
            made = await response.json()
            if response.status != 201:
                raise Failure(f"no key was made: {made}")
        return made["id"], made["key"]

    async def revoke(self, name: str) -> None:
        async with self._session.post(f"{self._url}/{name}/revoke", headers=self._headers) as response:
            if response.status != 200:
                raise Failure(f"the key was not revoked: {await response.text()}")


async def _until(session: aiohttp.ClientSession, url: str, key: str, status: int, within_s: float) -> float:
    """When the replica first answered a request with the key like that. Raises Failure."""
    headers, deadline = {"Authorization": f"Bearer {key}"}, time.perf_counter() + within_s
    while time.perf_counter() < deadline:
        async with session.get(f"{url}/v1/templates?per_page=1", headers=headers) as response:
            await response.read()
            if response.status == status:
                return time.perf_counter()
        await asyncio.sleep(_PAUSE_S)
    raise Failure(f"{url} did not answer {status} within {within_s:g} s")


@asynccontextmanager
async def _heard_of_by_a_watch(kube: KubeClient) -> AsyncIterator["_Heard"]:
    _, version = await kube.list_all(API_KEY, NAMESPACE)
    heard = _Heard()

    async def listen() -> None:
        async for event in kube.watch(API_KEY, NAMESPACE, resource_version=version):
            if event.type == "MODIFIED" and event.object["spec"].get("revoked"):
                heard.tell(event.object["metadata"]["name"])

    listening = asyncio.create_task(listen())
    try:
        yield heard
    finally:
        listening.cancel()


class _Heard:
    """When the watch brought the revocation of a key, by its name."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[float]] = {}

    def __getitem__(self, name: str) -> "asyncio.Future[float]":
        return self._futures.setdefault(name, asyncio.get_running_loop().create_future())

    def tell(self, name: str) -> None:
        if not self[name].done():
            self[name].set_result(time.perf_counter())
