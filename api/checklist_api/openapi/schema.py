"""JSON Schemas for the OpenAPI document, from the pydantic models."""

from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema
from pydantic_core import core_schema

_PREFIX: Final = "#/components/schemas/"

Schema = dict[str, Any]


class _Generator(GenerateJsonSchema):
    """Omits generated titles, and marks fields with defaults as required in responses."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        if self.mode == "serialization" and field.get("serialization_exclude_if") is None:
            return True
        return super().field_is_required(field, total)


def component_schemas(requests: Iterable[type[BaseModel]], answers: Iterable[type[BaseModel]]) -> dict[str, Schema]:
    """Return schemas by component name. A model whose request and response forms differ has two: `Step` and
    `StepInput`."""
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in requests]
    wanted += [(model, "serialization") for model in answers]
    _, definitions = models_json_schema(wanted, ref_template=_PREFIX + "{model}", schema_generator=_Generator)
    schemas: dict[str, Schema] = _renamed(definitions["$defs"])
    for schema in schemas.values():
        schema.pop("title", None)
    return dict(sorted(schemas.items()))


def reference(model: type[BaseModel], *, sent: bool = False, schemas: dict[str, Schema]) -> Schema:
    """Return a reference to the model's component. `sent`: its request form."""
    name = model.__name__
    return {"$ref": _PREFIX + (f"{name}Input" if sent and f"{name}Input" in schemas else name)}


def without_required(schema: Schema) -> Schema:
    """Return the schema of a partial document (merge patch)."""
    return {key: value for key, value in schema.items() if key != "required"}


def _renamed(node: Any) -> Any:
    if isinstance(node, dict):
        return {_name(key): _renamed(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_renamed(item) for item in node]
    if isinstance(node, str) and node.startswith(_PREFIX):
        return _PREFIX + _name(node.removeprefix(_PREFIX))
    return node


def _name(name: str) -> str:
    return name.removesuffix("-Output") if name.endswith("-Output") else name.replace("-Input", "Input")
