"""The REST API for tools: asynchronous requests that are retried for a limited time."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..client.connection import Refused, Retryable, answer_of, timeouts, with_members, without_answer_retryable
from ..client.runs import ANSWER_WITHIN_S, FINAL, Run
from ..console.command import CommandFailed

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

RETRY_WITHIN_S: Final = 30.0
"""How long a failing request is retried: below the 60 s after which many clients give up a tool call."""
WAIT_SLICE_S: Final = 10
"""Seconds of one waiting request. Progress is reported after each of them."""
UNREACHABLE: Final = "service_unreachable"
UNEXPECTED: Final = "unexpected_response"
_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0
_EARLY_PAUSE_S: Final = 1.0
"""Pause after an early answer of a waiting request: the process that gave it shuts down."""

Report = Callable[[Run, float], Awaitable[None]]
"""Gets the open run, and the seconds since the start of the wait."""


class ToolFailed(Exception):
    """The tool cannot do its work. `code`: of the service (contract section 7), or of this server."""

    def __init__(self, code: str, message: str, *, is_outcome_unknown: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.is_outcome_unknown = is_outcome_unknown


class Service:
    """`pause` sleeps for the given seconds, `now` is a monotonic clock. All methods raise ToolFailed."""

    def __init__(
        self,
        client: "httpx.AsyncClient",
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._pause = pause
        self._now = now

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        next_byte_within_s: float = RETRY_WITHIN_S,
    ) -> dict[str, Any]:
        """Return the answer of a request that is safe to repeat, if necessary with `idempotency_key`."""
        deadline, number = self._now() + RETRY_WITHIN_S, 0
        while True:
            try:
                return await self._request(
                    method, path, query or {}, body=body, key=idempotency_key, within_s=next_byte_within_s
                )
            except Retryable as failure:
                number += 1
                pause_s = _pause_after(failure, number)
                if self._now() + pause_s > deadline:
                    raise _after_last_attempt(failure, number) from None
                log.warning("%s; next attempt in %g s", failure, pause_s)
                await self._pause(pause_s)

    async def wait(self, run_id: str, timeout_s: float, report: Report) -> Run:
        """Return the run when it has ended, or as it is after `timeout_s`. `report` gets it in between."""
        begun, number = self._now(), 0
        deadline = begun + timeout_s
        while True:
            started = self._now()
            wait_s = min(WAIT_SLICE_S, int(deadline - started))
            query = {"wait": str(wait_s)} if wait_s >= 1 else {}
            try:
                run = await self._request("GET", f"/v1/runs/{run_id}", query, within_s=ANSWER_WITHIN_S)
            except Retryable as failure:
                number += 1
                if self._now() >= deadline:
                    raise _after_last_attempt(failure, number) from None
                pause_s = min(_pause_after(failure, number), deadline - self._now())
                log.warning("%s; next attempt in %g s", failure, pause_s)
                await self._pause(pause_s)
                continue
            number = 0
            if _status(run) in FINAL or self._now() >= deadline:
                return run
            await report(run, self._now() - begun)
            left_s = deadline - self._now()
            if self._now() - started < max(wait_s, 1) / 2:
                await self._pause(min(_EARLY_PAUSE_S, max(left_s, 0.0)))

    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        within_s: float,
    ) -> dict[str, Any]:
        """Raises Retryable and ToolFailed."""
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            with without_answer_retryable():
                response = await self._client.request(
                    method, path, params=dict(query), content=content, headers=headers, timeout=timeouts(within_s)
                )
            return answer_of(response)
        except Refused as refused:
            raise ToolFailed(refused.code or UNEXPECTED, str(refused)) from None
        except CommandFailed as failure:
            raise ToolFailed(UNEXPECTED, str(failure)) from None


def _status(run: Run) -> str:
    """Raises ToolFailed."""
    try:
        return str(with_members(run, "run_id", "status")["status"])
    except CommandFailed as failure:
        raise ToolFailed(UNEXPECTED, str(failure)) from None


def _pause_after(failure: Retryable, number: int) -> float:
    return failure.after_s or min(_PAUSE_S * 2 ** min(number - 1, 10), _LONGEST_PAUSE_S)


def _after_last_attempt(failure: Retryable, attempts: int) -> ToolFailed:
    times = "once" if attempts == 1 else f"{attempts} times"
    later = "" if failure.after_s is None else f"; try again in {failure.after_s:g} s"
    return ToolFailed(failure.code or UNREACHABLE, f"{failure} (tried {times}{later})", is_outcome_unknown=True)
