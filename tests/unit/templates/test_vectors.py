"""The vectors that the browser's core is held to, and the checklists in examples/templates."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.templates.tdl_strategies import GivenAnswer, valid_values

from checklist_crds.resources.template_definition import Operator, StepType
from checklist_crds.templates.answers import validate_value
from checklist_crds.templates.conditions import applicable_step_ids, is_answered, missing_required
from checklist_crds.templates.validation import definition_problems, parse_definition, runnable_problems
from checklist_dev.generate.executor_vectors import FILE, checklists, written
from checklist_dev.repository import ROOT

VECTORS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [case for case in VECTORS["cases"] if case["kind"] == kind]


def test_the_file_is_what_the_core_says_now() -> None:
    assert written() == FILE.read_text(encoding="utf-8"), "run: python -m checklist_dev.generate vectors"


def test_values_of_every_type_are_taken_and_refused_in_every_way() -> None:
    taken, refused, codes = set(), set(), set()
    for case in of_kind("value"):
        problems = case["expect"].get("problems", [])
        (refused if problems else taken).add(VECTORS["steps"][case["step"]]["type"])
        codes |= {code for _, code in problems}
    assert taken == set(StepType) - {StepType.INSTRUCTION}
    assert refused == set(StepType)
    assert codes == {
        *("blank", "duplicate_option", "invalid_format", "invalid_text", "missing", "no_answer", "out_of_range"),
        *("too_few", "too_long", "too_many", "too_many_decimals", "unknown_option", "wrong_type"),
    }


def test_every_operator_holds_and_fails_on_every_type_that_it_is_for() -> None:
    held: dict[tuple[StepType, Operator], set[bool]] = {}
    for case in of_kind("state"):
        definition = checklists()[case["checklist"]]
        types = {step.id: step.type for _, step in definition.steps()}
        for _, step in definition.steps():
            when = step.condition.when if step.condition else None
            if when is not None and when.step is not None and when.op is not None:
                key = (types[when.step], when.op)
                held.setdefault(key, set()).add(step.id in case["expect"]["applicable"])
    expected = {(kind, op) for kind in StepType for op in kind.rules.operators}
    assert {key for key, verdicts in held.items() if verdicts == {True, False}} == expected


FOLDER = ROOT / "examples" / "templates"
SOURCES = sorted(FOLDER.glob("*.json"))
each = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def load(source: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return document


@each
def test_an_example_is_strictly_valid_can_be_begun_and_says_the_same_as_its_manifest(source: Path) -> None:
    assert f"`{source.stem}`" in (FOLDER / "README.md").read_text(encoding="utf-8")
    assert definition_problems(load(source), strict=True) == []
    definition = parse_definition(load(source))
    assert runnable_problems(definition) == []
    assert missing_required(definition, {}, [])
    assert len(applicable_step_ids(definition, {}, [])) < len(list(definition.steps()))
    manifest = yaml.safe_load(source.with_suffix(".yaml").read_text(encoding="utf-8"))
    spec = manifest.pop("spec")
    assert manifest == {"apiVersion": "checklists.dev/v1", "kind": "Template", "metadata": {"name": source.stem}}
    assert spec.pop("organizationRef") == {"name": "my-organization"}
    assert spec == load(source)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
@each
def test_an_example_can_be_completed_whatever_is_answered(source: Path, data: st.DataObject) -> None:
    definition = parse_definition(load(source))
    answers: dict[str, GivenAnswer] = {}
    while missing := missing_required(definition, answers, []):
        step = missing[0]
        value = validate_value(step, data.draw(valid_values(step)))
        bounds = step.photo_bounds
        answers[step.id] = GivenAnswer(value, ["photo"] * (bounds.min if bounds else 0))
        assert is_answered(step, answers[step.id])
    assert len(answers) <= len(list(definition.steps()))
