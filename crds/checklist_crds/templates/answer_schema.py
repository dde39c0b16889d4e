"""The JSON Schema (2020-12) of the answers that completed runs of a checklist have, conditions included.

It describes `answers` of `GET /v1/runs/{run_id}`. Every completed run's answers fit it: where JSON Schema cannot
express a rule exactly, the schema is more lenient than the service. It has no references, so it can be part of another
schema, and it takes further fields of answers and photos, which may be added at any time.
"""

from typing import Any, Final

from ..resources.condition import Clause, Comparison, When
from ..resources.template_definition import Definition, Step
from ..step_types.answer_schemas import NEVER, Criterion, all_of, any_of
from ..step_types.base import Operator

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MEDIA_TYPE: Final = "application/schema+json"

_LOCATION: Final[dict[str, Any]] = {
    "required": ["lat", "lng"],
    "properties": {
        "lat": {"type": "number", "minimum": -90, "maximum": 90},
        "lng": {"type": "number", "minimum": -180, "maximum": 180},
        "accuracy_m": {"type": ["number", "null"], "minimum": 0},
    },
}
_PHOTO: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["photo_index", "url"],
    "properties": {"photo_index": {"type": "integer", "minimum": 0}, "url": {"type": "string"}},
}
_MOMENT: Final[dict[str, Any]] = {"type": "string", "format": "date-time"}


def answer_schema(definition: Definition) -> dict[str, Any]:
    """Of the completed runs of a definition without problems."""
    steps = {step.id: step for step in definition.all_steps if step.type.rules.takes_answer}
    schema: dict[str, Any] = {
        "$schema": DIALECT,
        "title": definition.name,
        "description": "Answers of a completed run, by step id.",
        "type": "object",
        "properties": {step.id: _of_answer(step) for step in steps.values()},
        "additionalProperties": False,
    }
    always = [step.id for step in steps.values() if step.required and step.condition is None]
    rules = [rule for step in steps.values() for rule in _rules(step, steps)]
    return schema | ({"required": always} if always else {}) | ({"allOf": rules} if rules else {})


def _of_answer(step: Step) -> dict[str, Any]:
    """Of an answer of a completed run. Only one to a required step is known to suffice: others may be without their
    value, when a photo or a drawing came first, and without some of their photos."""
    bounds, value = step.photo_bounds, step.type.rules.value_schema(step)
    if not step.required and (bounds is not None or step.type.rules.takes_drawing(step)) and value["type"] != "null":
        value = {"anyOf": [value, {"type": "null"}]}
    photos: dict[str, Any] = {"type": "array", "maxItems": 0}
    if bounds is not None:
        photos = {"type": "array", "items": _PHOTO, "maxItems": bounds.max}
        if step.required and bounds.min:
            photos["minItems"] = bounds.min
    place = "object" if step.required and step.geo_required else ["object", "null"]
    return {
        "title": step.label,
        **({"description": step.hint} if step.hint else {}),
        "type": "object",
        "required": ["value", "photos", "geo", "at", "by"],
        "properties": {
            "value": value,
            "photos": photos,
            "geo": {"type": place, **_LOCATION},
            "at": _MOMENT,
            "by": {"type": ["string", "null"]},
        },
    }


def _rules(step: Step, steps: dict[str, Step]) -> list[dict[str, Any]]:
    """What the condition of a step makes of its answer: none when it does not hold; one when it does, if required."""
    if step.condition is None:
        return []
    applies = _condition(step.condition.when, steps)
    given: dict[str, Any] = {"then": {"required": [step.id]}} if step.required else {}
    absent: dict[str, Any] = {"else": {"properties": {step.id: False}}}
    if applies.is_exact:
        return [{"if": applies.surely, **given, **absent}]
    return [*([{"if": applies.surely, **given}] if given else []), {"if": applies.possibly, **absent}]


def _condition(part: When | Clause | Comparison, steps: dict[str, Step]) -> Criterion:
    """Whether all answers meet a condition. A source that does not apply has no answer: its own rule sees to that."""
    if isinstance(part, Comparison):
        return _comparison(part.step, part.op, part.value, steps)
    if part.all is not None:
        return all_of(_condition(member, steps) for member in part.all)
    if part.any is not None:
        return any_of(_condition(member, steps) for member in part.any)
    if part.step is None or part.op is None:
        return NEVER
    return _comparison(part.step, part.op, part.value, steps)


def _comparison(step_id: str, op: Operator, wanted: Any, steps: dict[str, Step]) -> Criterion:
    rules = steps[step_id].type.rules
    if op is Operator.EXISTS:
        given = rules.value_criterion().of_member(step_id, required=True)
        return given if wanted else given.negated()
    return rules.comparison_criterion(op, wanted).of_member("value").of_member(step_id, required=True)
