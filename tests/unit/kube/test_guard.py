"""When the cluster counts as down, and when it is only slow."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from checklist_api.cluster import guard as kube_guard
from checklist_api.cluster.guard import GuardedKubeClient
from checklist_api.metrics import Metrics
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError, KubeNotFound, KubeOutcomeUnknown, KubeUnavailable
from checklist_crds.resources.kinds import RUN

pytestmark = pytest.mark.looptime
NEVER_S = 1e6
CONCURRENCY = 16
"""Of requests; background calls, as those of these tests, may be twice as many."""
REFUSED = KubeUnavailable("connection refused")
IN_TIME = pytest.approx(kube_guard._SILENT_S + kube_guard._PROBE_EVERY_S, abs=2 * kube_guard._TICK_S)


class Server:
    """Answers a probe and other calls after a while, with an error or an object."""

    def __init__(self) -> None:
        self.probe: KubeError = KubeNotFound("no such organization", status=404)
        self.probe_s = self.call_s = 0.01
        self.error: KubeError | None = None

    async def __call__(self, method: str, path: str, **_: Any) -> dict[str, Any]:
        is_probe = kube_guard._PROBE_NAME in path
        await asyncio.sleep(self.probe_s if is_probe else self.call_s)
        if is_probe:
            raise self.probe
        if self.error is not None:
            raise self.error
        return {}

    def hang(self) -> None:
        self.probe_s = self.call_s = NEVER_S


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(KubeClient, "_call", lambda _, method, path, **given: server(method, path, **given))
    return server


@asynccontextmanager
async def guarded() -> AsyncIterator[GuardedKubeClient]:
    """(No fixture: those live in real time.)"""
    client = GuardedKubeClient(KubeConnection("http://127.0.0.1:1", None, dict), Metrics(), concurrency=CONCURRENCY)
    watching = asyncio.create_task(client.keep_probing())
    try:
        yield client
    finally:
        watching.cancel()
        await client.close()


async def until(check: Callable[[], Any]) -> float:
    loop = asyncio.get_running_loop()
    started = loop.time()
    while not check():
        assert loop.time() - started < 100
        await asyncio.sleep(0.01)
    return loop.time() - started


async def test_a_server_that_takes_three_seconds_for_each_answer_is_slow(server: Server) -> None:
    async with guarded() as client:
        server.probe_s = server.call_s = 3.0
        for _ in range(20):
            await client.get(RUN, "r-1", "n")
            assert client.down is None


async def test_a_probe_that_waits_behind_load_is_slowness_as_long_as_calls_are_answered(server: Server) -> None:
    async with guarded() as client:
        server.probe_s, server.call_s = NEVER_S, 2.0

        async def calls() -> None:
            for _ in range(30):
                await client.get(RUN, "r-1", "n")
                assert client.down is None

        await asyncio.gather(*(calls() for _ in range(40)))
        assert await until(lambda: client.down) == IN_TIME, "and when they are not, it is an outage"


async def test_calls_end_when_the_server_counts_as_down(
    server: Server,
) -> None:
    async with guarded() as client:
        await client.get(RUN, "r-1", "n")
        server.hang()
        loop = asyncio.get_running_loop()
        started = loop.time()

        async def outcome(write: bool) -> tuple[type[BaseException], float]:
            with pytest.raises(KubeError) as raised:
                await (client.patch_status(RUN, "r-1", {}, "n") if write else client.get(RUN, "r-1", "n"))
            return raised.type, loop.time() - started

        outcomes = await asyncio.gather(*(outcome(bool(number % 2)) for number in range(80)))
        (read, write), waiting = outcomes[:2], outcomes[2 * CONCURRENCY :]
        assert (read, write) == ((KubeUnavailable, IN_TIME), (KubeOutcomeUnknown, IN_TIME))
        assert {(kind, seconds == IN_TIME) for kind, seconds in waiting} == {(KubeUnavailable, True)}
        started = loop.time()
        assert await outcome(write=True) == (KubeUnavailable, 0.0)
        server.probe_s = server.call_s = 3.0
        await until(lambda: client.down is None)
        await client.get(RUN, "r-1", "n")


@pytest.mark.parametrize("error", [REFUSED, KubeUnavailable("etcd", status=500)], ids=["refused", "500"])
async def test_a_server_that_is_gone_or_lost_its_store_is_down_at_once(server: Server, error: KubeError) -> None:
    async with guarded() as client:
        server.probe = server.error = error
        assert await until(lambda: client.down) < 1.0
        server.probe = KubeNotFound("there", status=404)
        assert await until(lambda: client.down is None) < 1.0


async def test_connections_that_break_while_others_are_answered_and_429_are_no_outage(server: Server) -> None:
    async with guarded() as client:
        server.probe = REFUSED
        server.probe_s = 0.2
        for _ in range(300):
            await client.get(RUN, "r-1", "n")
            assert client.down is None
        server.probe = KubeUnavailable("too many requests", status=429)
        for _ in range(10):
            await asyncio.sleep(1)
            assert client.down is None


async def test_answers_from_the_server_s_memory_do_not_hide_that_its_store_is_away(server: Server) -> None:
    async with guarded() as client:
        server.probe_s = NEVER_S

        async def read() -> None:
            while True:
                await client.get(RUN, "r-1", "n", not_older_than="7")

        reading = asyncio.create_task(read())
        assert await until(lambda: client.down) == IN_TIME
        reading.cancel()


@pytest.mark.looptime(False)
async def test_a_stopped_process_is_no_outage(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async with guarded() as client:
        """In real time: the loop is blocked, as by a neighbour that has the processor."""
        monkeypatch.setattr(kube_guard, "_SILENT_S", 1.2)
        server.probe_s = 0.6
        await asyncio.sleep(0.6)  # a probe is under way
        time.sleep(1.5)
        await asyncio.sleep(0.3)
        assert client.down is None
