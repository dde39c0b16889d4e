"""Generates the tables of docs/templates.md from the models of the template format.

The text above the heading *Reference* is written by hand and kept. Its first JSON block, the complete example, must be
a valid template.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from checklist_crds.resources.step_condition import Comparison
from checklist_crds.resources.template_definition import (
    Definition,
    Execution,
    Option,
    PhotoBounds,
    Section,
    Settings,
    Step,
    StepConfig,
    StepType,
)
from checklist_crds.step_types.base import Operator
from checklist_crds.step_types.expected import OnFlag
from checklist_crds.templates.validation import definition_problems
from checklist_crds.values.json_types import MAX_NUMBER
from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT

DOCUMENT: Final = ROOT / "docs" / "templates.md"
_MARK: Final = "## Reference\n"
_NOTE: Final = (
    "Generated from the models (`python -m checklist_dev.generate templates`); do not edit below.\n"
    "A field without a default may be left out, unless it is required.\n"
)
_MODELS: Final[Mapping[str, tuple[type[BaseModel], str]]] = {
    "Template": (Definition, ""),
    "`settings`": (Settings, ""),
    "`execution`": (Execution, ""),
    "Section": (Section, ""),
    "Step": (Step, ""),
    "`config`": (StepConfig, "Which fields have an effect depends on the [type](#step-types) of the step.\n\n"),
    "Option": (Option, ""),
    "`photo`": (PhotoBounds, ""),
    "`on_flag`": (OnFlag, ""),
    "Comparison": (Comparison, ""),
}
_ELSEWHERE: Final[Mapping[str, str]] = {
    "Condition": "[condition](#conditions)",
    "ExpectedBounds": "[object](#expected-answers)",
    "FlagPhotos": "as [photo](#photo)",
}
_TYPES: Final[Mapping[StepType, tuple[str, str]]] = {
    StepType.BOOLEAN: ("chooses between two answers, such as Yes and No", "`true`, `false`"),
    StepType.PHOTO: ("takes or chooses photos", "`null`; the evidence is in `photos`"),
    StepType.NUMBER: ("enters a number", "a number within bounds and decimals: `4.5`"),
    StepType.CHOICE: ("chooses one option", 'an option id: `"o-good"`'),
    StepType.TEXT: ("writes", "a string"),
    StepType.RATING: ("chooses a grade", "an integer within bounds: `4`"),
    StepType.MULTI_CHOICE: ("chooses any number of options", 'a list of option ids: `["o-helmet"]`'),
    StepType.DATE: ("chooses a day", '`"2026-11-21"`'),
    StepType.TIME: ("chooses a time of day", '`"13:50"`'),
    StepType.DATETIME: ("chooses day and time", '`"2026-11-21T13:50:00Z"`'),
    StepType.SIGNATURE: ("types their name, and may draw", '`{"name": "Ada Lovelace"}`'),
    StepType.SCAN: ("scans a barcode or QR code with the camera, if the browser can, or types it", "a string"),
    StepType.INSTRUCTION: ("only reads it", "takes no answer"),
}


def outputs() -> dict[Path, str]:
    head, mark, _ = DOCUMENT.read_text("utf-8").partition(_MARK)
    if not mark:
        raise Failure(f"{DOCUMENT} has no heading 'Reference' to write below")
    example = json.loads(re.findall(r"```json\n(.*?)```", head, re.DOTALL)[0])
    if problems := definition_problems(example, strict=True):
        raise Failure(f"{DOCUMENT}: the example is not valid: {problems[0]}")
    return {DOCUMENT: f"{head}{mark}\n{_NOTE}\n{_step_types()}{''.join(_tables())}".rstrip("\n") + "\n"}


def _step_types() -> str:
    rows = ["### Step types\n", "| `type` | the person | `value` of the answer | `config` | operators of conditions |"]
    rows.append("|---|---|---|---|---|")
    for kind in StepType:
        person, value = _TYPES[kind]
        fields = " ".join(f"`{name}`" for name in StepConfig.model_fields if name in kind.rules.config_fields)
        operators = " ".join(op for op in Operator if op in getattr(kind.rules, "operators", ()))
        rows.append(f"| `{kind}` | {person} | {value} | {fields} | {operators or 'none'} |")
    return "\n".join(rows) + "\n"


def _tables() -> Iterator[str]:
    for title, (model, note) in _MODELS.items():
        schema = model.model_json_schema()
        yield f"\n### {title}\n\n{note}| field | value | default | meaning |\n|---|---|---|---|\n"
        for name, field in schema["properties"].items():
            meaning = str(model.model_fields[name].description).replace("|", "\\|")
            default = "required" if name in schema.get("required", ()) else _default(field)
            yield f"| `{name}` | {_values(field, schema.get('$defs', {}))} | {default} | {meaning} |\n"


def _default(field: Mapping[str, Any]) -> str:
    default = field.get("default", {})
    return "" if isinstance(default, dict) else f"`{json.dumps(default)}`"


def _values(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Which values a field takes, from its JSON Schema."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return _values(definitions[name], definitions) if "enum" in definitions[name] else _link(name)
    branches = [each for name in ("anyOf", "oneOf", "allOf") for each in field.get(name, ())]
    if branches:
        return " or ".join(dict.fromkeys(_values(each, definitions) for each in branches))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field.get("enum", [field.get("const")]))
    kind = field.get("type")
    if kind == "array":
        most = f", at most {field['maxItems']:,}" if "maxItems" in field else ""
        return f"list: {_values(field['items'], definitions)}{most}"
    if kind == "string":
        if field.get("maxLength") == 66:
            return "id"
        return f"text, at most {field['maxLength']:,} characters" if "maxLength" in field else "text"
    if kind in ("number", "integer"):
        low, high = field.get("minimum", -MAX_NUMBER), field.get("maximum", MAX_NUMBER)
        return str(kind) + (f", {low:,} to {high:,}" if abs(high) < MAX_NUMBER else "")
    return {"boolean": "`true`, `false`", "null": "`null`"}.get(str(kind), "any")


def _link(name: str) -> str:
    for title, (model, _) in _MODELS.items():
        if model.__name__ == name:
            anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            return f"[{title.strip('`')}](#{anchor})"
    return _ELSEWHERE[name]
