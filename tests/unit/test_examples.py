"""The checklists in examples/templates: valid, the same in JSON and YAML, and together a tour of what TDL can say."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.tdl_strategies import GivenAnswer, valid_values

from checklist_crds.answers import validate_value
from checklist_crds.conditions import applicable_step_ids, is_answered, missing_required
from checklist_crds.step_bounds import photo_bounds
from checklist_crds.template_validation import definition_problems, parse_definition, runnable_problems

FOLDER = Path(__file__).parents[2] / "examples" / "templates"
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
        bounds = photo_bounds(step)
        answers[step.id] = GivenAnswer(value, ["photo"] * (bounds.min if bounds else 0))
        assert is_answered(step, answers[step.id])
    assert len(answers) <= len(list(definition.steps()))
