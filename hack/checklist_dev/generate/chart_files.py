"""Generates files of the chart: values.schema.json and README.md from values.yaml and the errors of the templates, the
definitions and their list in Chart.yaml from crds/, its versions from pyproject.toml (package, chart and image have one
version).

`python -m checklist_dev.generate chart` writes them; `--check` verifies that they are current. In values.yaml a comment
above each key is its description in both; `# @schema {...}` adds to its JSON schema what the default does not show. A
key without a comment is an error, so that every value is documented.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from checklist_dev.failures import Failure
from checklist_dev.generate import settings_docs
from checklist_dev.generate.chart_pod_parts import pod_parts
from checklist_dev.repository import CRDS, ROOT

CHART: Final = ROOT / "charts" / "checklist-dispatch"
_STRINGS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_DEFINITIONS: Final[dict[str, Any]] = {
    "strings": _STRINGS,
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "cidr": {"type": "string", "pattern": "^[0-9a-fA-F.:]+/[0-9]{1,3}$"},
    "resources": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
            for name in ("requests", "limits")
        },
    },
}
_TYPES: Final = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
_MARK: Final = "@schema"
_REFUSED: Final = """\
## What is refused

Rendering fails with one of these messages if values need or contradict each other, before anything is changed. Without
a cluster (`helm template`, Argo CD), existing claims, Secrets and definitions are unknown.

"""
_CRDS: Final = "  artifacthub.io/crds: |\n"
_VERSIONS: Final = re.compile(r"^version: .*\nappVersion: .*$", re.MULTILINE)
_FAIL: Final = re.compile(r'\bfail (?:\(printf )?"([^"]+)"')
_VERB: Final = re.compile("%[sd]")


@dataclass(slots=True)
class Value:
    """A key of values.yaml. `children`: None for a leaf, also for a mapping that is one value."""

    path: tuple[str, ...]
    description: str
    default: Any
    schema: dict[str, Any]
    children: list["Value"] | None = field(default=None)


def parse_values(text: str) -> list[Value]:
    """Raises Failure for a key without a comment or with an invalid schema."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise Failure("values.yaml is not a mapping")
    return _values_of(root, yaml.safe_load(text), text.splitlines(), ())


def _values_of(node: yaml.MappingNode, values: dict[str, Any], lines: list[str], path: tuple[str, ...]) -> list[Value]:
    found = []
    for key, child in node.value:
        here = (*path, key.value)
        description, schema = _comment_above(key.start_mark.line, lines, here)
        value = Value(here, description, values[key.value], schema)
        if isinstance(child, yaml.MappingNode) and not child.flow_style and not schema:
            value.children = _values_of(child, values[key.value], lines, here)
        found.append(value)
    return found


def _comment_above(line: int, lines: list[str], path: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    words: list[str] = []
    schema: dict[str, Any] = {}
    for text in reversed(lines[:line]):
        comment = text.strip()
        if not comment.startswith("#"):
            break
        comment = comment.removeprefix("#").strip()
        if comment.startswith(_MARK):
            try:
                schema = json.loads(comment.removeprefix(_MARK))
            except ValueError as error:
                raise Failure(f"values.yaml: the schema of {'.'.join(path)} is not JSON: {error}") from None
        else:
            words.insert(0, comment)
    if not words:
        raise Failure(f"values.yaml: {'.'.join(path)} has no comment")
    return " ".join(words), schema


def schema_of(values: list[Value]) -> dict[str, Any]:
    """A strict schema: unknown keys are rejected."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart checklist-dispatch",
        **_object_of(values),
        "$defs": {**_DEFINITIONS, **pod_parts()},
    }
    # From the models of the programs.
    schema["properties"]["settings"] = {**schema["properties"]["settings"], **settings_docs.chart_part()}
    # Helm passes this to subcharts.
    schema["properties"]["global"] = {"type": "object", "description": "Values of a parent chart."}
    return schema


def _object_of(values: list[Value]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {value.path[-1]: _schema_of(value) for value in values},
    }


def _schema_of(value: Value) -> dict[str, Any]:
    described = {"description": value.description}
    if value.children is not None:
        return {**described, **_object_of(value.children)}
    if "$ref" in value.schema:
        # Draft 7 ignores keywords next to a reference.
        return {**described, "allOf": [value.schema], "default": value.default}
    inferred = {"type": _type_of(value)} if "enum" not in value.schema else {}
    return {**described, **inferred, **value.schema, "default": value.default}


def _type_of(value: Value) -> str:
    if isinstance(value.default, dict):
        return "object"
    for kind, name in _TYPES:
        if isinstance(value.default, kind):
            return name
    if "type" not in value.schema:
        raise Failure(f"values.yaml: {'.'.join(value.path)} needs a type")
    return str(value.schema["type"])


def leaves(values: list[Value]) -> Iterator[Value]:
    for value in values:
        if value.children is None:
            yield value
        else:
            yield from leaves(value.children)


def table_of(values: list[Value]) -> str:
    """A section for each group of values, with a line for each value."""
    single = [value for value in values if value.children is None]
    groups = [value for value in values if value.children is not None]
    parts = [_lines_of("General", "", single)]
    parts += [_lines_of(f"`{group.path[0]}`", group.description, list(leaves([group]))) for group in groups]
    return "\n\n".join(parts)


def _lines_of(title: str, introduction: str, values: list[Value]) -> str:
    lines = [f"### {title}", ""]
    if introduction:
        lines += [introduction, ""]
    lines += ["| value | default | |", "|---|---|---|"]
    for value in values:
        default = json.dumps(value.default, ensure_ascii=False)
        lines.append(f"| `{'.'.join(value.path)}` | `{default}` | {_cell(value)} |")
    return "\n".join(lines)


def _cell(value: Value) -> str:
    text = value.description
    if choices := value.schema.get("enum"):
        missing = [str(choice) for choice in choices if f"`{choice}`" not in text]
        text += f" One of {', '.join(f'`{choice}`' for choice in missing)}." if missing else ""
    return text.replace("|", "\\|")


def refusals(chart: Path = CHART) -> list[str]:
    """The error messages of the templates; `...` stands for a name or a number."""
    texts = [file.read_text("utf-8") for file in sorted((chart / "templates").rglob("*.*"))]
    return sorted({_VERB.sub("...", words) for text in texts for words in _FAIL.findall(text)})


def _about_definitions() -> Iterator[str]:
    """A line for each kind, for Artifact Hub."""
    for file in sorted(CRDS.glob("*.yaml")):
        body = yaml.safe_load(file.read_text("utf-8"))
        kind, (version, *_) = body["spec"]["names"]["kind"], body["spec"]["versions"]
        summary = version["schema"]["openAPIV3Schema"]["description"].splitlines()[0]
        about = {"kind": kind, "version": version["name"], "name": body["metadata"]["name"], "displayName": kind}
        yield f"    - {json.dumps({**about, 'description': summary})}\n"


def generated(chart: Path = CHART) -> dict[Path, str]:
    """The content of each generated file."""
    values = parse_values((chart / "values.yaml").read_text("utf-8"))
    readme = (chart / "README.md").read_text("utf-8")
    head, mark, _ = readme.partition("## Values\n")
    if not mark:
        raise Failure(f"{chart / 'README.md'} has no heading 'Values' to write below")
    about, mark_of_crds, _ = (chart / "Chart.yaml").read_text("utf-8").partition(_CRDS)
    if not mark_of_crds:
        raise Failure(f"{chart / 'Chart.yaml'} has no annotation artifacthub.io/crds at its end")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    about = _VERSIONS.sub(f'version: {version}\nappVersion: "{version}"', about)
    refused = "".join(f"- {words}\n" for words in refusals(chart))
    files = {
        chart / "Chart.yaml": about + mark_of_crds + "".join(_about_definitions()),
        chart / "values.schema.json": json.dumps(schema_of(values), indent=2, ensure_ascii=False) + "\n",
        chart / "README.md": f"{head}{mark}\nGenerated from values.yaml; do not edit below.\n\n{table_of(values)}\n\n"
        f"{_REFUSED}{refused}",
    }
    for file in sorted(CRDS.glob("*.yaml")):
        files[chart / "files" / "crds" / file.name] = file.read_text("utf-8")
    return files


def leftovers(chart: Path = CHART) -> list[Path]:
    """Definitions of removed kinds."""
    return [file for file in (chart / "files" / "crds").glob("*.yaml") if not (CRDS / file.name).exists()]
