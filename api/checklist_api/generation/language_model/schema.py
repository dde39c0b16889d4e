"""JSON schema of the TDL for structured output.

In strict mode servers want every property required (one that may be left out is null instead), no additional ones, and
none of the keywords that bound a value: those are judged afterwards, by the validation that create uses. So that a
model need not write a null for everything that a step does not have, each type of step has a schema of its own. What
fields mean is told in words (`model_prompt`): descriptions would stand here once for each type, and are paid for.

Small models write one text until they are stopped when nothing bounds it. So there are two: with bounds of lengths and
counts, for the many servers that take them, and without, for those that allow no more than strict mode has.

Left out is what a model has no business to decide (who may execute runs, whether an answer is refused without a
place), and groups inside groups of conditions.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel

from checklist_crds.resources.condition import Comparison
from checklist_crds.resources.template_definition import (
    Definition,
    Option,
    PhotoBounds,
    Section,
    Settings,
    Step,
    StepConfig,
    StepType,
)

Schema = dict[str, Any]

_NULL: Final[Schema] = {"type": "null"}


_LONGEST: Final[Mapping[str, int]] = {
    "id": 40, "step": 40, "name": 120, "description": 300, "title": 120, "label": 300, "hint": 300, "placeholder": 80,
    "unit": 20, "true_label": 40, "false_label": 40, "low_label": 40, "high_label": 40,
}  # fmt: skip
"""Characters: enough for what people write, less than what create takes."""
_MOST: Final[Mapping[str, int]] = {"tags": 6, "sections": 20, "steps": 60, "options": 30, "all": 5, "any": 5}
_LONGEST_ITEM: Final = 40
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "est_minutes": (1, 1_440), "decimal": (0, 6), "min_selected": (0, 30), "max_selected": (1, 30),
}  # fmt: skip
_RANGE: Final[Mapping[str, tuple[int, int]]] = {"number": (-1_000_000, 1_000_000), "integer": (0, 20)}


@lru_cache(maxsize=2)
def strict_schema(*, bounded: bool) -> Schema:
    """The reduced schema. Made once of each kind; nobody may change it."""
    schema = _strict_schema()
    return _bounded(schema) if bounded else schema


def _strict_schema() -> Schema:
    parts = _fields_of(Definition)
    return {
        **_object(
            {
                "name": parts["name"],
                "description": parts["description"],
                "tags": parts["tags"],
                "settings": _reference("Settings"),
                "sections": _array(_reference("Section")),
            }
        ),
        "$defs": {
            "Settings": _object(_settings()),
            "Section": _object(_fields_of(Section) | {"steps": _array({"anyOf": [*map(_reference, _step_names())]})}),
            **{name: _object(_step(kind)) for name, kind in _step_names().items()},
            "PhotoBounds": _object(_fields_of(PhotoBounds)),
            "Option": _object(_fields_of(Option)),
            "Comparison": _object(_fields_of(Comparison)),
            "Condition": _object({"when": {"anyOf": [_reference("Comparison"), _group("all"), _group("any")]}}),
        },
    }


def _step_names() -> dict[str, StepType]:
    return {f"Step_{kind.value}": kind for kind in StepType}


def _step(kind: StepType) -> dict[str, Schema]:
    parts = _fields_of(Step)
    fields = {"id": parts["id"], "type": {"type": "string", "enum": [kind.value]}, "label": parts["label"]}
    fields["hint"] = _or_null(parts["hint"])
    if kind.rules.takes_answer:
        fields |= {"required": parts["required"], "geo": parts["geo"]}
    if kind.rules.adds_photos:
        fields["photo"] = _or_null(_reference("PhotoBounds"))
    fields["condition"] = _or_null(_reference("Condition"))
    if kind.rules.config_fields:
        fields["config"] = _object(_config(kind.rules.config_fields))
    return fields


def _config(names: Iterable[str]) -> dict[str, Schema]:
    parts = _fields_of(StepConfig)
    fields = {name: _or_null(part) for name, part in parts.items() if name in names}
    if "options" in fields:
        fields["options"] = _array(_reference("Option"))
    return fields


def _settings() -> dict[str, Schema]:
    parts = _fields_of(Settings)
    # Whole minutes: servers bound integers better than other numbers.
    return parts | {"est_minutes": _or_null({"type": "integer"})}


def _group(name: str) -> Schema:
    return _object({name: _array(_reference("Comparison"))})


def _fields_of(model: type[BaseModel]) -> dict[str, Schema]:
    """The model's fields as its own schema has them, reduced to their types."""
    whole = model.model_json_schema()
    return {name: _reduced(part, whole.get("$defs", {})) for name, part in whole["properties"].items()}


def _reduced(schema: Schema, definitions: Schema) -> Schema:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        branches = [_reduced(branch, definitions) for branch in schema["anyOf"] if branch != _NULL]
        return branches[0] if len(branches) == 1 else {"anyOf": branches}
    if schema.get("type") == "array":
        return {"type": "array", "items": _reduced(schema["items"], definitions)}
    return {key: schema[key] for key in ("type", "enum") if key in schema}


def _object(properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(schema: Schema) -> Schema:
    """Null is how a strict document leaves something out; read, it is just that."""
    return {"anyOf": [*schema.get("anyOf", [schema]), dict(_NULL)]}


def _bounded(node: Schema, name: str = "") -> Schema:
    """The schema of what is called `name`, with bounds on texts, lists and numbers, also within."""
    node = dict(node)
    if "$defs" in node:
        node["$defs"] = {part: _bounded(schema) for part, schema in node["$defs"].items()}
    if "properties" in node:
        node["properties"] = {part: _bounded(schema, part) for part, schema in node["properties"].items()}
    if "anyOf" in node:
        node["anyOf"] = [_bounded(branch, name) for branch in node["anyOf"]]
    if node.get("type") == "array":
        node["items"] = _bounded(node["items"])
        if name in _MOST:
            node["maxItems"] = _MOST[name]
    if node.get("type") == "string" and "enum" not in node:
        node["maxLength"] = _LONGEST.get(name, _LONGEST_ITEM)
    if node.get("type") in ("integer", "number"):
        node["minimum"], node["maximum"] = _RANGES.get(name, _RANGE[node["type"]])
    return node
