"""The shared vectors, `tests/vectors/executor.json`: answers and runs, with the results of the Python core.

pytest (`tests/unit/templates/test_vectors.py`) and vitest (`api/web/core/vectors.test.ts`) run the same file. It is
input and output of `python -m checklist_dev.generate vectors`, which computes `expect` of every case again. To add a
case, write its line without `expect`, and its step or checklist if it needs a new one.

```
{"steps": {name: step as TDL}, "checklists": {name: template as TDL}, "photo_refusals": [code], "cases": [case, ...]}

{"kind": "value", "step": name, "value": any, "expect": {"value", "display"} | {"problems": [[path, code]]}}
{"kind": "location", "geo": any, "expect": {"problems": [[path, code]]}}
{"kind": "identity", "name": text, "email": text, "expect": {"problems": [[path, code]]}}
{"kind": "flag", "step": name, "value": any, "today": day, "expect": {"flagged": boolean}}
{"kind": "state", "checklist": name,
 "answers": {step id: {"value", "photos": how many, "geo", and optional "flagged", "note"}}, "skipped": [step id],
 "expect": {"applicable": [step id], "answered": [step id], "progress": {...}, "missing": [step id]}}
{"kind": "skip", "checklist": name, "step": step id, "expect": {"allowed": boolean}}
```

`answered`: steps with a sufficient answer, whether they apply or not; ids of steps are in the checklist's order.
`allowed` is for a run without answers.
"""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Final

from checklist_api.executor.commands import give_identity
from checklist_api.photos.refusals import RefusalCode
from checklist_crds.errors import NotFound, Problem, Unprocessable
from checklist_crds.resources.run import Run
from checklist_crds.resources.template_definition import Definition, Step
from checklist_crds.runs.commands import SkipStep
from checklist_crds.runs.lifecycle import decide
from checklist_crds.templates.answers import display_value, is_flagged, validate_geo, validate_value
from checklist_crds.templates.conditions import applicable_step_ids, is_answered, missing_required, progress
from checklist_crds.templates.validation import parse_definition
from checklist_dev.repository import ROOT

FILE: Final = ROOT / "tests" / "vectors" / "executor.json"
_NOW: Final = datetime(2026, 11, 21, 12, tzinfo=UTC)

Case = dict[str, Any]


@cache
def _inputs() -> Mapping[str, Any]:
    """The file as it is."""
    found: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@cache
def steps() -> Mapping[str, Step]:
    """The steps for values, by name."""
    found = {}
    for name, fields in _inputs()["steps"].items():
        written = {"id": "s-1", "label": name, **fields}
        definition = parse_definition({"name": name, "sections": [{"id": "g-1", "title": "T", "steps": [written]}]})
        found[name] = next(step for _, step in definition.steps())
    return found


@cache
def checklists() -> Mapping[str, Definition]:
    """The checklists for states, by name; some are from the examples."""
    return {name: parse_definition(data) for name, data in _inputs()["checklists"].items()}


def document() -> dict[str, Any]:
    """The whole file with the current results."""
    return {
        "steps": {name: step.model_dump(mode="json") for name, step in steps().items()},
        "checklists": {name: definition.to_tdl() for name, definition in checklists().items()},
        "photo_refusals": [code.value for code in RefusalCode],
        "cases": [{**case, "expect": verdict_on(case)} for case in _inputs()["cases"]],
    }


def written() -> str:
    """The file's text: one step, checklist or case per line, for readable diffs."""
    data = document()
    lines = ["{"]
    for name in ("steps", "checklists"):
        members = [f"{_text(key)}: {_text(value)}" for key, value in data[name].items()]
        lines += [f'"{name}": {{', ",\n".join(members), "},"]
    lines += [f'"photo_refusals": {_text(data["photo_refusals"])},']
    lines += ['"cases": [', ",\n".join(_text(case) for case in data["cases"]), "]", "}"]
    return "\n".join(lines) + "\n"


def verdict_on(case: Case) -> dict[str, Any]:
    """The result of the Python core for a case, ignoring the expected one."""
    match case["kind"]:
        case "value":
            return _value_verdict(steps()[case["step"]], case["value"])
        case "location":
            return _problems_of(lambda: validate_geo(case["geo"]))
        case "identity":
            body = {"name": case["name"], "email": case["email"]}
            return _problems_of(lambda: give_identity(body, None))
        case "flag":
            step = steps()[case["step"]]
            value = validate_value(step, case["value"])
            return {"flagged": is_flagged(step, value, date.fromisoformat(case["today"]))}
        case "state":
            return _state_verdict(case)
        case "skip":
            return {"allowed": _may_skip(checklists()[case["checklist"]], case["step"])}
    raise ValueError(f"unknown kind of case {case['kind']!r}")


class _ReadAnswer:
    """An answer as written in the file."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.value, self.geo = data["value"], data["geo"]
        self.photos = ["photo"] * data["photos"]
        self.flagged, self.note = data.get("flagged", False), data.get("note")


def _state_verdict(case: Case) -> dict[str, Any]:
    definition = checklists()[case["checklist"]]
    answers = {step_id: _ReadAnswer(answer) for step_id, answer in case["answers"].items()}
    skipped = case["skipped"]
    applicable = applicable_step_ids(definition, answers, skipped)
    counted = progress(definition, answers, skipped)
    return {
        "applicable": [step.id for _, step in definition.steps() if step.id in applicable],
        "answered": [step.id for _, step in definition.steps() if is_answered(step, answers.get(step.id))],
        "progress": {"total": counted.total, "answered": counted.answered, "skipped": counted.skipped},
        "missing": [step.id for step in missing_required(definition, answers, skipped)],
    }


def _value_verdict(step: Step, value: Any) -> dict[str, Any]:
    try:
        normal = validate_value(step, value)
    except Unprocessable as error:
        return {"problems": _problems(error)}
    return {"value": normal, "display": display_value(step, normal)}


def _problems_of(check: Any) -> dict[str, Any]:
    try:
        check()
    except Unprocessable as error:
        return {"problems": _problems(error)}
    return {"problems": []}


def _problems(error: Unprocessable) -> list[list[str]]:
    return [[problem.path, problem.code] for problem in error.details or () if isinstance(problem, Problem)]


def _may_skip(definition: Definition, step_id: str) -> bool:
    resolved = {
        "organization": "acme",
        "templateId": "t-1",
        "templateVersion": 1,
        "templateName": definition.name,
        "revisionRef": {"name": "revision"},
        "identityMode": definition.identity_mode,
        "stepCount": 1,
        "applicableSteps": 1,
    }
    metadata = {"name": "r-1", "uid": "uid-1", "namespace": "ns"}
    run = Run.parse({"metadata": metadata, "spec": {"createdAt": _NOW, "resolved": resolved}})
    try:
        decide(run, definition, SkipStep(step_id=step_id), _NOW)
    except (Unprocessable, NotFound):
        return False
    return True


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
