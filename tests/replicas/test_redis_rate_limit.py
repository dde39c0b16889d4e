"""Limits in a real Redis, and what happens while it is away. (How exact they are is test_api_replicas.py.)"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from redis.asyncio import Redis
from tests.waiting import eventually

from checklist_api.http.redis_rate_limit import RedisRateLimiter, _within
from checklist_api.metrics import Metrics
from checklist_api.settings.rates import Rate
from checklist_api.settings.sign_in import RedisSettings
from checklist_dev.programs.redis_server import PASSWORD, RedisServer

SLOW = Rate(1 / 60, 5)
ANSWER_WITHIN_S = 2.0
OpenLimiter = Callable[[], RedisRateLimiter]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as running:
        yield running
        running.resume()


@pytest_asyncio.fixture
async def reader(server: RedisServer) -> AsyncIterator[Any]:
    client: Any = Redis(port=server.port, password=PASSWORD, decode_responses=True)
    yield client
    await client.aclose()


@pytest_asyncio.fixture
async def open_limiter(server: RedisServer) -> AsyncIterator[OpenLimiter]:
    """`open_limiter()`: that of one more replica. More patient than a real one is: on a busy machine Redis may well
    take a tenth of a second, and only the tests that take it away are about that."""
    made: list[RedisRateLimiter] = []

    def open_one() -> RedisRateLimiter:
        settings = RedisSettings(url=server.url())
        made.append(RedisRateLimiter(settings, namespace="n", metrics=Metrics(), answer_within_s=ANSWER_WITHIN_S))
        return made[-1]

    yield open_one
    for limiter in made:
        await limiter.close()


async def admitted(limiter: RedisRateLimiter, tries: int, subject: str = "key:a", rate: Rate = SLOW) -> int:
    return [await limiter.wait_for(subject, rate) for _ in range(tries)].count(0.0)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.message.startswith("rate_limits.")]


async def test_replicas_share_a_burst_and_subjects_do_not(open_limiter: OpenLimiter) -> None:
    replicas = [open_limiter() for _ in range(3)]
    first, second, _ = replicas
    assert [await admitted(first, 3), await admitted(second, 9), await admitted(first, 9)] == [3, 2, 0]
    assert await admitted(second, 9, "key:b") == 5
    batches = [await replicas[n % 3].wait_for("key:batches", SLOW, count) for n, count in enumerate((3, 3, 2, 1))]
    assert [wait == 0 for wait in batches] == [True, False, True, False]
    assert await first.wait_for("key:large", SLOW, 200) == 0
    waits = [await first.wait_for("key:a", SLOW) for _ in range(50)]
    assert waits == sorted(waits, reverse=True), "a refusal says how long to wait, and costs nothing"
    assert 0 < waits[-1] <= waits[0] <= 60
    waits = await asyncio.gather(*(replicas[n % 3].wait_for("key:busy", Rate(0.001, 100)) for n in range(900)))
    assert waits.count(0.0) == 100
    assert all(replica.note is None for replica in replicas)


async def test_a_caller_that_waits_as_long_as_the_refusal_says_is_admitted(open_limiter: OpenLimiter) -> None:
    limiter, rate = open_limiter(), Rate(20, 1)
    for _ in range(5):
        await asyncio.sleep(await limiter.wait_for("key:a", rate))
        assert await limiter.wait_for("key:a", rate) <= 1 / 20
        await asyncio.sleep(1 / 20)
        assert await limiter.wait_for("key:a", rate) in (0.0, pytest.approx(0, abs=1 / 20))


async def test_keys_in_redis_hold_no_names_and_expire(open_limiter: OpenLimiter, reader: Any) -> None:
    limiter = open_limiter()
    await limiter.wait_for("address:198.51.100.7", Rate(1 / 50, 5))
    await limiter.wait_for("sign-in:account:ada@example.com", SLOW)
    await limiter.is_first("a-state", 600)
    keys = [key async for key in reader.scan_iter("*")]
    assert len(keys) == 3
    assert all(key.startswith("checklists:n:rate:") for key in keys)
    kept = str(keys) + str([await reader.get(key) for key in keys])
    assert not any(word in kept for word in ("198.51", "ada", "a-state"))
    lives_ms = sorted([await reader.pttl(key) for key in keys])
    assert [0 < left <= most for left, most in zip(lives_ms, (50_001, 60_001, 600_001), strict=True)] == [True] * 3


async def test_what_another_program_wrote_there_locks_no_caller_out(open_limiter: OpenLimiter, reader: Any) -> None:
    """As does a clock of Redis that was set back: an arrival time can be at most one burst ahead."""
    limiter, rate = open_limiter(), Rate(10, 5)
    await limiter.wait_for("key:a", rate)
    [key] = [key async for key in reader.scan_iter("*")]
    for kept in ("garbage", "99999999999999999999", "inf", "nan", "-5"):
        await reader.set(key, kept)
        assert await limiter.wait_for("key:a", rate) <= 0.6, kept
    await reader.delete(key)
    await reader.lpush(key, "a list")
    assert await limiter.wait_for("key:a", rate) == 0
    assert limiter.note is None


async def test_once_holds_for_all_replicas(server: RedisServer, open_limiter: OpenLimiter) -> None:
    replicas = [open_limiter() for _ in range(3)]
    answers = await asyncio.gather(*(replica.is_first("state", 600) for replica in replicas for _ in range(5)))
    assert answers.count(True) == 1
    assert await replicas[0].is_first("another", 600)
    server.stop()
    server.start()
    assert not await replicas[0].is_first("another", 600)


@pytest.mark.parametrize("how", ["killed", "paused", "read-only", "wrong password"])
async def test_without_redis_a_replica_counts_alone_says_so_once_and_goes_back_alone(
    server: RedisServer,
    open_limiter: OpenLimiter,
    reader: Any,
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    caplog.set_level(logging.INFO, "checklist_api")
    limiter = open_limiter()
    metrics = limiter._metrics.registry
    assert await admitted(limiter, 2) == 2
    match how:
        case "killed":
            server.stop()
        case "paused":
            server.pause()
        case "read-only":
            await reader.replicaof("127.0.0.1", "1")
        case _:
            await reader.config_set("requirepass", "another")
            await reader.client_kill_filter(_type="normal", skipme=True)
    answers = await asyncio.gather(*(limiter.wait_for("key:a", SLOW) for _ in range(50)))
    assert answers.count(0.0) == 3, "what Redis had admitted still counts"
    assert limiter.note is not None and "Redis" in limiter.note
    assert metrics.get_sample_value("checklists_rate_limits_shared") == 0
    assert await limiter.is_first("state", 600)
    assert not await limiter.is_first("state", 600)
    assert await admitted(limiter, 9, "key:b") == 5
    assert lines(caplog) == ["rate_limits.redis_down"]

    match how:
        case "killed":
            server.start()
        case "paused":
            server.resume()
        case "read-only":
            await reader.replicaof("NO", "ONE")
        case _:
            await reader.config_set("requirepass", PASSWORD)
    await eventually(lambda: limiter.note is None)
    assert lines(caplog) == ["rate_limits.redis_down", "rate_limits.shared_again"]
    assert metrics.get_sample_value("checklists_rate_limits_shared") == 1
    assert metrics.get_sample_value("checklists_rate_limits_fallbacks_total") == 1
    assert await admitted(limiter, 3, "key:c") + await admitted(open_limiter(), 9, "key:c") == 5


async def test_a_start_without_redis_is_a_start(
    server: RedisServer, open_limiter: OpenLimiter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "checklist_api")
    server.stop()
    limiter = open_limiter()
    limiter.start()
    assert await admitted(limiter, 9) == 5
    await eventually(lambda: limiter.note)
    server.start()
    await eventually(lambda: limiter.note is None)
    assert lines(caplog) == ["rate_limits.redis_down", "rate_limits.shared_again"]


async def test_a_process_that_stands_still_does_not_blame_redis() -> None:
    """Whatever keeps it busy, for longer than Redis has to answer: as long as it gets to look now and then."""

    async def answered_after_four_turns() -> str:
        for _ in range(4):
            time.sleep(0.05)
            await asyncio.sleep(0)
        return "the answer"

    assert await _within(answered_after_four_turns(), 0.1) == "the answer"
    with pytest.raises(TimeoutError):
        await _within(asyncio.Event().wait(), 0.1)


async def test_broken_idle_lines(open_limiter: OpenLimiter, reader: Any, caplog: pytest.LogCaptureFixture) -> None:
    limiter = open_limiter()
    assert await admitted(limiter, 2) == 2
    await reader.client_kill_filter(_type="normal", skipme=True)
    assert await admitted(limiter, 9) == 3
    await reader.script_flush()
    assert await admitted(limiter, 9, "key:b") == 5
    assert lines(caplog) == []
