"""What the outbox knows of one run while there is something to send: its lane, its attempts, and whose turn it is."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.informer import version_of
from checklist_crds.resources.delivery_records import DeliveryRecord, has_unfinished, waiting_events
from checklist_crds.resources.run import Run, RunPhase
from checklist_operator.faults import LocalFault

HEAD_START_S: Final = 0.05
"""How long an attempt has the line to itself after its start: a receiver that answers fast gets a run's events in
order, and one that does not holds up no event by more than this."""

_FINAL: Final = frozenset(phase.value for phase in RunPhase if phase.is_final)


class Turn:
    """Whose turn it is: the attempts of one run start one after another."""

    def __init__(self, before: "Turn | None") -> None:
        self._before = before
        self.started = asyncio.Event()
        self.ended = asyncio.Event()

    async def come(self) -> None:
        """Returns when the attempt before has started, and has ended or had its head start."""
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
    """What is known and under way for one run. `version` is that of `body`, which may come from a write of ours;
    `seen` is the newest version that the watch has brought."""

    body: JsonObject
    version: int
    seen: int
    in_flight: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    results: dict[str, DeliveryRecord] = field(default_factory=dict)
    first_result_at: float = 0.0
    fault: LocalFault | None = None
    faults: int = 0
    look_up: bool = False
    last_turn: Turn | None = None
    free_since: datetime | None = None
    """End of the last pause, as it was noticed: until then, nothing was late."""
    parsed: Run | None = None

    def learn(self, body: JsonObject) -> None:
        version = version_of(body)
        if version > self.version:
            self.body, self.version, self.parsed = body, version, None

    @property
    def run(self) -> Run:
        """Without answers before its end: events of steps have frozen what they tell."""
        if self.parsed is None:
            self.parsed = Run.parse(self.body, answers=self.has_ended)
        return self.parsed

    @property
    def has_ended(self) -> bool:
        """Whether the run is final."""
        return (self.body.get("status") or {}).get("phase") in _FINAL

    @property
    def is_idle(self) -> bool:
        return not (self.in_flight or self.results or self.look_up) and not has_work(self.body)


def has_work(body: JsonObject) -> bool:
    """Something in the outbox, or a final run whose `settled` may be due."""
    status = body.get("status") or {}
    if waiting_events(status):
        return True
    if status.get("phase") not in _FINAL or status.get("settled"):
        return False
    return not has_unfinished(status)


def awaits_retries(body: JsonObject) -> bool:
    """A final run that is unsettled only because deliveries are being retried."""
    status = body.get("status") or {}
    return status.get("phase") in _FINAL and not status.get("settled")
