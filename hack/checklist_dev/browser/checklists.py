"""Checklists for browser tests: one with every control, one of maximum length, and helpers for others."""

from typing import Any, Final

Json = dict[str, Any]


def step(name: str, kind: str = "boolean", **fields: Any) -> Json:
    """A step with the id `s-name` and a label made of the name."""
    return {"id": f"s-{name}", "type": kind, "label": name.replace("-", " ").capitalize(), **fields}


def options(*labels: str) -> list[Json]:
    return [{"id": f"o-{number}", "label": label} for number, label in enumerate(labels, 1)]


def section(title: str, *steps: Json) -> Json:
    return {"id": f"g-{title.lower().replace(' ', '-')}", "title": title, "steps": list(steps)}


def checklist(*steps: Json, name: str = "Cold store check", identity: str = "none", **settings: Any) -> Json:
    """A template with one section. `settings`: TDL settings; `allow_skip` is on by default."""
    return {
        "name": name,
        "settings": {"allow_skip": True, **settings},
        "sections": [section("Kitchen", *steps)],
        "execution": {"identity_required": identity},
    }


EVERY_CONTROL: Final[Json] = {
    "name": "Every control",
    "description": "One step of each kind, so that each can be seen and used.",
    "settings": {"allow_skip": True, "signature_on_complete": True, "est_minutes": 5},
    "sections": [
        section(
            "First look",
            step("intro", "instruction", label="Put on your gloves before you begin.", hint="They are at the door."),
            step(
                "clean",
                label="Is the floor clean?",
                required=True,
                config={"true_label": "Clean", "false_label": "Dirty"},
            ),
            step(
                "why",
                "text",
                label="What is dirty?",
                required=True,
                config={"multiline": True, "placeholder": "Where, and since when"},
                condition={"when": {"step": "s-clean", "op": "eq", "value": False}},
            ),
            step(
                "temperature",
                "number",
                label="Temperature of the cold store",
                hint="Read it at the door.",
                required=True,
                config={"unit": "°C", "min": -30, "max": 30, "decimal": 1},
            ),
            step("place", label="Are you at the store?", geo=True),
        ),
        section(
            "Choices",
            step("door", "choice", label="Which door?", config={"options": options("North", "South", "Loading bay")}),
            step(
                "country",
                "choice",
                label="Where do the goods come from?",
                config={"options": options(*(f"Supplier {number}" for number in range(1, 31)))},
            ),
            step(
                "tools",
                "multi_choice",
                label="What did you use?",
                config={"options": options("Mop", "Bucket", "Gloves"), "min_selected": 1, "max_selected": 2},
            ),
            step(
                "tidy",
                "rating",
                label="How tidy is it?",
                config={"min": 1, "max": 5, "low_label": "Messy", "high_label": "Spotless"},
            ),
        ),
        section(
            "Evidence",
            step("shelf", "photo", label="Photos of the shelves", required=True, config={"min": 1, "max": 3}),
            step("note", "text", label="Anything to remark?", photo={"min": 0, "max": 2}),
            step("day", "date", label="Day of the last delivery"),
            step("hour", "time", label="Time of the last delivery"),
            step("moment", "datetime", label="When did you begin?"),
            step("code", "scan", label="Code on the thermometer"),
            step("witness", "signature", label="Signature of a witness"),
        ),
    ],
}


_CLEAN_OR_NOT: Final = {"options": options("Clean and dry", "Wet", "Damaged")}

OPENING_ROUND: Final[Json] = {
    "name": "Opening round",
    "description": "Walk the kitchen once, from the back door to the counter.",
    "settings": {"allow_skip": True, "layout": "one_at_a_time"},
    "sections": [
        section(
            "Arrival",
            step(
                "gloves", "instruction", label="Wash your hands and put on gloves.", hint="They are next to the sink."
            ),
            *(
                step(f"arrival-{name}", label=label, required=True)
                for name, label in (
                    ("door", "Was the back door locked?"),
                    ("alarm", "Was the alarm on?"),
                    ("lights", "Do all lights work?"),
                    ("smell", "Does it smell fresh?"),
                )
            ),
        ),
        section(
            "Cold store",
            step(
                "heat", "number", label="Temperature of the cold store", required=True, config={"unit": "°C", "min": -5}
            ),
            step("cold-floor", "choice", label="Floor of the cold store", required=True, config=_CLEAN_OR_NOT),
            step("cold-shelves", "choice", label="Shelves of the cold store", required=True, config=_CLEAN_OR_NOT),
            step("seal", label="Is the seal of the door in order?", required=True),
            step("dates", label="Is everything within its date?", required=True),
            step("order", "rating", label="How tidy is the cold store?", required=True),
            step("shelf", "photo", label="Photos of the shelves", required=True, config={"min": 2, "max": 4}),
        ),
        section(
            "Kitchen",
            step("kitchen-floor", "choice", label="Floor of the kitchen", required=True, config=_CLEAN_OR_NOT),
            step("hood", label="Is the hood clean?", required=True),
            step("fryer", label="Is the fryer drained and clean?", required=True),
            step("knives", label="Are all knives in their block?", required=True),
            step("bins", label="Are all bins empty?", required=True),
            step("drains", label="Do all drains run freely?", required=True),
            step(
                "supplies",
                "multi_choice",
                label="What is running low?",
                config={"options": options("Gloves", "Towels", "Soap", "Foil")},
            ),
            step("note", "text", label="Anything to remark?"),
        ),
        section(
            "Counter",
            step("till", label="Is the till ready?", required=True),
            step("counter-floor", "choice", label="Floor at the counter", required=True, config=_CLEAN_OR_NOT),
            step("delivery", "date", label="Day of the last delivery", required=True),
            step("ready", "rating", label="How ready is the team?", required=True),
            step("open", label="Can the doors open?", required=True),
        ),
    ],
}
"""Twenty-five steps, of which one tap answers most."""


def longest(count: int = 500) -> Json:
    """A template with the maximum number of steps, every second one conditional on the previous one."""
    steps: list[Json] = []
    for number in range(1, count + 1):
        if number % 2:
            steps.append(step(f"q{number}", label=f"Is item {number} in order?"))
        else:
            condition = {"when": {"step": f"s-q{number - 1}", "op": "eq", "value": False}}
            steps.append(
                step(f"q{number}", "text", label=f"What is wrong with item {number - 1}?", condition=condition)
            )
    sections = [
        {"id": f"g-{start}", "title": f"Items {start + 1} to {start + 50}", "steps": steps[start : start + 50]}
        for start in range(0, count, 50)
    ]
    return {"name": "Five hundred steps", "settings": {"allow_skip": True}, "sections": sections}
