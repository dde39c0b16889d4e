"""Regression: of prompts that are known, the composer's templates keep what they had. And how that is scored.

This says nothing of quality. That is measured with batches that no developer of the composer has seen, by
the verdicts on each first template: `make eval`.
"""

from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from checklist_composer.composing import Composition, NothingToCompose, compose
from checklist_crds.templates.validation import parse_definition
from checklist_dev.evaluation.cases import Case, load_cases
from checklist_dev.evaluation.report import LANGUAGE_FLOORS, OVERALL_FLOOR, Verdict, details
from checklist_dev.evaluation.scoring import Score, score_case

CASES = load_cases()


def test_the_templates_have_what_a_person_would_expect_in_every_language() -> None:
    verdict = Verdict([score_case(case, compose) for case in CASES])
    worst = details(sorted(verdict.scores, key=lambda score: score.value)[:12])
    print(f"{verdict.overall:.1%} of {len(CASES)} prompts")
    assert verdict.overall >= OVERALL_FLOOR, worst
    for language, floor in LANGUAGE_FLOORS.items():
        values = [score.value for score in verdict.scores if score.case.language == language]
        assert len(values) >= 20
        assert sum(values) / len(values) >= floor, f"{language}: {sum(values) / len(values):.1%}"


STEPS = """
- {id: s-fridge, type: number, label: Fridge temperature, config: {unit: °C, max: 5}}
- {id: s-condition, type: choice, required: true, label: Condition of the door, config: {options: [
    {id: o-1, label: Good}, {id: o-2, label: Broken}]}}
- {id: s-boss, type: boolean, label: Call the boss, condition: {when: {step: s-condition, op: eq, value: o-2}}}
"""


def scored(expected: dict[str, Any], steps: str = STEPS, **fields: Any) -> Score:
    section = {"id": "g-hall", "title": "Hall", "steps": yaml.safe_load(steps)}
    composition = Composition(parse_definition({"name": "Door", "sections": [section]}), "en", ())
    case = {"id": "x", "trade": "any", "kind": "list", "prompt": "Doors", "steps": [expected], **fields}
    return score_case(Case.model_validate(case), lambda prompt, locale: composition)


FRIDGE = {"say": "FRIDGE temp|window", "type": "number", "unit": "°C", "max": 5, "min": "none", "when": []}
CLAIM = "[{id: s-a, type: boolean, label: Fridge is HACCP compliant}]"


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        (FRIDGE, []),
        ({"say": "condition", "options": ["broken", "good"], "required": True, "in": "hall"}, []),
        ({"say": "boss", "when": [["condition", "broken", "good"]]}, []),
        ({"say": "window"}, ["step 'window'"]),
        ({"say": "fridge", "type": "boolean|text"}, ["'fridge': type boolean|text"]),
        ({"say": "fridge", "max": 4}, ["'fridge': max 4.0"]),
        ({"say": "condition", "options": ["good"]}, ["'condition': options ['good']"]),
        ({"say": "boss", "when": []}, ["'boss': when always"]),
    ],
)
def test_what_is_there_is_found_and_what_is_not_is_missing(expected: dict[str, Any], missing: list[str]) -> None:
    score = scored(expected)
    assert score.missing == missing
    assert (score.value == 1) is (missing == [])


def test_what_was_not_asked_for_or_is_untidy_is_a_wrong_extra_and_no_template_is_nothing() -> None:
    assert scored(FRIDGE, count=(1, 2), never=["boss"]).extras == ["more than 2 steps", "'boss': 'Call the boss'"]
    assert len(scored({"say": "fridge"}, CLAIM).extras) == 2
    assert scored({"say": "fridge"}, CLAIM, prompt="Is the fridge HACCP compliant?").extras == []
    assert scored({"say": "fridge"}, "[{id: s-a, type: boolean, label: '- fridge and'}]").value < 1
    case = Case(id="x", trade="any", kind="list", prompt="Doors")
    assert score_case(case, Mock(side_effect=NothingToCompose("nothing"))).value == 0
