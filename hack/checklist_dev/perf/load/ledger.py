"""What the load generator knows for certain: acknowledged operations, and thus the events that must exist."""

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from checklist_crds.times import parse_timestamp
from checklist_dev.perf.load.plan import Op, RunPlan

_EVENTS: Final = {
    "answer": "step.completed",
    "photo": "step.completed",
    "skip": "step.skipped",
    "submit": "run.completed",
    "cancel": "run.cancelled",
    "owner_cancel": "run.cancelled",
}
_STILL_ARRIVES_S: Final = 1.0
"""After a lost lease: transmissions in progress may reach a busy receiver this much later."""
_FINAL: Final = {"submit": "completed", "cancel": "cancelled", "owner_cancel": "cancelled"}


@dataclass(frozen=True, slots=True)
class Act:
    """An operation and its result. `uncertain`: refused, but an earlier try without an answer may have been done."""

    op: Op
    op_id: str
    at: float
    done: bool
    status: int
    error: str = ""
    tries: int = 1

    @property
    def uncertain(self) -> bool:
        return not self.done and self.tries > 1


@dataclass(frozen=True, slots=True)
class ExpectedEvent:
    """`step_id` and `value` are None if the event has none."""

    kind: str
    step_id: str | None = None
    value: Any = None
    uncertain: bool = False


@dataclass(slots=True)
class RunRecord:
    """One run as seen by its executor."""

    run_id: str
    secret: str
    url: str
    plan: RunPlan
    expires: bool = False
    acts: list[Act] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Errors seen by the executor: an acknowledged answer that is not readable, a refusal without a reason."""

    @property
    def final_status(self) -> str:
        """The expected REST status at the end."""
        finals = [_FINAL[act.op.kind] for act in self.acts if act.done and act.op.kind in _FINAL]
        if finals:
            return finals[0]
        if self.expires:
            return "expired"
        touched = any(act.done and act.op.kind in {"answer", "photo", "skip"} for act in self.acts)
        return "in_progress" if touched else "pending"

    def expected_events(self) -> list[ExpectedEvent]:
        """The expected events with seq 1, 2, 3 ..."""
        events = []
        for act in self.acts:
            kind = _EVENTS.get(act.op.kind)
            if kind is None or not (act.done or act.uncertain):
                continue
            if kind.startswith("step."):
                events.append(ExpectedEvent(kind, act.op.step_id, act.op.value, uncertain=act.uncertain))
            else:
                events.append(ExpectedEvent(kind, uncertain=act.uncertain))
        if self.final_status == "expired":
            events.append(ExpectedEvent("run.expired"))
        return events

    def answers(self) -> dict[str, Any]:
        """The values that must be readable at the end, by step."""
        values: dict[str, Any] = {}
        for act in self.acts:
            if not act.done:
                continue
            if act.op.kind in {"answer", "photo"}:
                values[act.op.step_id] = act.op.value
            elif act.op.kind in {"clear", "skip"}:
                values.pop(act.op.step_id, None)
        return values


def lost_leases(log: Path) -> list["Kill"]:
    """The times when the operator lost its lease, by its log. It then forgets what it has not recorded, as in a crash;
    without an outage of the cluster it must not happen."""
    moments = []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        if '"lease.lost"' in line or '"lost the lease"' in line:  # the latter: earlier versions
            with contextlib.suppress(ValueError, KeyError):
                at = parse_timestamp(json.loads(line)["ts"]).timestamp()
                moments.append(Kill("operator, by its lost lease", at, at + _STILL_ARRIVES_S))
    return moments


@dataclass(frozen=True, slots=True)
class Kill:
    """A SIGKILL; times are seconds since the epoch, just before it was sent and just after the process was gone."""

    name: str
    before: float
    after: float

    @property
    def of_operator(self) -> bool:
        return self.name.startswith("operator")
