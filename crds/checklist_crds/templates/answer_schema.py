"""JSON Schema (2020-12) of the answers of completed runs, conditions included.

It describes `answers` of `GET /v1/runs/{run_id}`. The answers of every completed run are valid against it: where JSON
Schema cannot express a rule exactly, the schema accepts more than the service. It contains no references, so other
schemas can embed it. Answers and photos may have additional fields, because new ones may be added at any time.
"""

from typing import Any, Final

from ..resources.run import MAX_NOTE
from ..resources.step_condition import Clause, Comparison, When
from ..resources.template_definition import Definition, Step
from ..step_types.answer_schemas import NEVER, POSSIBLY_VISIBLE, Criterion, all_of, any_of
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
_NOTE: Final[dict[str, Any]] = POSSIBLY_VISIBLE | {"maxLength": MAX_NOTE}
_MOMENT: Final[dict[str, Any]] = {"type": "string", "format": "date-time"}


def answer_schema(definition: Definition) -> dict[str, Any]:
    """Return the schema for completed runs of a valid definition."""
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
    """Return the schema of one answer of a completed run. Only answers to required steps are always complete: others
    may lack their value, if a photo or a drawing was added first, and some of their photos."""
    bounds, value = step.photo_bounds, step.type.rules.value_schema(step)
    if not step.required and (step.most_photos or step.type.rules.takes_drawing(step)) and value["type"] != "null":
        value = {"anyOf": [value, {"type": "null"}]}
    photos: dict[str, Any] = {"type": "array", "maxItems": 0}
    if step.most_photos:
        photos = {"type": "array", "items": _PHOTO, "maxItems": step.most_photos}
        if step.required and bounds is not None and bounds.min:
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
            "received_at": _MOMENT,
            "by": {"type": ["string", "null"]},
            **({"flagged": {"type": "boolean"}} if step.expects else {}),
            "note": {"type": ["string", "null"], "maxLength": MAX_NOTE},
        },
        **_of_flagged_answer(step),
    }


def _of_flagged_answer(step: Step) -> dict[str, Any]:
    """Return the rule that a flagged answer of a completed run has what the step asks for then."""
    asked = step.on_flag
    needed: dict[str, Any] = {}
    if asked is not None and asked.note:
        needed["note"] = _NOTE
    if asked is not None and asked.fewest_photos:
        needed["photos"] = {"minItems": asked.fewest_photos}
    if not needed:
        return {}
    flagged = {"required": ["flagged"], "properties": {"flagged": {"const": True}}}
    return {"if": flagged, "then": {"required": sorted(needed), "properties": needed}}


def _rules(step: Step, steps: dict[str, Step]) -> list[dict[str, Any]]:
    """Return the rules of a conditional step: no answer if the condition fails, one if it holds and is required."""
    if step.condition is None:
        return []
    applies = _condition(step.condition.when, steps)
    given: dict[str, Any] = {"then": {"required": [step.id]}} if step.required else {}
    absent: dict[str, Any] = {"else": {"properties": {step.id: False}}}
    if applies.is_exact:
        return [{"if": applies.surely, **given, **absent}]
    return [*([{"if": applies.surely, **given}] if given else []), {"if": applies.possibly, **absent}]


def _condition(part: When | Clause | Comparison, steps: dict[str, Step]) -> Criterion:
    """Express a condition as schemas of all answers. A source that does not apply has no answer by its own rule."""
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
