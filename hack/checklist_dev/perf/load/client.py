"""A client and a scripted person that retry until acknowledged: REST and executor API over HTTP.

Every write is idempotent (Idempotency-Key, op_id), so a try without an answer is sent again, to any API process.
"""

import asyncio
import json
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from checklist_dev.failures import Failure

Json = dict[str, Any]
_NOT_NOW: Final = frozenset({0, 429, 500, 502, 503, 504})
_LONGEST_PAUSE_S: Final = 0.5


def new_op() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Reply:
    """`status` 0: the connection was refused or broke, or there was no answer in time."""

    status: int
    body: Json = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    tries: int = 1

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def error(self) -> str:
        """The error code, for example `run_closed`."""
        return str(self.body.get("error", ""))

    @property
    def is_definite(self) -> bool:
        """Whether a retry would be pointless."""
        return self.status not in _NOT_NOW and self.error != "idempotency_in_progress"


class ServiceClient:
    """Calls the API processes at `urls` in random order. `faults` collects responses that must not happen (500).

    `honors_retry_after`: wait for Retry-After; otherwise retry as fast as possible.
    """

    def __init__(
        self,
        urls: Sequence[str],
        api_key: str,
        *,
        seed: int = 0,
        answer_within_s: float = 15.0,
        honors_retry_after: bool = False,
    ) -> None:
        self._honors_retry_after = honors_retry_after
        self.faults: list[str] = []
        self.retries = 0
        self._urls = list(urls)
        self._rng = random.Random(seed)
        self._authorization = {"Authorization": f"Bearer {api_key}"}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=answer_within_s),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def once(
        self, method: str, path: str, body: Json | bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One try at one process. Bytes are sent unchanged, with the type in `headers`."""
        url = self._rng.choice(self._urls) + path
        started = time.perf_counter()
        try:
            sent = self._authorization if headers is None else headers
            payload: Any = {"data": body} if isinstance(body, bytes) else {"json": body}
            async with self._session.request(method, url, headers=sent, **payload) as response:
                raw = await response.read()
                seconds = time.perf_counter() - started
                if response.status == 500:
                    self.faults.append(f"{method} {path} answered 500: {raw[:300].decode(errors='replace')}")
                return Reply(response.status, _object(raw), response.headers, seconds)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return Reply(0, seconds=time.perf_counter() - started)

    async def insist(
        self,
        method: str,
        path: str,
        body: Json | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        for_s: float = 120.0,
    ) -> Reply:
        """Retry until the answer is definite. Raises Failure after `for_s` seconds without one."""
        deadline = time.monotonic() + for_s
        tries = 0
        while True:
            tries += 1
            reply = await self.once(method, path, body, headers)
            if reply.is_definite:
                return Reply(reply.status, reply.body, reply.headers, reply.seconds, tries)
            if time.monotonic() > deadline:
                raise Failure(f"{method} {path}: no definite answer within {for_s:.0f} s, the last was {reply.status}")
            self.retries += 1
            pause_s = min(0.05 * 1.5**tries, _LONGEST_PAUSE_S)
            if self._honors_retry_after:
                pause_s = max(pause_s, float(reply.headers.get("Retry-After", "0")))
            await asyncio.sleep(pause_s * (0.5 + self._rng.random()))

    async def dispatch(self, body: Json, *, key: str | None = None, for_s: float = 120.0) -> Reply:
        """POST /v1/runs with an Idempotency-Key, so that retries create one run."""
        headers = {**self._authorization, "Idempotency-Key": key or new_op()}
        return await self.insist("POST", "/v1/runs", body, headers, for_s=for_s)

    async def create_template(self, definition: Json) -> str:
        """Create a template; returns its id. Raises Failure if refused."""
        headers = {**self._authorization, "Idempotency-Key": new_op()}
        reply = await self.insist("POST", "/v1/templates", definition, headers)
        if reply.status != 201:
            raise Failure(f"the template was refused with {reply.status}: {reply.body}")
        return str(reply.body["id"])


class Person:
    """A person with the link of one run."""

    def __init__(self, client: ServiceClient, run_id: str, link: str) -> None:
        self.run_id = run_id
        self.link = link
        self._client = client
        self._path = f"/v1/executor/runs/{run_id}"
        self._headers = {"Authorization": f"Executor {link.partition('#')[2]}"}

    async def read(self, *, insist: bool = True) -> Reply:
        call = self._client.insist if insist else self._client.once
        return await call("GET", self._path, None, self._headers)

    async def answer(self, step_id: str, value: Any, *, op_id: str) -> Reply:
        return await self.write("PUT", f"/answers/{step_id}", {"op_id": op_id, "value": value})

    async def add_photo(self, step_id: str, photo: bytes, *, op_id: str) -> Reply:
        """Upload a JPEG file."""
        path = f"{self._path}/answers/{step_id}/photos?op_id={op_id}"
        return await self._client.insist("POST", path, photo, {**self._headers, "Content-Type": "image/jpeg"})

    async def clear(self, step_id: str, *, op_id: str) -> Reply:
        return await self.write("DELETE", f"/answers/{step_id}", {"op_id": op_id})

    async def skip(self, step_id: str, *, op_id: str) -> Reply:
        return await self.write("POST", f"/steps/{step_id}/skip", {"op_id": op_id})

    async def submit(self, *, op_id: str) -> Reply:
        return await self.write("POST", "/submit", {"op_id": op_id})

    async def cancel(self, *, op_id: str, reason: str) -> Reply:
        return await self.write("POST", "/cancel", {"op_id": op_id, "reason": reason})

    async def write(self, method: str, path: str, body: Json, *, insist: bool = True) -> Reply:
        """Any write of the executor API; `insist=False` tries once."""
        call = self._client.insist if insist else self._client.once
        return await call(method, self._path + path, body, self._headers)


def _object(raw: bytes) -> Json:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
