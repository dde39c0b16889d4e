"""Plans of scripted executors and their receivers, drawn from a seed."""

import random
from dataclasses import dataclass
from typing import Any, Final

from checklist_dev.perf.load.checklist import REQUIRED, STEPS, Json, value_for

BEHAVIOURS: Final = {"ok": 64.0, "flaky": 18.0, "late": 7.0, "twice": 5.0, "dead": 3.0, "refused": 2.0, "dribble": 1.0}
"""Weights of the receivers' behaviours; the slow ones (`hang`, `slow`) are assigned by number, not at random."""
ENDINGS: Final = {"submit": 70.0, "cancel": 11.0, "owner_cancel": 4.0, "expire": 9.0, "leave": 6.0}


@dataclass(frozen=True, slots=True)
class Op:
    """An operation of the person: answer, photo, clear, skip, submit, cancel or owner_cancel; after `pause_s`."""

    kind: str
    step_id: str = ""
    value: Any = None
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run from dispatch to its end. `expires_in_s`: set if it ends by expiry."""

    behaviour: str
    ops: tuple[Op, ...]
    expires_in_s: float | None = None


def plan_run(rng: random.Random, *, pause_s: float, behaviour: str | None = None) -> RunPlan:
    """`pause_s`: mean pause between two operations."""
    ending = rng.choices(list(ENDINGS), weights=list(ENDINGS.values()))[0]
    chosen = behaviour or rng.choices(list(BEHAVIOURS), weights=list(BEHAVIOURS.values()))[0]
    ops = list(_touches(rng, pause_s))
    if ending in {"cancel", "expire", "leave"}:
        ops = ops[: rng.randint(0 if ending != "leave" else 1, len(ops))]
    if ending in {"submit", "cancel", "owner_cancel"}:
        ops.append(Op(ending, pause_s=rng.uniform(0, 2 * pause_s)))
    return RunPlan(chosen, tuple(ops), rng.uniform(4.0, 14.0) if ending == "expire" else None)


def _touches(rng: random.Random, pause_s: float) -> list[Op]:
    """Operations that answer or skip every step; some are answered again, or cleared and answered again."""
    ops: list[Op] = []

    def add(kind: str, step: Json, value: Any = None) -> None:
        ops.append(Op(kind, step["id"], value, rng.uniform(0, 2 * pause_s)))

    for step in STEPS:
        if step["id"] not in REQUIRED and rng.random() < 0.35:
            add("skip", step)
            continue
        add("answer", step, value_for(rng, step["type"]))
        if rng.random() < 0.15:
            add("answer", step, value_for(rng, step["type"]))
        elif rng.random() < 0.06:
            add("clear", step)
            add("answer", step, value_for(rng, step["type"]))
    return ops
