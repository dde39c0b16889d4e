"""JSON schemas for kubeconform, made of what a kube-apiserver says of itself (OpenAPI v3).

So they are of the very version that everything else is tested with, and no network is needed. They are strict: a field
that the API does not know is an error. Kinds of others (cert-manager, Gateway API, Prometheus) are there when their
definitions are installed in that API server.
"""

import json
from pathlib import Path
from typing import Any, Final

from checklist_dev.kubectl import Kubectl

Schema = dict[str, Any]
FILE_NAMES: Final = "{{ .Group }}-{{ .ResourceKind }}-{{ .ResourceAPIVersion }}.json"
"""For kubeconform's `-schema-location`, after the folder."""
_OF: Final = "x-kubernetes-group-version-kind"
_REFERENCE: Final = "#/components/schemas/"
_INT_OR_STRING: Final = {"type": ["integer", "string"]}


def write_schemas(kubectl: Kubectl, folder: Path) -> int:
    """One file a kind and version, all references resolved; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for path in json.loads(kubectl("get", "--raw", "/openapi/v3"))["paths"]:
        if not (path.startswith("apis/") or path == "api/v1"):
            continue
        schemas = json.loads(kubectl("get", "--raw", f"/openapi/v3/{path}"))["components"]["schemas"]
        for schema in schemas.values():
            kinds = schema.get(_OF, [])
            if len(kinds) != 1 or kinds[0]["kind"].endswith("List"):
                continue
            kind = kinds[0]
            # kubeconform takes the core's group, which has no name, to be called as its version.
            name = f"{kind['group'] or kind['version']}-{kind['kind'].lower()}-{kind['version']}.json"
            (folder / name).write_text(json.dumps(resolved(schema, schemas, ())))
            written += 1
    return written


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
