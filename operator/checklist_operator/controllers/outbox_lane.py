"""Per-run state of the outbox: attempts in flight, unwritten results, and the order in which attempts start."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from checklist_crds.resources.delivery_records import DeliveryRecord, has_unfinished, waiting_events
from checklist_crds.resources.kinds import version_of
from checklist_crds.resources.run import FINAL_PHASES, Run
from checklist_crds.values.json_text import JsonObject
from checklist_operator.faults import LocalFault

HEAD_START_S: Final = 0.05
"""How long the next attempt of a run waits for the end of this one: a fast receiver gets events in order, a slow one
delays each event by at most this."""


class Turn:
    """Starts the attempts of one run one after another."""

    def __init__(self, before: "Turn | None") -> None:
        self._before = before
        self.started = asyncio.Event()
        self.ended = asyncio.Event()

    async def wait(self) -> None:
        """Returns when the previous attempt has started, and has ended or used up its head start."""
        before, self._before = self._before, None
        if before is not None:
            await before.started.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEAD_START_S):
                    await before.ended.wait()

    def end(self) -> None:
        self.started.set()
        self.ended.set()


@dataclass(slots=True)
class Lane:
    """State of one run. `version` belongs to `body`, which may come from our own write; `seen` is the newest version
    in the watch."""

    body: JsonObject
    version: int
    seen: int
    in_flight: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    results: dict[str, DeliveryRecord] = field(default_factory=dict)
    first_result_at: float = 0.0
    written_at: float = 0.0
    fault: LocalFault | None = None
    faults: int = 0
    needs_recovery: bool = False
    last_turn: Turn | None = None
    free_since: datetime | None = None
    """When the end of the last pause was noticed; events before it were not late."""
    parsed: Run | None = None

    def learn(self, body: JsonObject) -> None:
        version = version_of(body)
        if version > self.version:
            self.body, self.version, self.parsed = body, version, None

    @property
    def run(self) -> Run:
        """The parsed run; without answers until it is final, since step events carry their own copies."""
        if self.parsed is None:
            self.parsed = Run.parse(self.body, answers=self.has_ended)
        return self.parsed

    @property
    def has_ended(self) -> bool:
        return (self.body.get("status") or {}).get("phase") in FINAL_PHASES

    @property
    def is_settled(self) -> bool:
        return bool((self.body.get("status") or {}).get("settled"))

    @property
    def is_idle(self) -> bool:
        return not (self.in_flight or self.results or self.needs_recovery) and not has_work(self.body)


def has_work(body: JsonObject) -> bool:
    """Whether the outbox has events, or `settled` of a final run may be due."""
    status = body.get("status") or {}
    if waiting_events(status):
        return True
    if status.get("phase") not in FINAL_PHASES or status.get("settled"):
        return False
    return not has_unfinished(status)


def awaits_retries(body: JsonObject) -> bool:
    """Whether a final run is unsettled only because deliveries are being retried."""
    status = body.get("status") or {}
    return status.get("phase") in FINAL_PHASES and not status.get("settled")
