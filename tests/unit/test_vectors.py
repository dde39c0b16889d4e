"""The vectors that the browser's core is held to: they are what the Python core says, and leave nothing out."""

import json
from typing import Any

import pytest

from checklist_crds.condition_rules import OPERATORS
from checklist_crds.template_types import Operator, StepType
from checklist_dev.vectors.vectors import FILE, checklists, verdict_on, written

VECTORS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = VECTORS["cases"]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["kind"] == kind]


def codes_of(kind: str) -> set[str]:
    return {code for case in of_kind(kind) for _, code in case["expect"].get("problems", ())}


def test_the_file_is_what_the_core_says_now() -> None:
    assert written() == FILE.read_text(encoding="utf-8"), "run: python -m checklist_dev.vectors"


@pytest.mark.parametrize("kind", ["value", "location", "identity", "state", "skip"])
def test_every_case_as_it_stands_in_the_file_is_true(kind: str) -> None:
    wrong = [case for case in of_kind(kind) if verdict_on(case) != case["expect"]]
    assert not wrong
    assert of_kind(kind)


def test_there_are_at_least_600_cases_and_none_of_them_twice() -> None:
    texts = {json.dumps({**case, "expect": None}) for case in CASES}
    assert len(texts) == len(CASES) >= 600


def test_every_type_of_step_has_an_answer_that_is_taken_and_one_that_is_not() -> None:
    taken, refused = set(), set()
    for case in of_kind("value"):
        kind = VECTORS["steps"][case["step"]]["type"]
        (refused if "problems" in case["expect"] else taken).add(kind)
    assert taken == set(StepType) - {StepType.INSTRUCTION}
    assert refused == set(StepType)


def test_every_way_in_which_an_answer_can_be_wrong_is_there() -> None:
    assert codes_of("value") == {
        *("blank", "duplicate_option", "invalid_format", "invalid_text", "missing", "no_answer", "out_of_range"),
        *("too_few", "too_long", "too_many", "too_many_decimals", "unknown_option", "wrong_type"),
    }
    assert codes_of("location") == {"missing", "out_of_range", "wrong_type"}
    assert codes_of("identity") == {"blank", "invalid_format", "invalid_text", "too_long"}


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
    expected = {(kind, op) for kind, operators in OPERATORS.items() for op in operators}
    assert {key for key, verdicts in held.items() if verdicts == {True, False}} == expected


def test_some_runs_are_finished_and_some_lack_photos_or_places() -> None:
    states = of_kind("state")
    assert any(case["expect"]["missing"] == [] and case["expect"]["progress"]["answered"] for case in states)
    evidence = [case for case in states if case["checklist"] == "evidence"]
    for step_id in ("s-damage", "s-photos", "s-photos-from-photo", "s-place", "s-photo-and-place"):
        given = [case for case in evidence if step_id in case["answers"]]
        assert {step_id in case["expect"]["answered"] for case in given} == {True, False}, step_id
