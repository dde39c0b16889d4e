"""Checklists for the vectors of conditions, photos, places and skips."""

from typing import Any, Final

from checklist_crds.resources.template_definition import Operator, StepType

from .values import OPTIONS

Tdl = dict[str, Any]

_COMPARED: Final[dict[str, tuple[Any, ...]]] = {
    "boolean": (True, False),
    "number": (5, 0.3, -1),
    "rating": (3,),
    "choice": ("o-a", "o-ab"),
    "multi_choice": ("o-a", "o-b"),
    "text": ("OK", "", "é"),
    "scan": ("4006381333931",),
    "date": ("2026-02-28",),
    "time": ("09:00", "09:00:00", "09:00:30"),
    "datetime": ("2026-11-21T13:50:00Z", "2026-11-21T14:50:00.0005+01:00"),
    "photo": (),
    "signature": (),
}
"""Values to compare with, by type of the source. There is one follow-up step for each operator and value."""

GIVEN: Final[dict[str, tuple[Any, ...]]] = {
    "boolean": (True, False),
    "number": (5, 5.0, 4.999, 5.001, -1, -0.0, 0.3, 0.1 + 0.2, 100),
    "rating": (1, 3, 3.0, 5),
    "choice": ("o-a", "o-b", "o-ab"),
    "multi_choice": ([], ["o-a"], ["o-a", "o-b"], ["o-ab"], ["o-A"]),
    "text": ("OK", "ok", "not OK at all", "", "  ", "e\u0301", "café", "\u200b"),
    "scan": ("4006381333931", "40063813339310", " ", "4006381333930"),
    "date": ("2026-02-27", "2026-02-28", "2026-03-01", "2024-02-29"),
    "time": ("08:59", "09:00", "09:00:30", "09:00:29", "23:59"),
    "datetime": (
        "2026-11-21T13:50:00.000Z",
        "2026-11-21T13:49:59.999Z",
        "2026-11-21T14:50:00+01:00",
        "2026-11-21T13:50:00.001Z",
    ),
    "photo": (None,),
    "signature": ({"url": None, "name": "Ada", "signed_at": None},),
}
"""Answers by type of the source."""


def step(name: str, kind: str = "boolean", **fields: Any) -> Tdl:
    return {"id": f"s-{name}", "type": kind, "label": name.replace("-", " ").capitalize(), **fields}


def when(source: str, op: str, value: Any) -> Tdl:
    return {"step": f"s-{source}", "op": op, "value": value}


def only(condition: Tdl) -> Tdl:
    return {"condition": {"when": condition}}


def checklist(name: str, *steps: Tdl, **settings: Any) -> Tdl:
    sections = [{"id": "g-all", "title": "All", "steps": list(steps)}]
    return {"name": name, "sections": sections, "settings": settings}


def _of_source(kind: str) -> Tdl:
    config = {"options": OPTIONS} if kind in {"choice", "multi_choice"} else {}
    follow_ups: list[Tdl] = []
    for op in Operator:
        if op not in StepType(kind).rules.operators:
            continue
        for value in _values_for(op, kind):
            follow_ups.append(step(f"{op.value}-{len(follow_ups)}", "text", **only(when("source", op.value, value))))
    return checklist(f"Conditions on a step of type {kind}", step("source", kind, config=config), *follow_ups)


def _values_for(op: Operator, kind: str) -> tuple[Any, ...]:
    compared = _COMPARED[kind]
    if op is Operator.EXISTS:
        return True, False
    if op in {Operator.IN, Operator.NOT_IN}:
        return list(compared[:1]), list(compared)
    return compared


_FRIDGE: Final = only(when("fridge-ok", "eq", False))
_NESTED: Final = {
    "any": [
        {"all": [when("open", "eq", True), when("people", "gte", 10)]},
        {"any": [when("kind", "in", ["o-b", "o-ab"]), when("people", "exists", False)]},
        when("kind", "eq", "o-A"),
    ]
}
_NESTED_ALL: Final = {
    "all": [
        {"any": [when("open", "ne", True), when("people", "lt", 10)]},
        {"all": [when("kind", "not_in", ["o-b"]), when("people", "exists", True)]},
        when("open", "exists", True),
    ]
}

CHECKLISTS: Final[dict[str, Tdl]] = {
    **{f"source {kind}": _of_source(kind) for kind in _COMPARED},
    "nesting": checklist(
        "Groups in groups",
        step("open"),
        step("people", "number"),
        step("kind", "choice", config={"options": OPTIONS}),
        step("any", "text", required=True, **only(_NESTED)),
        step("all", "text", required=True, **only(_NESTED_ALL)),
        step("all-of-one", "instruction", **only({"all": [when("open", "eq", True)]})),
        step("any-of-one", "text", **only({"any": [{"any": [when("open", "eq", False)]}]})),
    ),
    "chain": checklist(
        "Each step waits for the one before",
        step("first", required=True),
        step("second", required=True, **only(when("first", "eq", True))),
        step("third", "text", required=True, **only(when("second", "exists", True))),
        step("fourth", "number", required=True, **only(when("third", "contains", "leak"))),
        step("none-of-it", "text", **only(when("third", "exists", False))),
        allow_skip=True,
    ),
    "evidence": checklist(
        "Photos and places",
        step("fridge-ok", required=True, photo={"min": 0, "max": 2}),
        step("damage", "text", required=True, photo={"min": 2, "max": 3}, **_FRIDGE),
        step("place", "number", required=True, geo=True, geo_required=True),
        step("place-if-you-like", "number", geo=True),
        step("photos", "photo", required=True, config={"min": 2, "max": 4}),
        step("photos-from-photo", "photo", photo={"min": 3, "max": 5}),
        step("photos-from-zero", "photo", required=True, config={"min": 0, "max": 1}),
        step("photo-and-place", "photo", required=True, geo=True, geo_required=True),
        step("follow-up", "text", required=True, **only(when("photos", "exists", True))),
        step("read", "instruction", required=True, photo={"min": 1, "max": 1}),
    ),
    "skips": checklist(
        "What may be skipped",
        step("required", required=True),
        step("optional"),
        step("noted", "text", **only(when("optional", "exists", True))),
        step("not-noted", "text", required=True, **only(when("optional", "exists", False))),
        step("read", "instruction"),
        step("photo", "photo", photo={"min": 1, "max": 1}),
        allow_skip=True,
    ),
    "no skips": checklist("Nothing may be skipped", step("required", required=True), step("optional")),
    "nothing": checklist("Only to be read", step("read", "instruction"), step("more", "instruction", required=True)),
    "every type": checklist(
        "One step of every type, all of them required",
        *(
            step(
                kind.value.replace("_", "-"),
                kind.value,
                required=True,
                config={"options": OPTIONS} if kind in {StepType.CHOICE, StepType.MULTI_CHOICE} else {},
            )
            for kind in StepType
        ),
    ),
}
