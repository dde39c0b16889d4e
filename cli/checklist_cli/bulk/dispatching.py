"""Sends the requests of a job: a few at a time, each with a key of its own, at the pace that the service asks for."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..client.connection import Refused, Retryable, answer_of, with_members, without_answer_retryable
from ..console.command import CommandFailed

if TYPE_CHECKING:
    import httpx

CONCURRENCY: Final = 4
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
OUTAGE_S: Final = 600.0
"""Longest outage of the service that a job survives."""
_OF_THE_ROW: Final = frozenset(
    {"validation_failed", "missing_field", "malformed_json", "idempotency_key_reused", "resource_deleted"}
)
"""Refusals that concern one row. After any other, further requests make no sense."""
OUT_OF_QUOTA: Final = frozenset({"quota_exceeded", "limit_reached"})


@dataclass(frozen=True, slots=True)
class Request:
    """A row's number, the body of `POST /v1/runs`, and its Idempotency-Key."""

    number: int
    body: dict[str, Any]
    key: str


@dataclass(slots=True)
class Sent:
    """`unknown`: rows whose request may have created a run. `stopped`: the refusal that ended the job."""

    unknown: set[int] = field(default_factory=set)
    stopped: Refused | None = None


Answered = Callable[[int, dict[str, Any] | Refused], None]
"""Gets a row's number, and its dispatched run or its refusal."""


class Dispatching:
    """`pause` sleeps for the given seconds, `now` is a monotonic clock; `say` gets a line about each retry."""

    def __init__(
        self,
        client: "httpx.AsyncClient",
        answered: Answered,
        *,
        say: Callable[[str], None],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._answered = answered
        self._say = say
        self._pause = pause
        self._now = now
        self._failures = 0
        self._answered_at = 0.0
        self._not_before = 0.0
        self.sent = Sent()

    async def run(self, requests: Iterator[Request]) -> None:
        """Send all requests, in order, until one is refused for a reason that concerns all.

        `sent` is valid whatever happens. Raises CommandFailed if the service does not answer for ten minutes, or the
        result cannot be written.
        """
        self._answered_at = self._now()
        failed: list[BaseException] = []
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(CONCURRENCY):
                    group.create_task(self._work(requests))
        except* CommandFailed as failures:
            failed.extend(failures.exceptions)
        if failed:
            raise failed[0]

    async def _work(self, requests: Iterator[Request]) -> None:
        for request in requests:
            if self.sent.stopped is not None:
                return
            self.sent.unknown.add(request.number)
            try:
                answer: dict[str, Any] | Refused = await self._until_answered(request)
            except Refused as refused:
                if refused.code not in _OF_THE_ROW:
                    self.sent.unknown.discard(request.number)
                    self.sent.stopped = self.sent.stopped or refused
                    return
                answer = refused
            self._answered(request.number, answer)
            self.sent.unknown.discard(request.number)

    async def _until_answered(self, request: Request) -> dict[str, Any]:
        """Raises Refused and CommandFailed."""
        while True:
            while (wait_s := self._not_before - self._now()) > 0:
                await self._pause(wait_s)
            try:
                answer = await self._attempt(request)
            except Retryable as failure:
                self._hold_back(failure)
                continue
            except Refused:
                self._has_answered()
                raise
            self._has_answered()
            return answer

    def _has_answered(self) -> None:
        self._failures = 0
        self._answered_at = self._now()

    def _hold_back(self, failure: Retryable) -> None:
        """Let all requests wait. Raises CommandFailed after a long outage."""
        now = self._now()
        if now - self._answered_at > OUTAGE_S:
            raise CommandFailed(str(failure))
        if failure.code:
            # It answers: it limits the rate, or is busy with another request of this key.
            self._failures = 0
        pause_s = min(failure.after_s or _PAUSE_S * 2 ** min(self._failures, 10), _LONGEST_PAUSE_S)
        if now + pause_s <= self._not_before:
            return  # another request has said the same
        self._failures += 1
        self._not_before = now + pause_s
        self._say(f"{failure}; going on in {pause_s:g} s")

    async def _attempt(self, request: Request) -> dict[str, Any]:
        """Raises Refused, Retryable, CommandFailed."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": request.key}
        with without_answer_retryable():
            content = json.dumps(request.body).encode()
            response = await self._client.post("/v1/runs", content=content, headers=headers)
        return with_members(answer_of(response), "run_id", "link")
