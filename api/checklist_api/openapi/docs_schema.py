"""Renders JSON Schemas as HTML: types and tables of fields."""

import json
from html import escape
from typing import Any, Final

from ..pages.markup import anchor, inline

Schema = dict[str, Any]
_RANGES: Final = (
    (("minimum", "maximum"), ""),
    (("minLength", "maxLength"), " characters"),
    (("minItems", "maxItems"), " entries"),
)
# Patterns that exclude NUL or require visible text: omitted as noise.
_PLAIN_PATTERNS: Final = frozenset({r"^[^\x00]*$", r"^[^\x00]*[^\s\x00][^\x00]*$"})


def type_html(schema: Schema) -> str:
    """Render a type with links to schemas: `array of Step`, `string or null`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "any JSON" if name == "JsonValue" else f'<a href="#{anchor("schema", name)}">{escape(name)}</a>'
    if "const" in schema:
        return f"<code>{escape(_literal(schema['const']))}</code>"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(type_html(branch) for branch in schema[key]))
    if "enum" in schema:
        return "one of " + ", ".join(f"<code>{escape(_literal(value))}</code>" for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"array of {type_html(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map to {type_html(schema['additionalProperties'])}"
    if kind == "string" and schema.get("format") == "date-time":
        return "timestamp"
    return escape(str(kind)) if kind else "any JSON"


def constraints(schema: Schema) -> str:
    """Render bounds and default; empty without any."""
    parts: list[str] = []
    for branch in (schema, *schema.get("anyOf", ())):
        for (low, high), unit in _RANGES:
            if low in branch or high in branch:
                parts.append(_range(branch.get(low), branch.get(high)) + unit)
        if "exclusiveMinimum" in branch:
            parts.append(f"more than {branch['exclusiveMinimum']}")
        pattern = branch.get("pattern")
        if pattern is not None and pattern not in _PLAIN_PATTERNS:
            parts.append(f"pattern <code>{escape(pattern)}</code>")
    if "default" in schema:
        parts.append(f"default <code>{escape(_literal(schema['default']))}</code>")
    return "; ".join(parts)


def fields_table(schema: Schema, caption: str) -> str:
    """Render the fields of an object as a responsive table."""
    required = frozenset(schema.get("required", ()))
    rows = "".join(
        row(name, field, field.get("description", ""), required=name in required)
        for name, field in schema["properties"].items()
    )
    return table(caption, rows)


def table(caption: str, rows: str) -> str:
    return f"<table><caption>{escape(caption)}</caption><tbody>{rows}</tbody></table>" if rows else ""


def row(name: str, schema: Schema, description: str, *, required: bool, note: str = "") -> str:
    bounds = constraints(schema)
    marks = [type_html(schema), *([note] if note else []), *(["required"] if required else [])]
    cell = f'<span class="type">{" · ".join(marks)}</span>'
    if description:
        cell += f"<span>{inline(description)}</span>"
    if bounds:
        cell += f'<span class="bounds">{bounds}</span>'
    return f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{cell}</td></tr>'


def _literal(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _range(low: Any, high: Any) -> str:
    if high is None:
        return f"at least {low}"
    return f"at most {high}" if low is None else f"{low} to {high}"
