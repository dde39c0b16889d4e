"""JSON schema of the TDL for structured output.

Strict mode requires every property (optional ones are nullable), forbids additional ones and most validation keywords;
values are validated afterwards like in create. Each step type has its own schema, so that a model need not write nulls
for fields of other types. Meanings are in the instructions (`prompt`), since descriptions here would repeat per type.

Small models may write one endless text without limits, so there are two schemas: with limits of lengths and counts for
servers that accept them, and without.

Fields that a model must not set (who may execute runs, whether a location is required, what is expected) and nested
condition groups are omitted.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel

from checklist_crds.resources.step_condition import Comparison
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
"""Maximum lengths in characters, below those of create."""
_MOST: Final[Mapping[str, int]] = {"tags": 6, "sections": 20, "steps": 60, "options": 30, "all": 5, "any": 5}
_OMITTED: Final = frozenset({"expected", "on_flag"})
_LONGEST_ITEM: Final = 40
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "est_minutes": (1, 1_440), "decimal": (0, 6), "min_selected": (0, 30), "max_selected": (1, 30),
}  # fmt: skip
_RANGE: Final[Mapping[str, tuple[int, int]]] = {"number": (-1_000_000, 1_000_000), "integer": (0, 20)}


@lru_cache(maxsize=2)
def strict_schema(*, bounded: bool) -> Schema:
    """Return the schema, cached: do not modify it."""
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
    if kind.rules.config_fields - _OMITTED:
        fields["config"] = _object(_config(kind.rules.config_fields))
    return fields


def _config(names: Iterable[str]) -> dict[str, Schema]:
    parts = _fields_of(StepConfig)
    fields = {name: _or_null(part) for name, part in parts.items() if name in names and name not in _OMITTED}
    if "options" in fields:
        fields["options"] = _array(_reference("Option"))
    return fields


def _settings() -> dict[str, Schema]:
    parts = {name: part for name, part in _fields_of(Settings).items() if name != "layout"}  # a person decides that
    # Integers, because servers enforce their limits better.
    return parts | {"est_minutes": _or_null({"type": "integer"})}


def _group(name: str) -> Schema:
    return _object({name: _array(_reference("Comparison"))})


def _fields_of(model: type[BaseModel]) -> dict[str, Schema]:
    """Return the fields of a model's own schema, reduced to their types."""
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
    """Make a schema nullable."""
    return {"anyOf": [*schema.get("anyOf", [schema]), dict(_NULL)]}


def _bounded(node: Schema, name: str = "") -> Schema:
    """Add limits to the schema of the property `name`, recursively."""
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
