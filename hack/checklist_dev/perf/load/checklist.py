"""The checklist of the load: steps of every kind without photos, and values for them."""

import random
from typing import Any, Final

Json = dict[str, Any]

TEMPLATE: Final[Json] = {
    "name": "Cold store round",
    "description": "Answered repeatedly while the service is measured, or killed.",
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

STEPS: Final = [step for section in TEMPLATE["sections"] for step in section["steps"]]
REQUIRED: Final = frozenset(step["id"] for step in STEPS if step.get("required"))


def value_for(rng: random.Random, step_type: str) -> Any:
    """A random valid answer."""
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
