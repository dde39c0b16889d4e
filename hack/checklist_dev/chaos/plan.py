"""What the scripted executors will do and how their receivers will behave: drawn from a seed, nothing else."""

import random
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

TEMPLATE: Final[Json] = {
    "name": "Cold store round",
    "description": "Answered over and over while the service is being killed.",
    "settings": {"allow_skip": True},
    "sections": [
        {
            "id": "g-store",
            "title": "Cold store",
            "steps": [
                {"id": "s-closed", "type": "boolean", "label": "The door closes by itself", "required": True},
                {
                    "id": "s-degrees",
                    "type": "number",
                    "label": "Temperature",
                    "required": True,
                    "config": {"unit": "°C", "min": -40, "max": 40, "decimal": 1},
                },
                {
                    "id": "s-smell",
                    "type": "choice",
                    "label": "Smell",
                    "required": True,
                    "config": {"options": [{"id": f"o-{name}", "label": name} for name in ("none", "slight", "bad")]},
                },
                {"id": "s-note", "type": "text", "label": "Anything else", "config": {"multiline": True}},
            ],
        },
        {
            "id": "g-round",
            "title": "The round",
            "steps": [
                {"id": "s-lamp", "type": "boolean", "label": "The lamp works"},
                {"id": "s-order", "type": "rating", "label": "Order", "config": {"min": 1, "max": 5}},
                {"id": "s-day", "type": "date", "label": "Oldest date found"},
                {
                    "id": "s-shelves",
                    "type": "multi_choice",
                    "label": "Shelves seen",
                    "config": {"options": [{"id": f"o-{number}", "label": str(number)} for number in range(1, 7)]},
                },
                {"id": "s-code", "type": "scan", "label": "Code at the door", "required": True},
            ],
        },
    ],
}

_STEPS: Final = [step for section in TEMPLATE["sections"] for step in section["steps"]]
_REQUIRED: Final = frozenset(step["id"] for step in _STEPS if step.get("required"))

BEHAVIOURS: Final = {"ok": 64.0, "flaky": 18.0, "late": 7.0, "twice": 5.0, "dead": 3.0, "refused": 2.0, "dribble": 1.0}
"""Weights of the receivers' behaviours; the slow ones (`hang`, `slow`) are given out by number, not by chance."""
ENDINGS: Final = {"submit": 70.0, "cancel": 11.0, "owner_cancel": 4.0, "expire": 9.0, "leave": 6.0}


@dataclass(frozen=True, slots=True)
class Op:
    """One thing that the person does: answer, clear, skip, submit, cancel or owner_cancel; after `pause_s`."""

    kind: str
    step_id: str = ""
    value: Any = None
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run from dispatch to its end. `expires_in_s` is set where it ends by running out of time."""

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
    """Every step answered or skipped; some answered again, some cleared and answered anew."""
    ops: list[Op] = []

    def add(kind: str, step: Json, value: Any = None) -> None:
        ops.append(Op(kind, step["id"], value, rng.uniform(0, 2 * pause_s)))

    for step in _STEPS:
        if step["id"] not in _REQUIRED and rng.random() < 0.35:
            add("skip", step)
            continue
        add("answer", step, value_for(rng, step["type"]))
        if rng.random() < 0.15:
            add("answer", step, value_for(rng, step["type"]))
        elif rng.random() < 0.06:
            add("clear", step)
            add("answer", step, value_for(rng, step["type"]))
    return ops


def value_for(rng: random.Random, step_type: str) -> Any:
    """A valid answer, hardly ever the same twice."""
    match step_type:
        case "boolean":
            return rng.random() < 0.8
        case "number":
            return round(rng.uniform(-30, 30), 1)
        case "choice":
            return rng.choice(["o-none", "o-slight", "o-bad"])
        case "rating":
            return rng.randint(1, 5)
        case "date":
            return f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        case "multi_choice":
            return [f"o-{number}" for number in sorted(rng.sample(range(1, 7), rng.randint(1, 4)))]
        case _:
            return f"{step_type} {rng.getrandbits(48):x} – geprüft"
