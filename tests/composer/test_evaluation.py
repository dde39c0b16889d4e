"""The composer's templates have what a person would expect: the floor under `make eval`, and how it is scored."""

from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from checklist_composer.composing import Composition, NothingToCompose, compose
from checklist_crds.template_validation import parse_definition
from checklist_dev.evaluation.cases import Case, load_cases
from checklist_dev.evaluation.report import EACH_FLOOR, OVERALL_FLOOR, Verdict, details
from checklist_dev.evaluation.scoring import Score, score_case

CASES = load_cases()
LANGUAGES = ("en", "de", "es", "fr")


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return Verdict([score_case(case, compose) for case in CASES])


def test_the_templates_have_nine_tenths_of_what_a_person_would_expect(verdict: Verdict) -> None:
    assert verdict.overall >= OVERALL_FLOOR > EACH_FLOOR, details(
        sorted(verdict.scores, key=lambda score: score.value)[:12]
    )


def test_no_template_lacks_more_than_a_quarter_of_what_a_person_would_expect(verdict: Verdict) -> None:
    assert verdict.low == [], details(verdict.low)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_language_falls_behind(verdict: Verdict, language: str) -> None:
    scores = [score for score in verdict.scores if score.case.language == language]
    assert sum(score.value for score in scores) / len(scores) >= OVERALL_FLOOR - 0.05, details(scores, below=0.85)


def test_the_prompts_are_many_and_each_expects_something_of_its_own() -> None:
    def features(case: Case) -> int:
        return len(case.steps) + len(case.sections) + (case.count is not None) + len(case.never) + bool(case.name)

    assert len(CASES) >= 80
    assert {case.language for case in CASES} == set(LANGUAGES)
    assert {case.kind for case in CASES} == {"job", "sentence", "list", "procedure", "messy", "mixed"}
    assert [case.id for case in CASES if features(case) < 2] == []


# -- what counts as found, and what as a wrong extra -------------------------------------------------------------------


STEPS = """
- {id: s-fridge, type: number, label: Fridge temperature, config: {unit: °C, max: 5}}
- {id: s-condition, type: choice, required: true, label: Condition of the door, config: {options: [
    {id: o-1, label: Good}, {id: o-2, label: Broken}]}}
- {id: s-damage, type: boolean, label: "Is the door damaged?"}
- {id: s-photo, type: photo, label: Photos of the damage, config: {min: 2}, condition: {
    when: {step: s-damage, op: ne, value: false}}}
- {id: s-call, type: boolean, label: Call the boss, condition: {when: {any: [
    {step: s-fridge, op: gt, value: 8}, {step: s-condition, op: in, value: [o-2]}]}}}
"""


def _score(expected: list[dict[str, Any]], steps: str = STEPS, **fields: Any) -> Score:
    sections = [{"id": "g-hall", "title": "Hall", "steps": yaml.safe_load(steps)}, *fields.pop("more_sections", ())]
    composition = Composition(parse_definition({"name": "Door", "sections": sections}), "en", ())
    case = {"id": "x", "trade": "any", "kind": "list", "prompt": "Doors", "steps": expected, **fields}
    return score_case(Case.model_validate(case), lambda prompt, locale: composition)


@pytest.mark.parametrize(
    "expected",
    [
        {"say": "FRIDGE temp|window", "type": "number", "unit": "°C", "max": 5, "min": "none", "when": []},
        {"say": "damage", "in": "hall", "type": "photo", "photos": 2, "when": [["door damaged", True, False]]},
        {"say": "condition", "options": ["broken", "good"], "required": True},
        {"say": "boss", "when": [["window", True, False], ["condition", "broken", "good"]]},
    ],
)
def test_what_is_there_is_found(expected: dict[str, Any]) -> None:
    score = _score([expected])
    assert (score.missing, score.value) == ([], 1)


@pytest.mark.parametrize(
    ("say", "field", "missing"),
    [
        ("window", {}, "step 'window'"),
        ("fridge", {"type": "boolean|text"}, "'fridge': type boolean|text"),
        ("fridge", {"unit": "°F"}, "'fridge': unit °F"),
        ("fridge", {"max": 4}, "'fridge': max 4.0"),
        ("condition", {"required": False}, "'condition': required False"),
        ("fridge", {"in": "kitchen"}, "'fridge': in section 'kitchen'"),
        ("fridge", {"photos": "any"}, "'fridge': photos any"),
        ("condition", {"options": ["good"]}, "'condition': options ['good']"),
        ("photo", {"when": [["door damaged", False, True]]}, "'photo': when [['door damaged', False, True]]"),
        ("photo", {"when": []}, "'photo': when always"),
        ("boss", {"when": [["fridge", 8, 7]]}, "'boss': when [['fridge', 8, 7]]"),
    ],
)
def test_what_is_not_there_is_missing(say: str, field: dict[str, Any], missing: str) -> None:
    score = _score([{"say": say, **field}])
    assert score.missing == [missing]
    assert score.value < 1


def test_one_step_is_found_for_one_expectation_only() -> None:
    assert _score([{"say": "fridge"}, {"say": "fridge"}]).missing == ["step 'fridge'"]
    assert _score([{"say": "fridge"}, {"say": "fridge", "shared": True}]).missing == []


TWICE = "[{id: s-a, type: text, label: Hall fridge}, {id: s-b, type: text, label: hall  fridge}]"
CLAIM = "[{id: s-a, type: boolean, label: Kitchen is HACCP compliant}]"
MORE = [{"id": f"g-{title}", "title": title, "steps": []} for title in ("Roof", "Least")]


@pytest.mark.parametrize(
    ("steps", "fields", "extras"),
    [
        (STEPS, {"count": (1, 3)}, ["more than 3 steps"] * 2),
        (STEPS, {"never": ["boss", "window"]}, ["'boss': 'Call the boss'"]),
        (TWICE, {}, ["twice: 'hall fridge'"]),
        (CLAIM, {"prompt": "Is the kitchen HACCP compliant?"}, []),
        ("[]", {"kind": "sentence", "sections": ["hall"], "more_sections": MORE}, ["section 'Least'"]),
        ("[]", {"kind": "job", "sections": ["hall"], "more_sections": MORE}, []),
    ],
)
def test_what_was_not_asked_for_is_a_wrong_extra(steps: str, fields: dict[str, Any], extras: list[str]) -> None:
    assert _score([], steps, **fields).extras == extras


def test_a_claim_of_compliance_that_the_prompt_does_not_make_is_a_wrong_extra() -> None:
    assert len(_score([], CLAIM).extras) == 2


@pytest.mark.parametrize(
    ("label", "is_tidy"),
    [
        *((label, True) for label in ("pH of the water", "Is it closed?", "2 tables set", "Waste is dealt with")),
        *((label, False) for label in ("fridge closed", "- Fridge", "1. Fridge", "And the fridge", "Fridge:")),
        *((label, False) for label in ("Check the the fridge", "Fridge and", "Fridge " * 20)),
    ],
)
def test_a_label_that_is_not_written_like_one_is_untidy(label: str, is_tidy: bool) -> None:
    steps = yaml.safe_dump([{"id": "s-x", "type": "boolean", "label": label}])
    assert (_score([], steps).missing == []) is is_tidy


@pytest.mark.parametrize("error", [NothingToCompose("nothing"), IndexError("a bug of the composer")])
def test_nothing_composed_is_nothing_found(error: Exception) -> None:
    score = score_case(Case(id="x", trade="any", kind="list", prompt="Doors"), Mock(side_effect=error))
    assert (score.value, score.missing) == (0, [f"a template, not {error!r}"])
