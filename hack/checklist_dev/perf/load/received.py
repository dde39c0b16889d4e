"""A receiver's log, and the verification of transmissions."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from checklist_dev.failures import Failure
from checklist_dev.local.receiver import verifier

ANSWER_WITHIN_S = 10.0
"""The specification's limit: a later answer is a failed attempt."""
ARRIVE_WITHIN_S = 60.0
_SUCCESSES = frozenset({"204", "dribble"})


@dataclass(frozen=True)
class Transmission:
    """One complete request. Times are seconds since the epoch."""

    at: float
    """When the first byte arrived."""
    end: float
    """When it ended: answered, reset, or closed by the client."""
    did: str
    path: str
    host: str
    headers: Mapping[str, str]
    body: str

    @cached_property
    def envelope(self) -> dict[str, Any]:
        """The body as a JSON object; {} if it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def event_id(self) -> str:
        return str(self.envelope.get("event_id", ""))

    @property
    def run_id(self) -> str:
        return str(self.envelope.get("run_id", ""))

    @property
    def seq(self) -> int:
        return int(self.envelope.get("seq", 0))

    @property
    def attempt(self) -> int:
        return int(self.envelope.get("delivery_attempt", 0))

    @property
    def succeeded(self) -> bool:
        """Whether a 2xx was sent in time."""
        return self.did in _SUCCESSES and self.end - self.at < ANSWER_WITHIN_S

    def signature_problem(self, secret: str) -> str | None:
        """Why the receiver must refuse it, or None."""
        try:
            verifier().verify(
                "POST", f"http://{self.host}{self.path}", self.headers, self.body.encode(), secret, now=self.at
            )
        except ValueError as error:
            return str(error)
        return None


class ReceiverLog:
    """Reads a receiver's log while it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new(self) -> Iterator[Transmission]:
        """Transmissions completed since the last call (the receiver writes ten times a second)."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # an incomplete line
                self._offset += len(line)
                yield Transmission(**json.loads(line))


async def collect(log: ReceiverLog, count: int) -> list[Transmission]:
    """At least `count` transmissions. Raises Failure if none arrives for `ARRIVE_WITHIN_S` seconds."""
    arrived: list[Transmission] = []
    last = time.monotonic()
    while len(arrived) < count:
        await asyncio.sleep(0.1)
        new = list(log.new())
        if new:
            last = time.monotonic()
            arrived += new
        elif time.monotonic() - last > ARRIVE_WITHIN_S:
            raise Failure(f"{count - len(arrived)} of {count} events had not arrived after {ARRIVE_WITHIN_S:.0f} s")
    return arrived
