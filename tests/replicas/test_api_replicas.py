"""Four real API processes: limits that are one, also after Redis was away; keys that end everywhere."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis
from tests.contract.conftest import kube  # noqa: F401 - a fixture
from tests.replicas.api_processes import ApiProcess, api_processes
from tests.waiting import eventually

from checklist_crds import api_keys
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.kinds import API_KEY, MEMBER, ORGANIZATION
from checklist_crds.resource_types import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.secret_digest import digest
from checklist_dev.controlplane import ControlPlane
from checklist_dev.redis_server import PASSWORD, RedisServer

PER_SECOND, BURST = 20, 40
NOTE = "rate limits are counted by each replica on its own: Redis does not answer"

NewKey = Callable[[], Awaitable[str]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as running:
        yield running
        running.resume()


@pytest_asyncio.fixture
async def replicas(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, server: RedisServer
) -> AsyncIterator[list[ApiProcess]]:
    limits = {"CHECKLISTS_RATE_LIMIT": f"{PER_SECOND}/s burst {BURST}"}
    async with api_processes(4, tmp_path, control_plane.kubeconfig, namespace, **limits, **server.settings()) as made:
        yield made


@pytest_asyncio.fixture
async def new_key(kube: KubeClient, namespace: str) -> NewKey:  # noqa: F811
    """`await new_key()`: a key of one organization."""
    organization, member = new_id("org"), new_id("u")
    labels = {ORGANIZATION_LABEL: organization}
    reference = {"organizationRef": {"name": organization}}
    made = {"apiVersion": API_VERSION, "metadata": {"name": organization, "labels": labels}}
    await kube.create(ORGANIZATION, {**made, "kind": "Organization", "spec": {"displayName": "Acme"}})
    metadata = {"name": member, "namespace": namespace, "labels": labels}
    spec = {**reference, "name": "Ada Example", "email": "ada@example.com", "role": "admin"}
    body = {"apiVersion": API_VERSION, "kind": "Member", "metadata": metadata, "spec": spec}
    await kube.create(MEMBER, body, namespace)

    async def make() -> str:
        key = api_keys.new_key()
        metadata = {"name": name_of(key), "namespace": namespace, "labels": labels}
        spec = {**reference, "memberRef": {"name": member}, "name": "test", "sha256": digest(key)}
        body = {"apiVersion": API_VERSION, "kind": "ApiKey", "metadata": metadata, "spec": spec}
        await kube.create(API_KEY, body, namespace)
        return key

    return make


def name_of(key: str) -> str:
    return api_keys.object_name(digest(key))


class Callers:
    """Ask all replicas as fast as these answer, with one key, until `stop` and then until each refuses: nothing is left
    that could have been let through."""

    def __init__(self, replicas: list[ApiProcess], key: str) -> None:
        self.statuses: list[Counter[int]] = [Counter() for _ in replicas]
        self._key = key
        self._over = False
        self._tasks = [asyncio.create_task(self._ask(n, replica)) for n, replica in enumerate(replicas)]

    async def _ask(self, number: int, replica: ApiProcess) -> None:
        headers = {"Authorization": f"Bearer {self._key}"}
        async with httpx.AsyncClient(base_url=replica.url, headers=headers, trust_env=False, timeout=30) as http:
            is_over = False
            while not is_over:
                response = await http.get("/v1/templates?per_page=1")
                if response.status_code == 429:
                    assert response.json()["error"] == "rate_limited"
                    assert int(response.headers["Retry-After"]) >= 1
                self.statuses[number][response.status_code] += 1
                is_over = self._over and response.status_code != 200

    async def stop(self) -> Counter[int]:
        self._over = True
        await asyncio.gather(*self._tasks)
        return sum(self.statuses, Counter[int]())


async def readiness(replica: ApiProcess) -> Any:
    async with httpx.AsyncClient(base_url=replica.url, trust_env=False) as http:
        response = await http.get("/readyz")
        assert response.status_code == 200
        return {name: response.json()[name] for name in ("status", "notes")}


async def test_four_replicas_share_a_limit_count_alone_without_redis_and_share_again(
    replicas: list[ApiProcess], new_key: NewKey, server: RedisServer
) -> None:
    def falls() -> int:
        return sum(replica.child.output().count("rate_limits.redis_down") for replica in replicas)

    async def shared() -> None:
        """What all let through together is what one would, by Redis' clock, as long as none of them falls back. (On a
        busy machine one may for a moment, as it says: then it is looked at again.)"""
        for _ in range(10):
            before = falls()
            count, least, most = await window(await new_key())
            if falls() == before and all(
                [await readiness(replica) == {"status": "ok", "notes": []} for replica in replicas]
            ):
                assert set(count) == {200, 429}, count
                assert 0.98 * least <= count[200] <= 1.02 * most, (count, least, most)
                return
            for replica in replicas:
                await eventually(lambda replica=replica: _says(replica, {"status": "ok", "notes": []}))  # type: ignore[misc]
        pytest.fail("for ten looks in a row some replica got no answer of Redis in time")

    async def window(key: str) -> tuple[Counter[int], float, float]:
        """What was answered, and how many had to and could be let through."""
        clock: Any = Redis(port=server.port, password=PASSWORD)

        async def now() -> float:
            seconds, micros = await clock.time()
            return float(seconds) + micros / 1e6

        longest = -await now()
        callers = Callers(replicas, key)
        await eventually(lambda: _is(any(callers.statuses)))
        shortest = -await now()
        await asyncio.sleep(4)
        shortest += await now()
        count = await callers.stop()
        longest += await now()
        await clock.aclose()
        return count, BURST + PER_SECOND * shortest, BURST + PER_SECOND * longest

    await shared()
    for kill, revive in ((server.stop, server.start), (server.pause, server.resume)):
        key = await new_key()
        callers = Callers(replicas, key)
        await eventually(lambda callers=callers: _is(callers.statuses[0][429] > 0))  # type: ignore[misc]
        kill()
        # Each on its own lets through what all together did before, and more.
        await eventually(lambda callers=callers: _is(all(each[200] > BURST + 10 for each in callers.statuses)))  # type: ignore[misc]
        for replica in replicas:
            assert await readiness(replica) == {"status": "ok", "notes": [NOTE]}
        revive()
        for replica in replicas:
            await eventually(lambda replica=replica: _says(replica, {"status": "ok", "notes": []}))  # type: ignore[misc]
        assert set(await callers.stop()) == {200, 429}, "Redis makes no request fail"
        await shared()
    for replica in replicas:
        words = replica.child.output()
        assert words.count("rate_limits.redis_down") == words.count("rate_limits.shared_again") >= 2


async def _is(truth: bool) -> bool:
    return truth


async def _says(replica: ApiProcess, words: Any) -> bool:
    return bool(await readiness(replica) == words)


async def test_a_revoked_key_opens_no_replica_any_more(
    replicas: list[ApiProcess],
    new_key: NewKey,
    kube: KubeClient,  # noqa: F811
    namespace: str,
) -> None:
    """In any order of arrival, and not only for keys that a replica knows already."""
    keys = [await new_key() for _ in range(5)]

    async def statuses(key: str, some: list[ApiProcess]) -> list[int]:
        async with httpx.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {key}"}) as http:
            return [(await http.get(f"{each.url}/v1/templates?per_page=1")).status_code for each in some]

    for number, key in enumerate(keys):
        used = replicas[: number % 5]
        assert await statuses(key, used) == [200] * len(used)
        await kube.patch(API_KEY, name_of(key), {"spec": {"revoked": True}}, namespace)
        await eventually(lambda key=key: _refused(statuses(key, replicas)))  # type: ignore[misc]
    for key in keys:
        assert await statuses(key, replicas) == [401] * 4


async def _refused(asked: Awaitable[list[int]]) -> bool:
    return set(await asked) == {401}
