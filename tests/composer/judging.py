"""Rubrics and templates in a few words, for the tests of the judge."""

from typing import Any

import yaml

from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.validation import parse_definition
from checklist_dev.evaluation.batches import Prompt
from checklist_dev.evaluation.verdicts import judge

DOOR = "{say: door tight, type: yes}"
TEMPERATURE = "{say: temp, type: number, unit: °C, limit: '7'}"
STATE = "{say: shelf, type: one, options: [good, fair, bad]}"
PHOTO = "{say: photo seal, type: photo, when: [door tight, no]}"
SIGN = "{say: signature|leader, type: sign}"

A_DOOR = "{id: s-door, type: boolean, required: true, label: Is the door tight}"
A_NUMBER = "{id: s-temp, type: number, required: true, label: Temp (max. 7), config: {unit: °C}}"
A_STATE = (
    "{id: s-shelf, type: choice, required: true, label: Shelf, config: {options: ["
    "{id: o-g, label: Good}, {id: o-f, label: Fair}, {id: o-b, label: Bad}]}}"
)
A_PHOTO = "{id: s-photo, type: photo, required: true, label: Seal%s}"
A_SIGN = "{id: s-sign, type: signature, required: true, label: Shift leader}"


def when(step: str, op: str, value: Any) -> str:
    return f", condition: {{when: {{step: s-{step}, op: {op}, value: {value}}}}}"


IF_NO = when("door", "eq", "false")


def prompt_of(*items: str, **fields: Any) -> Prompt:
    read = [yaml.load(item, yaml.BaseLoader) for item in items]
    data = {"id": "A-en-01", "lang": "en", "trade": "cold store", "class": "plain", "checklist": bool(items)}
    return Prompt.model_validate(data | {"prompt": "Temp (max. 7 °C)", "items": read} | fields)


def template(*steps: str, sections: dict[str, list[str]] | None = None, **fields: Any) -> Definition:
    groups = {"Round": list(steps)} if sections is None else sections
    return parse_definition(
        {
            "name": "Cold store",
            "sections": [
                {"id": f"g-{index}", "title": title, "steps": [yaml.safe_load(step) for step in group]}
                for index, (title, group) in enumerate(groups.items())
            ],
            **fields,
        }
    )


def found(items: list[str], *steps: str, **fields: Any) -> str:
    """The verdict and its families, in one line."""
    verdict = judge(prompt_of(*items, **fields), template(*steps))
    assert len(verdict.reasons) == len(verdict.families)
    assert all(verdict.reasons)
    return " ".join([verdict.verdict, *sorted(set(verdict.families))])


def a(kind: str, label: str, more: str = "", *, required: bool = True) -> str:
    name = "-".join("".join(char if char.isalnum() else " " for char in label).split())
    return f"{{id: s-{name}, type: {kind}, required: {str(required).lower()}, label: '{label}'{more}}}"


def opts(*labels: str) -> str:
    options = ", ".join(f"{{id: o-{index}, label: '{label}'}}" for index, label in enumerate(labels))
    return f", config: {{options: [{options}]}}"
