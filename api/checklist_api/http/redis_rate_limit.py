"""Rate limits shared by all replicas, in Redis: the algorithm of `LocalRateLimiter`, on Redis' clock.

What is counted within one turn of the event loop, and while an earlier question is under way, goes to Redis as one call
of one script, so a crowd of requests costs one round trip and one connection. Redis must not be able to make a request
fail or wait: an answer that is not there within a tenth of a second is not waited for, and from then on each replica
counts for itself, up to the full limit (with n replicas a subject has at most n times its rate; a part of the limit
would refuse callers whose connections all lead to one replica). Meanwhile Redis is tried in the background with the
very same script, since one that is read-only or full answers a PING; when it answers, counting there goes on.
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
_LOOKS: Final = 5
"""So often the answer is looked for meanwhile, and once more after. While this process itself stands still (another
request keeps it busy, the machine gives it no time), only one of these looks passes: that is no fault of Redis."""
_AGAIN_WITHIN_S: Final = 1.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0
_MOST_AT_ONCE: Final = 256
_NOTE: Final = "rate limits are counted by each replica on its own: Redis does not answer"

# A subject's arrival time is never further ahead than its whole burst, unless Redis' clock was set back or the rate
# was made smaller: then it is taken back to there, so that no caller is locked out until the clock has caught up.
# Numbers are microseconds; a double holds them exactly for the next two centuries.
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
class _Question:
    subject: str
    rate: Rate
    count: int
    answer: "asyncio.Future[float | None]"


class RedisRateLimiter:
    """A `RateLimiter`. `start` it in the event loop that serves, and `close` it."""

    def __init__(
        self,
        settings: RedisSettings,
        *,
        namespace: str,
        metrics: Metrics,
        local: LocalRateLimiter | None = None,
        answer_within_s: float = ANSWER_WITHIN_S,
    ) -> None:
        """`namespace`: installations may share a Redis. `answer_within_s`: after which it counts as gone."""
        self._redis = connect(
            settings,
            socket_timeout=max(_AGAIN_WITHIN_S, answer_within_s),
            socket_connect_timeout=max(_AGAIN_WITHIN_S, answer_within_s),
            # A connection that broke while idle does not mean that Redis is down.
            retry=Retry(NoBackoff(), 1),
        )
        self._prefix = f"checklists:{namespace}:rate:"
        self._metrics = metrics
        self._local = local or LocalRateLimiter()
        self._answer_within_s = answer_within_s
        self._waiting: list[_Question] = []
        self._asking: asyncio.Task[None] | None = None
        self._trying: asyncio.Task[None] | None = None
        self._is_down = False

    @property
    def note(self) -> str | None:
        """What whoever runs the service should know; None while limits are shared."""
        return _NOTE if self._is_down else None

    def start(self) -> None:
        """Finds out whether Redis is there, before a request has to."""
        self._fall_back(None)

    async def wait_for(self, subject: str, rate: Rate, count: int = 1) -> float:
        if self._trying is not None:
            return await self._local.wait_for(subject, rate, count)
        question = _Question(subject, rate, min(count, rate.burst), asyncio.get_running_loop().create_future())
        self._waiting.append(question)
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all(), name="shared rate limits")
        wait_s = await question.answer
        if wait_s is not None and wait_s > 0:
            return wait_s
        # What Redis admits is counted here as well: if it goes away, what was admitted a moment ago still counts.
        alone_s = await self._local.wait_for(subject, rate, count)
        return alone_s if wait_s is None else 0.0

    async def is_first(self, secret: str, within_s: float) -> bool:
        if not await self._local.is_first(secret, within_s):
            return False
        if self._trying is not None:
            return True
        try:
            asked = self._redis.set(self._key(secret), 1, nx=True, px=math.ceil(within_s * 1000))
            return bool(await _soon(asked, self._answer_within_s))
        except Exception as error:
            self._fall_back(error)
            return True

    async def close(self) -> None:
        for task in (self._asking, self._trying):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        for question in self._waiting:
            question.answer.cancel()
        await self._redis.aclose()

    async def _ask_all(self) -> None:
        """Runs until no call waits. Every waiting call gets an answer; None leaves the decision to the local limit."""
        try:
            while self._waiting:
                questions, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
                waits: Sequence[float | None]
                try:
                    asked = [(each.subject, each.rate, each.count) for each in questions]
                    waits = await self._ask(asked, self._answer_within_s)
                except Exception as error:  # whatever it is: no request may suffer for it
                    self._fall_back(error)
                    questions, self._waiting = [*questions, *self._waiting], []
                    waits = [None] * len(questions)
                for question, wait_s in zip(questions, waits, strict=True):
                    if not question.answer.done():  # its request may have ended meanwhile
                        question.answer.set_result(wait_s)
        finally:
            self._asking = None

    async def _ask(self, subjects: Sequence[tuple[str, Rate, int]], within_s: float) -> list[float]:
        """Seconds to wait, for each. Raises whatever redis-py raises, and TimeoutError."""
        keys = [self._key(subject) for subject, _, _ in subjects]
        numbers = [
            text
            for _, rate, count in subjects
            for text in (f"{1e6 / rate.per_second:.3f}", f"{(rate.burst - 1) * 1e6 / rate.per_second:.3f}", str(count))
        ]
        waits_us = await _soon(self._run_script(keys, numbers), within_s)
        return [wait_us / 1e6 for wait_us in waits_us]

    async def _run_script(self, keys: list[str], numbers: list[str]) -> list[int]:
        try:
            waits: list[int] = await self._redis.evalsha(_SHA, len(keys), *keys, *numbers)
        except NoScriptError:
            waits = await self._redis.eval(_SCRIPT, len(keys), *keys, *numbers)
        return waits

    def _key(self, subject: str) -> str:
        """Without what Redis need not know: addresses, accounts, runs."""
        return self._prefix + hashlib.blake2s(subject.encode(), digest_size=16).hexdigest()

    def _fall_back(self, error: BaseException | None) -> None:
        """Counts locally until Redis answers. `error`: None when nothing is known against Redis yet."""
        if self._trying is None:
            if error is not None:
                self._tell_of_fall(error)
            self._trying = asyncio.create_task(self._try_again(logged=error is not None), name="try Redis again")

    async def _try_again(self, *, logged: bool) -> None:
        pause_s = 0.0 if not logged else _FIRST_PAUSE_S
        while True:
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.2))
            try:
                await self._ask([("try", Rate(1e6, 1000), 1)], _AGAIN_WITHIN_S)
            except Exception as error:
                if not logged:
                    self._tell_of_fall(error)
                logged = True
                pause_s = min(max(pause_s * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
            else:
                break
        self._trying = None
        self._is_down = False
        self._metrics.shared_limits.set(1)
        if logged:
            logger.info("rate_limits.shared_again")

    def _tell_of_fall(self, error: BaseException) -> None:
        self._is_down = True
        self._metrics.shared_limits.set(0)
        self._metrics.shared_limits_lost.inc()
        logger.warning("rate_limits.redis_down", extra={"reason": type(error).__name__, "limits": "each replica's own"})


async def _soon(asked: Awaitable[T], within_s: float) -> T:
    """The answer. Raises TimeoutError without one, and whatever redis-py raises."""
    running = asyncio.ensure_future(asked)
    try:
        for _ in range(_LOOKS + 1):
            await asyncio.wait([running], timeout=within_s / _LOOKS)
            if running.done():
                return running.result()
        raise TimeoutError
    finally:
        running.cancel()
