"""Runs over the REST API: dispatch, wait for the end, read, cancel; repeated where the service does not answer."""

import json
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..console.command import CommandFailed
from ..console.progress import Progress
from .connection import TryAgain, refusal

if TYPE_CHECKING:
    import httpx

Run = dict[str, Any]
"""As `GET /v1/runs/{run_id}` answers."""

WAIT_S: Final = 30
"""Seconds of one request that waits: below the limit of proxies, which is often a minute."""
ANSWER_WITHIN_S: Final = WAIT_S + 20.0
FINAL: Final = ("completed", "cancelled", "expired")
_ATTEMPTS: Final = 5
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
_AWAY_FOR_S: Final = 600.0
"""So long a wait outlasts a service that does not answer."""
_EARLY_PAUSE_S: Final = 1.0
"""After an answer that came before its time: the process that gave it shuts down, or does not know `wait`."""


def new_idempotency_key() -> str:
    return f"checklist-dispatch-{uuid.uuid4()}"


class Runs:
    """`pause` sleeps so many seconds, `now` is a monotonic clock. All methods raise CommandFailed."""

    def __init__(
        self,
        client: "httpx.Client",
        progress: Progress,
        *,
        pause: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._progress = progress
        self._pause = pause
        self._now = now

    def dispatch(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The answer of `POST /v1/runs`. Whatever is lost on the way, `key` makes one run."""
        try:
            return self._repeated("POST", "/v1/runs", body=body, headers={"Idempotency-Key": key})
        except TryAgain as failure:
            advice = f"it may have been dispatched; repeat it with --idempotency-key {key}"
            raise CommandFailed(f"{failure}; {advice}") from None

    def read(self, run_id: str) -> Run:
        return self._once_more("GET", f"/v1/runs/{run_id}")

    def cancel(self, run_id: str) -> Run:
        return self._once_more("POST", f"/v1/runs/{run_id}/cancel", body={})

    def until_ended(self, run_id: str, timeout_s: float | None) -> Run:
        """The run when it has ended, or as it is after `timeout_s`."""
        deadline = None if timeout_s is None else self._now() + timeout_s
        answered_at, failures, seen = self._now(), 0, ""
        while True:
            began = self._now()
            left_s = float(WAIT_S) if deadline is None else deadline - began
            wait_s = max(1, min(WAIT_S, int(left_s)))
            try:
                run = self._request("GET", f"/v1/runs/{run_id}", query={"wait": str(wait_s)})
            except TryAgain as failure:
                if left_s <= 0 or self._now() - answered_at > _AWAY_FOR_S:
                    raise CommandFailed(str(failure)) from None
                failures += 1
                self._rest(failure, failures, at_most_s=left_s if deadline is not None else None)
                continue
            answered_at, failures = self._now(), 0
            if run["status"] in FINAL or (deadline is not None and answered_at >= deadline):
                return run
            if (standing := _standing(run)) != seen:
                seen = standing
                self._progress.line(standing)
            if answered_at - began < wait_s / 2:
                self._pause(_EARLY_PAUSE_S)

    def _once_more(self, method: str, path: str, *, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """For requests that can be repeated as they are."""
        try:
            return self._repeated(method, path, body=body)
        except TryAgain as failure:
            raise CommandFailed(str(failure)) from None

    def _repeated(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Raises CommandFailed, and TryAgain after the last attempt."""
        for number in range(1, _ATTEMPTS):
            try:
                return self._request(method, path, body=body, headers=headers)
            except TryAgain as failure:
                self._rest(failure, number)
        return self._request(method, path, body=body, headers=headers)

    def _rest(self, failure: TryAgain, number: int, *, at_most_s: float | None = None) -> None:
        pause_s = min(failure.after_s or _PAUSE_S * 2 ** min(number - 1, 10), _LONGEST_PAUSE_S)
        if at_most_s is not None:
            pause_s = min(pause_s, max(0.0, at_most_s))
        self._progress.line(f"{failure}; again in {pause_s:g} s")
        self._pause(pause_s)

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Raises CommandFailed and TryAgain."""
        import httpx

        content = None if body is None else json.dumps(body).encode()
        sent = {**(headers or {}), **({} if body is None else {"Content-Type": "application/json"})}
        try:
            response = self._client.request(method, path, params=dict(query or {}), content=content, headers=sent)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise TryAgain(f"the service does not answer: {type(error).__name__}") from None
        except httpx.HTTPError as error:
            raise TryAgain(f"the answer is lost: {type(error).__name__}") from None
        except httpx.InvalidURL:
            raise CommandFailed("the server's address is none") from None
        if response.status_code not in (200, 201):
            raise refusal(response)
        return _object(response)


def _object(response: "httpx.Response") -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("run_id"), str):
        raise CommandFailed("the service answers with something that is no run")
    return answer


def _standing(run: Run) -> str:
    progress = run.get("progress") or {}
    return f"{run['run_id']} is {run['status']}, {progress.get('answered')} of {progress.get('total')} answered"
