"""Converts pydantic models to structural schemas of Kubernetes (apiextensions v1).

Structural schemas have no references, unions or null; unions of TDL (`photo`, the value of a comparison, a step's
`config`) are accepted as is and validated by the operator.
"""

from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_KEPT = (
    "type", "format", "description", "enum", "pattern", "minLength", "maxLength", "minItems", "maxItems",
    "minimum", "maximum", "maxProperties", "required",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations",
)  # fmt: skip


def structural_schema(model: type[BaseModel], *, keep_defaults: bool) -> Schema:
    """Returns the schema of `model` for a CRD. With `keep_defaults`, the API server sets the model's defaults."""
    document = model.model_json_schema(by_alias=True, mode="validation")
    return _Converter(document.get("$defs", {}), keep_defaults).convert(document)


class _Converter:
    def __init__(self, definitions: dict[str, Schema], keep_defaults: bool) -> None:
        self._definitions = definitions
        self._keep_defaults = keep_defaults

    def convert(self, schema: Schema) -> Schema:
        schema = self._resolve(schema)
        if "anyOf" in schema or "oneOf" in schema:
            return self._union(schema)
        result: Schema = {key: schema[key] for key in _KEPT if key in schema}
        if "const" in schema:
            result["enum"] = [schema["const"]]
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if exclusive in schema:
                result |= {bound: schema[exclusive], exclusive: True}
        if "properties" in schema:
            result["properties"] = {name: self.convert(field) for name, field in schema["properties"].items()}
            if schema.get("additionalProperties") is True:
                result["x-kubernetes-preserve-unknown-fields"] = True
        elif isinstance(schema.get("additionalProperties"), dict):
            result["additionalProperties"] = self.convert(schema["additionalProperties"])
        if "items" in schema:
            result["items"] = self.convert(schema["items"])
        if result.get("type") == "integer":
            result["format"] = "int64"
        if (self._keep_defaults or schema.get("x-keep-default")) and schema.get("default") is not None:
            result["default"] = _without_nulls(schema["default"])
        return result

    def _resolve(self, schema: Schema) -> Schema:
        """Resolves references and wrappers with a single branch; their siblings take precedence."""
        while "$ref" in schema or len(schema.get("allOf", ())) == 1:
            reference = schema.get("$ref")
            inner = self._definitions[reference.rsplit("/", 1)[1]] if reference else schema["allOf"][0]
            schema = inner | {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
        if len(branches) == 1:
            outer = {key: value for key, value in schema.items() if key != "anyOf"}
            return self._resolve(branches[0] | outer)
        return schema

    def _union(self, schema: Schema) -> Schema:
        result: Schema = {"x-kubernetes-preserve-unknown-fields": True}
        if "description" in schema:
            result["description"] = schema["description"]
        if self._keep_defaults and schema.get("default") is not None:
            result["default"] = schema["default"]
        return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
