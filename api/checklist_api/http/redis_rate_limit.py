"""Rate limits shared by all replicas, in Redis: the algorithm of `LocalRateLimiter` on Redis' clock.

Calls of one event loop turn, and those queued while a call is pending, are batched into one call of a script: one round
trip and one connection for any number of requests. Redis must never fail or delay a request: without a response within
a tenth of a second, each replica falls back to local limits at the full rate (with n replicas a subject has at most n
times its rate; a fraction would refuse clients whose connections all reach one replica). Meanwhile Redis is probed in
the background with the same script, since a read-only or full Redis still answers PING; on success the shared limits
resume.
"""

import asyncio
import hashlib
import logging
import math
import random
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError

from ..metrics import Metrics
from ..settings.rates import Rate
from ..settings.sign_in import RedisSettings
from .rate_limit import LocalRateLimiter
from .redis_connection import connect

logger = logging.getLogger(__name__)

T = TypeVar("T")

ANSWER_WITHIN_S: Final = 0.1
_POLLS: Final = 5
"""The timeout is split into polls, plus one. If this process is stalled (busy event loop, no CPU time), only one poll
times out, so that the stall is not attributed to Redis."""
_RETRY_TIMEOUT_S: Final = 1.0
_MIN_BACKOFF_S: Final = 0.1
_MAX_BACKOFF_S: Final = 5.0
_BATCH: Final = 256
_NOTE: Final = "rate limits are counted by each replica on its own: Redis does not answer"

# A stored arrival time is capped at the whole burst ahead, in case Redis' clock was set back or the rate was lowered:
# otherwise clients would be locked out. Numbers are microseconds, which a double represents exactly until 2255.
_SCRIPT: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local waits = {}
for number, key in ipairs(KEYS) do
  local interval, tolerance = tonumber(ARGV[3 * number - 2]), tonumber(ARGV[3 * number - 1])
  local count = tonumber(ARGV[3 * number])
  local kept = redis.pcall('GET', key)
  local arrival = type(kept) == 'string' and tonumber(kept) or now
  arrival = math.max(now, math.min(arrival, now + tolerance + interval))
  local early = arrival - now - tolerance + (count - 1) * interval
  if early > 0.001 then
    waits[number] = math.ceil(early)
  else
    local next = arrival + count * interval
    redis.call('SET', key, string.format('%.3f', next), 'PX', math.ceil((next - now) / 1000) + 1)
    waits[number] = 0
  end
end
return waits
"""
_SHA: Final = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()


@dataclass(slots=True)
class _Call:
    subject: str
    rate: Rate
    count: int
    answer: "asyncio.Future[float | None]"


class RedisRateLimiter:
    """A `RateLimiter`. Call `start` in the serving event loop, and `close` at the end."""

    def __init__(
        self,
        settings: RedisSettings,
        *,
        namespace: str,
        metrics: Metrics,
        local: LocalRateLimiter | None = None,
        answer_within_s: float = ANSWER_WITHIN_S,
    ) -> None:
        """`namespace`: separates installations that share a Redis. `answer_within_s`: timeout."""
        self._redis = connect(
            settings,
            socket_timeout=max(_RETRY_TIMEOUT_S, answer_within_s),
            socket_connect_timeout=max(_RETRY_TIMEOUT_S, answer_within_s),
            # A connection that broke while idle is retried once.
            retry=Retry(NoBackoff(), 1),
        )
        self._prefix = f"checklists:{namespace}:rate:"
        self._metrics = metrics
        self._local = local or LocalRateLimiter()
        self._answer_within_s = answer_within_s
        self._waiting: list[_Call] = []
        self._flushing: asyncio.Task[None] | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._is_down = False

    @property
    def note(self) -> str | None:
        """A message for the operator; None while limits are shared."""
        return _NOTE if self._is_down else None

    def start(self) -> None:
        """Probe Redis, before the first request."""
        self._fall_back(None)

    async def wait_for(self, subject: str, rate: Rate, count: int = 1) -> float:
        if self._recovery is not None:
            return await self._local.wait_for(subject, rate, count)
        call = _Call(subject, rate, min(count, rate.burst), asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush(), name="shared rate limits")
        wait_s = await call.answer
        if wait_s is not None and wait_s > 0:
            return wait_s
        # Admitted requests are counted locally, too, for a later fallback.
        local_s = await self._local.wait_for(subject, rate, count)
        return local_s if wait_s is None else 0.0

    async def is_first(self, secret: str, within_s: float) -> bool:
        if not await self._local.is_first(secret, within_s):
            return False
        if self._recovery is not None:
            return True
        try:
            call = self._redis.set(self._key(secret), 1, nx=True, px=math.ceil(within_s * 1000))
            return bool(await _within(call, self._answer_within_s))
        except Exception as error:
            self._fall_back(error)
            return True

    async def close(self) -> None:
        for task in (self._flushing, self._recovery):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        for call in self._waiting:
            call.answer.cancel()
        await self._redis.aclose()

    async def _flush(self) -> None:
        """Answer queued calls in batches until none is queued; None selects the local limit."""
        try:
            while self._waiting:
                calls, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
                waits: Sequence[float | None]
                try:
                    subjects = [(each.subject, each.rate, each.count) for each in calls]
                    waits = await self._ask(subjects, self._answer_within_s)
                except Exception as error:  # no error of Redis may fail a request
                    self._fall_back(error)
                    calls, self._waiting = [*calls, *self._waiting], []
                    waits = [None] * len(calls)
                for call, wait_s in zip(calls, waits, strict=True):
                    if not call.answer.done():  # its request may have been cancelled
                        call.answer.set_result(wait_s)
        finally:
            self._flushing = None

    async def _ask(self, subjects: Sequence[tuple[str, Rate, int]], within_s: float) -> list[float]:
        """Return the seconds to wait of each subject. Raises redis-py's errors and TimeoutError."""
        keys = [self._key(subject) for subject, _, _ in subjects]
        numbers = [
            text
            for _, rate, count in subjects
            for text in (f"{1e6 / rate.per_second:.3f}", f"{(rate.burst - 1) * 1e6 / rate.per_second:.3f}", str(count))
        ]
        waits_us = await _within(self._run_script(keys, numbers), within_s)
        return [wait_us / 1e6 for wait_us in waits_us]

    async def _run_script(self, keys: list[str], numbers: list[str]) -> list[int]:
        try:
            waits: list[int] = await self._redis.evalsha(_SHA, len(keys), *keys, *numbers)
        except NoScriptError:
            waits = await self._redis.eval(_SCRIPT, len(keys), *keys, *numbers)
        return waits

    def _key(self, subject: str) -> str:
        """Hash the subject, so that Redis stores no addresses or accounts."""
        return self._prefix + hashlib.blake2s(subject.encode(), digest_size=16).hexdigest()

    def _fall_back(self, error: BaseException | None) -> None:
        """Use local limits until Redis responds. `error`: None if no call has failed yet."""
        if self._recovery is None:
            if error is not None:
                self._log_down(error)
            self._recovery = asyncio.create_task(self._recover(logged=error is not None), name="reconnect to Redis")

    async def _recover(self, *, logged: bool) -> None:
        pause_s = 0.0 if not logged else _MIN_BACKOFF_S
        while True:
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.2))
            try:
                await self._ask([("try", Rate(1e6, 1000), 1)], _RETRY_TIMEOUT_S)
            except Exception as error:
                if not logged:
                    self._log_down(error)
                logged = True
                pause_s = min(max(pause_s * 2, _MIN_BACKOFF_S), _MAX_BACKOFF_S)
            else:
                break
        self._recovery = None
        self._is_down = False
        self._metrics.shared_limits.set(1)
        if logged:
            logger.info("rate_limits.shared_again")

    def _log_down(self, error: BaseException) -> None:
        self._is_down = True
        self._metrics.shared_limits.set(0)
        self._metrics.shared_limits_lost.inc()
        logger.warning("rate_limits.redis_down", extra={"reason": type(error).__name__, "limits": "each replica's own"})


async def _within(call: Awaitable[T], seconds: float) -> T:
    """Await a call. Raises TimeoutError and redis-py's errors."""
    running = asyncio.ensure_future(call)
    try:
        for _ in range(_POLLS + 1):
            await asyncio.wait([running], timeout=seconds / _POLLS)
            if running.done():
                return running.result()
        raise TimeoutError
    finally:
        running.cancel()
