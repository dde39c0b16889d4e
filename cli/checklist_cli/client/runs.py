"""Operations on runs over the REST API, with retries: dispatch, link, wait, read, cancel."""

import contextlib
import json
import time
import uuid
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..console.command import CommandFailed
from ..console.progress import Progress
from .api_key import read_api_key
from .connection import Retryable, answer_of, client_of, required_server, with_members, without_answer_retryable

if TYPE_CHECKING:
    import httpx

Run = dict[str, Any]
"""As `GET /v1/runs/{run_id}` answers."""

WAIT_S: Final = 50
"""Seconds of one waiting request: below the read timeout of proxies, which is often a minute."""
ANSWER_WITHIN_S: Final = WAIT_S + 20.0
FINAL: Final = ("completed", "cancelled", "expired")
ATTEMPTS: Final = 5
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
_OUTAGE_S: Final = 600.0
"""Longest outage of the service that a wait survives."""
_EARLY_PAUSE_S: Final = 1.0
"""Pause after an early answer: the process that gave it shuts down, or does not support `wait`."""


def new_idempotency_key() -> str:
    return f"checklist-dispatch-{uuid.uuid4()}"


class Runs:
    """`pause` sleeps for the given seconds, `now` is a monotonic clock. All methods raise CommandFailed."""

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
        """Return the answer of `POST /v1/runs`. Retries use the same `key`, so they create one run."""
        try:
            answer = self._request_with_retries("POST", "/v1/runs", body=body, headers={"Idempotency-Key": key})
        except Retryable as failure:
            advice = f"the run may exist; repeat the command with --idempotency-key {key}"
            raise CommandFailed(f"{failure}; {advice}") from None
        return with_members(answer, "run_id", "link")

    def link(self, run_id: str) -> dict[str, Any]:
        """Return the link of an open run and its expiry. Raises Refused, with the code, for a run without a link."""
        return with_members(self._repeatable("GET", f"/v1/runs/{run_id}/link"), "link")

    def read(self, run_id: str) -> Run:
        return with_members(self._repeatable("GET", f"/v1/runs/{run_id}"), "run_id", "status")

    def cancel(self, run_id: str) -> Run:
        return with_members(self._repeatable("POST", f"/v1/runs/{run_id}/cancel", body={}), "run_id", "status")

    def wait(self, run_id: str, timeout_s: float | None) -> Run:
        """Return the run when it has ended, or as it is after `timeout_s`."""
        deadline = None if timeout_s is None else self._now() + timeout_s
        answered_at, failures, reported = self._now(), 0, ""
        while True:
            started = self._now()
            left_s = float(WAIT_S) if deadline is None else deadline - started
            wait_s = max(1, min(WAIT_S, int(left_s)))
            try:
                answer = self._request("GET", f"/v1/runs/{run_id}", query={"wait": str(wait_s)})
            except Retryable as failure:
                if left_s <= 0 or self._now() - answered_at > _OUTAGE_S:
                    raise CommandFailed(str(failure)) from None
                failures += 1
                self._back_off(failure, failures, at_most_s=left_s if deadline is not None else None)
                continue
            run = with_members(answer, "run_id", "status")
            answered_at, failures = self._now(), 0
            if run["status"] in FINAL or (deadline is not None and answered_at >= deadline):
                return run
            if (state := _progress_of(run)) != reported:
                reported = state
                self._progress.line(state)
            if answered_at - started < wait_s / 2:
                self._pause(_EARLY_PAUSE_S)

    def _repeatable(self, method: str, path: str, *, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request that is safe to repeat unchanged. Raises CommandFailed."""
        try:
            return self._request_with_retries(method, path, body=body)
        except Retryable as failure:
            raise CommandFailed(str(failure)) from None

    def _request_with_retries(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Raises CommandFailed, and Retryable after the last attempt."""
        for number in range(1, ATTEMPTS):
            try:
                return self._request(method, path, body=body, headers=headers)
            except Retryable as failure:
                self._back_off(failure, number)
        return self._request(method, path, body=body, headers=headers)

    def _back_off(self, failure: Retryable, number: int, *, at_most_s: float | None = None) -> None:
        pause_s = min(failure.after_s or _PAUSE_S * 2 ** min(number - 1, 10), _LONGEST_PAUSE_S)
        if at_most_s is not None:
            pause_s = min(pause_s, max(0.0, at_most_s))
        self._progress.line(f"{failure}; next attempt in {pause_s:g} s")
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
        """Raises CommandFailed and Retryable."""
        content = None if body is None else json.dumps(body).encode()
        sent = {**(headers or {}), **({} if body is None else {"Content-Type": "application/json"})}
        with without_answer_retryable():
            response = self._client.request(method, path, params=dict(query or {}), content=content, headers=sent)
        return answer_of(response)


@contextlib.contextmanager
def connected_runs(options: Namespace) -> Iterator[Runs]:
    """Connect as the options of `add_service_options` say. Raises CommandFailed."""
    server, key = required_server(options), read_api_key(options.key_file)
    with client_of(server, key, next_byte_within_s=ANSWER_WITHIN_S) as client:
        yield Runs(client, Progress())


def _progress_of(run: Run) -> str:
    progress = run.get("progress") or {}
    return f"{run['run_id']} is {run['status']}, {progress.get('answered')} of {progress.get('total')} answered"
