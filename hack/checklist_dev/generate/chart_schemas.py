"""Strict JSON schemas, made of what a kube-apiserver says of itself (OpenAPI v3): a field that it does not know is an
error. They are of the very version that everything else is tested with, and no network is needed.
"""

from typing import Any, Final

Schema = dict[str, Any]
_REFERENCE: Final = "#/components/schemas/"
_INT_OR_STRING: Final = {"type": ["integer", "string"]}


def resolved(schema: Schema, schemas: dict[str, Schema], within: tuple[str, ...]) -> Schema:
    """Strict, and without references. One to itself (a schema of schemas) is not followed a second time."""
    if (reference := schema.get("$ref")) is not None:
        name = reference.removeprefix(_REFERENCE)
        return {} if name in within else resolved(schemas[name], schemas, (*within, name))
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return dict(_INT_OR_STRING)
    parts = schema.get("allOf", [])
    if len(parts) == 1 and "$ref" in parts[0]:
        return resolved(parts[0], schemas, within)
    result: Schema = {name: schema[name] for name in ("type", "enum", "required", "pattern", "oneOf") if name in schema}
    if "properties" in schema:
        result["properties"] = {
            name: _optional(resolved(part, schemas, within)) if name not in schema.get("required", ()) else
            resolved(part, schemas, within)
            for name, part in schema["properties"].items()
        }  # fmt: skip
        if "additionalProperties" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
            result["additionalProperties"] = False
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            result[name] = resolved(schema[name], schemas, within)
    return result


def _optional(schema: Schema) -> Schema:
    """The API takes null for a field that may be left out."""
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) and "enum" not in schema else schema
