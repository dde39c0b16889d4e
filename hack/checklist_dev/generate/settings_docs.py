"""Generates docs/settings.md, and the chart's schema of settings, from the models of the programs.

`python -m checklist_dev.generate settings` writes the document; `--check` writes nothing and fails if it is not
current, or if the names in `checklist_crds.settings.names` differ from the models. `chart_files` puts the schema into
values.schema.json.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from checklist_api.settings.service import Settings as ApiSettings
from checklist_crds.settings import names
from checklist_crds.settings.declaring import Variable, variables
from checklist_crds.settings.reading import names_of
from checklist_crds.settings.table import default_of
from checklist_dev.repository import ROOT
from checklist_operator.settings import Settings as OperatorSettings

DOCUMENT: Final = ROOT / "docs" / "settings.md"
API, OPERATOR, BOTH = "API", "operator", "API, operator"
_TYPES: Final = {str: "text", int: "whole number", float: "number", bool: "switch", Path: "path"}
_HEAD: Final = """\
# Settings

<!-- Written by `python -m checklist_dev.generate settings`; `make check` compares. The models are the source:
     crds/checklist_crds/settings/, api/checklist_api/settings/service.py, operator/checklist_operator/settings.py -->

Every setting has one name: `CHECKLISTS_RATE_LIMIT` in the environment is `settings.rateLimit` in the chart's values.
You can give API and operator the same settings; each ignores those of the other. `checklist-api --help` and
`checklist-operator --help` print the same as this page.

- **Errors**: if a setting is missing, not valid, unknown or contradictory, the program ends with status 2 and one
  line that names every problem (with the name that you may have meant), never a secret.
- **Types**: a blank value means not set. A *switch* is `1`, `true`, `yes`, `on` or `0`, `false`, `no`, `off`.
  Separate the values of a list by commas; in the chart you can write a list.
- **Secrets**: `<name>_FILE` names a file whose content is the value. Outside a cluster you can use `<name>` itself,
  but not both. The chart takes secrets from Secrets, not from values.
- **Reload**: both programs read changed files of secrets and certificates (`..._CA_FILE`) within five seconds,
  without a restart. A changed Secret takes up to two minutes to reach a pod; do not mount it with `subPath`, because
  such a mount does not change. If a changed file is not valid, the previous value stays in use, and the log,
  `/metrics` (`checklists_setting_stale`) and `/readyz` of the API report it. To rotate keys, see
  [secrets.md](secrets.md).
- **Variables of Kubernetes** for Services in the namespace (`CHECKLISTS_SERVICE_HOST`,
  `CHECKLISTS_PORT=tcp://10.0.0.7:80` for a Service called `checklists`) are ignored.
- **Cluster**: `KUBECONFIG`, else `~/.kube/config`, else the pod's service account. **Photo store**: credentials have
  the names of the store's own tools ([photos.md](photos.md#where-photos-are-stored)).
"""


def document() -> str:
    """The content of docs/settings.md."""
    parts = [_HEAD]
    for title, rows in _sections():
        parts.append(
            f"\n## {title}\n\n| variable | `settings.` | of | type | default | meaning |\n|---|---|---|---|---|---|\n"
        )
        parts += [_row(variable, program) for variable, program in rows]
    return "".join(parts)


def chart_properties() -> dict[str, Any]:
    """JSON Schema of each value in the chart's `settings` block, which has everything but secrets."""
    found = {variable.chart_name: _schema(variable) for variable, _ in _everything() if not variable.secret}
    return dict(sorted(found.items()))


def chart_part() -> dict[str, Any]:
    """JSON Schema of that block. It is strict, so typos are rejected."""
    return {"type": "object", "additionalProperties": False, "properties": chart_properties()}


def _everything() -> list[tuple[Variable, str]]:
    api = {variable.name: variable for variable in variables(ApiSettings)}
    operator = {variable.name: variable for variable in variables(OperatorSettings)}
    rows = [(variable, BOTH if name in operator else API) for name, variable in api.items()]
    return rows + [(variable, OPERATOR) for name, variable in operator.items() if name not in api]


def _sections() -> Iterator[tuple[str, list[tuple[Variable, str]]]]:
    sections: dict[str, list[tuple[Variable, str]]] = {"Both programs": []}
    for variable, program in _everything():
        title = "Both programs" if program == BOTH else variable.group.title
        sections.setdefault(title, []).append((variable, program))
    yield from sections.items()


def _row(variable: Variable, program: str) -> str:
    name = f"`{variable.name}`"
    chart = f"`{variable.chart_name}`"
    if variable.secret:
        name, chart = f"`{variable.name}_FILE`", "a Secret"
    default = _default(variable, program)
    meaning = variable.description + (f" ({_bounds(variable)})" if _bounds(variable) else "")
    return f"| {name} | {chart} | {program} | {_type(variable)} | {default} | {_cell(meaning)} |\n"


def _default(variable: Variable, program: str) -> str:
    own = default_of(variable)
    if program == BOTH:
        other = default_of(next(one for one in variables(OperatorSettings) if one.name == variable.name))
        if other != own:
            return f"API: {_code(own)}; operator: {_code(other)}"
    return _code(own)


def _code(text: str) -> str:
    return (
        f"`{text}`"
        if re.fullmatch(r"[\w./:;,%+-]+( burst \d+|/day)?|\S+/h \S+/day", text)
        and text
        not in (
            "required",
            "none",
            "all",
            "off",
        )
        else _cell(text)
    )


def _type(variable: Variable) -> str:
    if variable.from_file:
        return "file"
    if variable.secret:
        return "secret"
    if variable.choices:
        return ", ".join(f"`{choice}`" for choice in variable.choices)
    return _TYPES.get(variable.type, "list" if _is_list(variable) else "text")


def _is_list(variable: Variable) -> bool:
    return any(part.get("type") == "array" for part in (variable.given_schema or {}).get("anyOf", ()))


def _bounds(variable: Variable) -> str:
    if variable.type not in (int, float) or not variable.bounds:
        return f"{variable.unit}" if variable.unit else ""
    expected = variable.expected.removeprefix("a whole number ").removeprefix("a number ")
    unit = f"{variable.unit}, " if variable.unit else ""
    return f"{unit}{expected}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _schema(variable: Variable) -> dict[str, Any]:
    schema = dict(variable.given_schema or _plain_schema(variable))
    unit = f", in {variable.unit}" if variable.unit else ""
    default = default_of(variable)
    suffix = "" if default in ("none", "required") else f" (default: {default})"
    return {"description": f"{variable.name}: {variable.description}{unit}{suffix}", **schema}


def _plain_schema(variable: Variable) -> Mapping[str, Any]:
    if variable.choices:
        return {"enum": list(variable.choices)}
    if variable.type is bool:
        return {"type": "boolean"}
    if variable.type in (int, float):
        names_ = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
        whole = {name: int(value) if float(value).is_integer() else value for name, value in variable.bounds.items()}
        return {
            "type": "integer" if variable.type is int else "number",
            **{names_[name]: value for name, value in whole.items()},
        }
    return {"type": "string", "minLength": 1}


def wrong_names() -> list[str]:
    """Differences between `checklist_crds.settings.names` and the models."""
    api, operator = names_of(variables(ApiSettings)), names_of(variables(OperatorSettings))
    lists = {
        "BOTH": (names.BOTH, api & operator),
        "API": (names.API, api - operator),
        "OPERATOR": (names.OPERATOR, operator - api),
    }
    return [
        f"checklist_crds.settings.names.{name}: {', '.join(sorted(listed ^ real))}"
        for name, (listed, real) in lists.items()
        if listed != real
    ]


def outputs() -> dict[Path, str]:
    return {DOCUMENT: document()}
