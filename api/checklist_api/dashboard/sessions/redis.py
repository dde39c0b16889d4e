"""Stores sessions in Redis, which every replica queries at each request.

Values are sealed with the installation's keys and bound to the cookie's digest: reading Redis reveals no personal data,
and writing to it forges no session. Keys expire after the idle timeout. Redis needs no persistence: a loss of its data
only signs everyone out.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Collection
from datetime import datetime, timedelta
from typing import Final, TypeVar

from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from checklist_crds.errors import ServiceUnavailable
from checklist_crds.resources.account import DashboardSessionSpec
from checklist_crds.secrets.sealing import KeyRing, SealBroken

from ...auth.members import Person
from ...http.redis_connection import connect
from ...settings.sign_in import RedisSettings
from .store import Session

logger = logging.getLogger(__name__)

_TIMEOUT_S: Final = 1.0
_USE_WRITE_INTERVAL: Final = timedelta(minutes=1)
_DOWN: Final = "The session store (Redis) is not responding. Try again."
# Updates existing sessions only, so that an ended one is not recreated.
_TOUCH: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'seen', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""
_Of = TypeVar("_Of")


class RedisSessions:
    """A `SessionStore`. All methods raise ServiceUnavailable while Redis is down."""

    def __init__(self, settings: RedisSettings, *, namespace: str, sealing: KeyRing, idle: timedelta) -> None:
        """`namespace`: separates installations that share a Redis. `idle`: idle timeout."""
        self._redis = connect(
            settings,
            decode_responses=True,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            health_check_interval=30,
            retry=Retry(NoBackoff(), 1),
        )
        self._prefix = f"checklists:{namespace}"
        self._sealing = sealing
        self._idle = idle
        self._writes: set[asyncio.Task[None]] = set()
        self._is_down = False

    async def require_up(self) -> None:
        await self._answer(self._redis.ping())

    async def create(self, session: Session) -> None:
        key, own = self._key(session.sha256), self._key_of_person(session.person)
        async with self._redis.pipeline(transaction=True) as batch:
            batch.hset(key, mapping={"data": self._sealed(session), "seen": session.created_at.timestamp()})
            batch.pexpire(key, self._lives_ms(session, session.created_at))
            batch.zadd(own, {session.sha256: session.created_at.timestamp()})
            batch.expireat(own, session.expires_at)
            await self._answer(batch.execute())

    async def get(self, sha256: str, now: datetime) -> Session | None:
        data, seen = await self._answer(self._redis.hmget(self._key(sha256), "data", "seen"))
        session = self._opened(sha256, data, seen) if data and seen else None
        if session is None or now >= session.expires_at:
            return None
        return session if now - (session.last_seen_at or session.created_at) < self._idle else None

    async def all_exist(self, digests: Collection[str]) -> bool:
        """Whether all of these sessions are stored; some may have expired."""
        keys = [self._key(sha256) for sha256 in digests]
        return not keys or int(await self._answer(self._redis.exists(*keys))) == len(keys)

    def note_use(self, session: Session, now: datetime) -> None:
        if now - (session.last_seen_at or session.created_at) < min(_USE_WRITE_INTERVAL, self._idle / 12):
            return
        task = asyncio.create_task(self._touch(session, now))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def end(self, sha256: str) -> None:
        await self._answer(self._redis.delete(self._key(sha256)))

    async def of_person(self, person: Person, now: datetime) -> list[Session]:
        own = self._key_of_person(person)
        found: list[Session] = []
        for sha256 in await self._answer(self._redis.zrevrange(own, 0, -1)):
            session = await self.get(sha256, now)
            if session is None:
                await self._answer(self._redis.zrem(own, sha256))
            elif session.person == person:
                found.append(session)
        return found

    async def close(self) -> None:
        for task in self._writes:
            task.cancel()
        await self._redis.aclose()

    async def _touch(self, session: Session, now: datetime) -> None:
        lives_ms = self._lives_ms(session, now)
        try:
            await self._answer(self._redis.eval(_TOUCH, 1, self._key(session.sha256), now.timestamp(), lives_ms))
        except ServiceUnavailable:
            return

    async def _answer(self, call: Awaitable[_Of]) -> _Of:
        try:
            answer = await call
        except (RedisError, OSError, TimeoutError) as error:
            if not self._is_down:
                logger.warning("sessions.redis_down", extra={"reason": type(error).__name__})
            self._is_down = True
            raise ServiceUnavailable(_DOWN) from None
        if self._is_down:
            logger.info("sessions.redis_up")
        self._is_down = False
        return answer

    def _lives_ms(self, session: Session, now: datetime) -> int:
        return max(1, int(min(self._idle, session.expires_at - now).total_seconds() * 1000))

    def _sealed(self, session: Session) -> str:
        return self._sealing.seal(json.dumps(session.spec().to_kube()), owner=_owner(session.sha256))

    def _opened(self, sha256: str, data: str, seen: str) -> Session | None:
        try:
            spec = DashboardSessionSpec.model_validate(json.loads(self._sealing.open(data, owner=_owner(sha256))))
            last_seen_at = datetime.fromtimestamp(float(seen), tz=spec.created_at.tzinfo)
        except (SealBroken, ValueError, OverflowError) as error:
            logger.warning("session.unreadable", extra={"reason": type(error).__name__})
            return None
        return Session.of(spec, last_seen_at) if spec.sha256 == sha256 else None

    def _key(self, sha256: str) -> str:
        return f"{self._prefix}:session:{sha256}"

    def _key_of_person(self, person: Person) -> str:
        return f"{self._prefix}:person:{hashlib.sha256(json.dumps(person).encode()).hexdigest()}"


def _owner(sha256: str) -> str:
    return f"session/{sha256}"
