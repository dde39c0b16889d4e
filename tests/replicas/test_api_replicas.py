"""Several API processes: shared limits and no lost update."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis
from tests.contract.conftest import _make_account, key_object, kube  # noqa: F401 - a fixture
from tests.replicas.api_processes import ApiProcess, api_processes
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import API_KEY
from checklist_crds.secrets import api_keys
from checklist_dev.faults.replicas.scene import mixed_operations
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.rig import Rig
from checklist_dev.programs.redis_server import PASSWORD, RedisServer

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
    organization, member, _, _ = await _make_account(kube, namespace, None, {})

    async def make() -> str:
        key = api_keys.new_key()
        await kube.create(API_KEY, key_object(key, organization, namespace, member), namespace)
        return key

    return make


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


async def is_well(replica: ApiProcess) -> bool:
    return bool(await readiness(replica) == {"status": "ok", "notes": []})


async def test_replicas_share_a_limit(replicas: list[ApiProcess], new_key: NewKey, server: RedisServer) -> None:
    def falls() -> int:
        return sum(replica.child.output().count("rate_limits.redis_down") for replica in replicas)

    async def shared() -> None:
        """What all let through together is what one would, by Redis' clock, as long as none of them falls back. (On a
        busy machine one may for a moment, as it says: then it is looked at again.)"""
        for _ in range(10):
            before = falls()
            count, least, most = await window(await new_key())
            if falls() == before and all([await is_well(replica) for replica in replicas]):
                assert set(count) == {200, 429}, count
                assert 0.98 * least <= count[200] <= 1.02 * most, (count, least, most)
                return
            for replica in replicas:
                await eventually(lambda replica=replica: is_well(replica))
        pytest.fail("for ten looks in a row some replica got no answer of Redis in time")

    async def window(key: str) -> tuple[Counter[int], float, float]:
        """What was answered, and how many had to and could be let through."""
        clock: Any = Redis(port=server.port, password=PASSWORD)

        async def now() -> float:
            seconds, micros = await clock.time()
            return float(seconds) + micros / 1e6

        longest = -await now()
        callers = Callers(replicas, key)
        await eventually(lambda: any(callers.statuses))
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
        await eventually(lambda callers=callers: callers.statuses[0][429] > 0)
        kill()
        # Each on its own lets through what all together did before, and more.
        await eventually(lambda callers=callers: all(each[200] > BURST + 10 for each in callers.statuses))
        for replica in replicas:
            assert await readiness(replica) == {"status": "ok", "notes": [NOTE]}
        revive()
        for replica in replicas:
            await eventually(lambda replica=replica: is_well(replica))
        assert set(await callers.stop()) == {200, 429}, "Redis makes no request fail"
        await shared()
    for replica in replicas:
        words = replica.child.output()
        assert words.count("rate_limits.redis_down") == words.count("rate_limits.shared_again") >= 2


async def test_four_replicas_lose_no_update(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.txt")
    with Rig(tmp_path / "rig", fsync=False, report=transcript.say) as rig:
        result = await mixed_operations(rig, transcript, operations=2_000, seed=20_261_122)
    transcript.report(result.findings)
    assert result.holds, [finding.as_json() for finding in result.findings if not finding.holds]
    assert result.figures["writes_acknowledged"] >= 300
    assert all(finding.checked > 0 for finding in result.findings)
