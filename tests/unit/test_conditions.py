"""Which steps apply and what is missing: against an oracle that was written another way, and case by case."""

import operator
from datetime import datetime, time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.tdl_strategies import GivenAnswer, answers_to, definitions

from checklist_crds.conditions import (
    Progress,
    applicable_step_ids,
    has_value,
    is_answered,
    missing_required,
    progress,
)
from checklist_crds.template_types import Definition
from checklist_crds.template_validation import parse_definition

many = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])

OPTIONS = {"options": [{"id": "o-a", "label": "A"}, {"id": "o-b", "label": "B"}, {"id": "o-ab", "label": "AB"}]}
State = tuple[Definition, dict[str, GivenAnswer], list[str]]
HERE = {"lat": 1.0, "lng": 2.0, "accuracy_m": 3.0}


def checklist(*steps: dict[str, Any], **fields: Any) -> Definition:
    named = [{"id": f"s-{index}", "type": "boolean", "label": "Label"} | step for index, step in enumerate(steps)]
    return parse_definition({"name": "N", "sections": [{"id": "g-1", "title": "T", "steps": named}]} | fields)


def when(step: str, op: str, value: Any) -> dict[str, Any]:
    return {"condition": {"when": {"step": step, "op": op, "value": value}}}


@st.composite
def runs(draw: st.DrawFn) -> State:
    definition = parse_definition(draw(definitions(max_steps=7)))
    answers, skipped = draw(answers_to(definition))
    return definition, answers, skipped


# --- the oracle: by recursion from the step to its sources, on plain JSON, with other means of comparing


def oracle_applies(tdl: dict[str, Any], step_id: str, answers: dict[str, GivenAnswer], skipped: list[str]) -> bool:
    steps = {step["id"]: step for section in tdl["sections"] for step in section["steps"]}

    def applies(identifier: str) -> bool:
        condition = steps[identifier].get("condition")
        return condition is None or met(condition["when"])

    def met(part: dict[str, Any]) -> bool:
        for name, combine in (("all", all), ("any", any)):
            if name in part:
                return combine([met(member) for member in part[name]])
        there = given(part["step"])
        if part["op"] == "exists":
            return there == part["value"]
        return there and compare(steps[part["step"]]["type"], answers[part["step"]].value, part["op"], part["value"])

    def given(identifier: str) -> bool:
        answer = answers.get(identifier)
        if answer is None or identifier in skipped or not applies(identifier):
            return False
        kind = steps[identifier]["type"]
        if kind == "photo":
            return bool(answer.photos)
        if kind in {"text", "scan"}:
            return bool(answer.value.strip(" \u200b")) and any(
                c.isprintable() and not c.isspace() for c in answer.value
            )
        return answer.value is not None

    return applies(step_id)


def compare(kind: str, left: Any, op: str, right: Any) -> bool:
    if op == "in":
        return any(compare(kind, left, "eq", item) for item in right)
    if op == "not_in":
        return all(compare(kind, left, "ne", item) for item in right)
    if op in {"contains", "not_contains"}:
        held = left.count(right) > 0 if right != "" else True
        return held if op == "contains" else not held
    if kind == "datetime":
        left, right = (datetime.fromisoformat(text.upper()).timestamp() for text in (left, right))
        left, right = round(left * 1000), round(right * 1000)
    elif kind == "time":
        left, right = time.fromisoformat(left), time.fromisoformat(right)
    names = {"eq": "eq", "ne": "ne", "gt": "gt", "gte": "ge", "lt": "lt", "lte": "le"}
    return bool(getattr(operator, names[op])(left, right))


@many
@given(runs())
def test_the_steps_that_apply_are_those_of_the_oracle(run: State) -> None:
    definition, answers, skipped = run
    tdl = definition.to_tdl()
    expected = {step.id for _, step in definition.steps() if oracle_applies(tdl, step.id, answers, skipped)}
    assert applicable_step_ids(definition, answers, skipped) == expected


@many
@given(runs())
def test_progress_and_what_is_missing_agree(run: State) -> None:
    definition, answers, skipped = run
    counted = progress(definition, answers, skipped)
    assert 0 <= counted.answered + counted.skipped <= counted.total
    missing = missing_required(definition, answers, skipped)
    applicable = applicable_step_ids(definition, answers, skipped)
    assert all(step.required and step.id in applicable for step in missing)
    if counted.answered == counted.total:
        assert missing == []


@many
@given(runs())
def test_answers_of_steps_that_do_not_apply_change_nothing(run: State) -> None:
    definition, answers, skipped = run
    applicable = applicable_step_ids(definition, answers, skipped)
    left = {step_id: answer for step_id, answer in answers.items() if step_id in applicable}
    assert applicable_step_ids(definition, left, skipped) == applicable
    assert progress(definition, left, skipped) == progress(definition, answers, skipped)


# --- operators


@pytest.mark.parametrize(
    ("kind", "answer", "op", "value", "applies"),
    [
        ("boolean", True, "eq", True, True),
        ("boolean", False, "eq", True, False),
        ("boolean", False, "ne", True, True),
        ("number", 5, "eq", 5.0, True),
        ("number", 5.0, "eq", 5, True),
        ("number", 0.3, "eq", 0.3, True),
        ("number", 10, "gt", 9, True),
        ("number", 9, "gt", 9, False),
        ("number", 9, "gte", 9, True),
        ("number", 9, "lt", 9.5, True),
        ("number", 9, "lte", 8, False),
        ("number", 2, "in", [1, 2.0], True),
        ("number", 3, "in", [1, 2], False),
        ("number", 3, "not_in", [1, 2], True),
        ("rating", 2, "lte", 2, True),
        ("choice", "o-a", "eq", "o-a", True),
        ("choice", "o-ab", "eq", "o-a", False),
        ("choice", "o-b", "in", ["o-a", "o-b"], True),
        ("choice", "o-ab", "not_in", ["o-a", "o-b"], True),
        ("multi_choice", ["o-ab"], "contains", "o-a", False),
        ("multi_choice", ["o-b", "o-a"], "contains", "o-a", True),
        ("multi_choice", ["o-b"], "not_contains", "o-a", True),
        ("text", "a leak at the tank", "contains", "leak", True),
        ("text", "a leak at the tank", "contains", "Leak", False),
        ("text", "dry", "not_contains", "leak", True),
        ("text", "dry", "eq", "dry", True),
        ("scan", "4006381333931", "ne", "4006381333931", False),
        ("date", "2026-11-21", "gt", "2026-02-03", True),
        ("date", "2026-11-21", "eq", "2026-11-21", True),
        ("time", "13:50", "lt", "13:50:30", True),
        ("time", "13:50", "eq", "13:50:00", True),
        ("datetime", "2026-11-21T13:50:00.000Z", "eq", "2026-11-21T14:50:00+01:00", True),
        ("datetime", "2026-11-21T13:50:00.000Z", "lt", "2026-11-21T13:50:00-01:00", True),
    ],
)
def test_a_comparison(kind: str, answer: Any, op: str, value: Any, applies: bool) -> None:
    source = {"type": kind, "config": OPTIONS if "choice" in kind else {}}
    definition = checklist(source, when("s-0", op, value))
    assert ("s-1" in applicable_step_ids(definition, {"s-0": GivenAnswer(answer)}, [])) is applies


NEGATIVE = [
    ("boolean", "ne", True),
    ("number", "not_in", [5]),
    ("text", "not_contains", "x"),
    ("boolean", "exists", True),
    ("number", "lt", 10**15),
]


@pytest.mark.parametrize(("kind", "op", "value"), NEGATIVE)
def test_without_an_answer_every_operator_is_false(kind: str, op: str, value: Any) -> None:
    definition = checklist({"type": kind}, when("s-0", op, value), when("s-0", "exists", False))
    assert applicable_step_ids(definition, {}, []) == {"s-0", "s-2"}


@pytest.mark.parametrize(("kind", "op", "value"), NEGATIVE)
def test_a_skipped_source_counts_as_unanswered(kind: str, op: str, value: Any) -> None:
    definition = checklist({"type": kind}, when("s-0", op, value), when("s-0", "exists", False))
    answers = {"s-0": GivenAnswer({"boolean": False, "number": 1, "text": "a"}[kind])}
    assert applicable_step_ids(definition, answers, []) == {"s-0", "s-1"}
    assert applicable_step_ids(definition, answers, ["s-0"]) == {"s-0", "s-2"}


def test_a_source_that_does_not_apply_counts_as_unanswered_though_its_answer_is_kept() -> None:
    definition = checklist(
        {}, when("s-0", "eq", True), when("s-1", "eq", False), when("s-1", "ne", True), when("s-1", "exists", False)
    )
    answers = {"s-0": GivenAnswer(True), "s-1": GivenAnswer(False)}
    assert applicable_step_ids(definition, answers, []) == {"s-0", "s-1", "s-2", "s-3"}
    answers["s-0"] = GivenAnswer(False)
    assert applicable_step_ids(definition, answers, []) == {"s-0", "s-4"}


def test_groups_combine_comparisons_two_levels_deep() -> None:
    def leaf(step: str) -> dict[str, Any]:
        return {"step": step, "op": "eq", "value": True}

    both_or_last = {"any": [{"all": [leaf("s-0"), leaf("s-1")]}, leaf("s-2")]}
    definition = checklist({}, {}, {}, {"condition": {"when": both_or_last}})

    def applies(*values: bool) -> bool:
        answers = {f"s-{index}": GivenAnswer(value) for index, value in enumerate(values)}
        return "s-3" in applicable_step_ids(definition, answers, [])

    assert applies(True, True, False)
    assert applies(False, False, True)
    assert not applies(True, False, False)
    assert not applies()


def test_a_photo_or_signature_can_be_asked_for_being_there() -> None:
    definition = checklist(
        {"type": "photo", "config": {"min": 2}},
        {"type": "signature"},
        when("s-0", "exists", True),
        when("s-1", "exists", True),
    )
    answers = {"s-0": GivenAnswer(None, ["one"]), "s-1": GivenAnswer({"name": "A"})}
    assert applicable_step_ids(definition, answers, []) == {"s-0", "s-1", "s-2", "s-3"}
    assert applicable_step_ids(definition, {"s-0": GivenAnswer(None)}, []) == {"s-0", "s-1"}


def test_a_follow_up_question_does_not_wait_for_the_photos_of_its_source() -> None:
    definition = checklist({"photo": {"min": 1}}, when("s-0", "eq", False))
    answers = {"s-0": GivenAnswer(False)}
    assert applicable_step_ids(definition, answers, []) == {"s-0", "s-1"}
    assert progress(definition, answers, []).answered == 0


# --- answered, progress, missing


def the_step(**step: Any) -> Any:
    return next(step for _, step in checklist(step).steps())


@pytest.mark.parametrize(
    ("step", "answer", "answered"),
    [
        ({}, None, False),
        ({}, GivenAnswer(False), True),
        ({"photo": {"min": 2}}, GivenAnswer(True, ["one"]), False),
        ({"photo": {"min": 2}}, GivenAnswer(True, ["one", "two"]), True),
        ({"photo": {"min": 0}}, GivenAnswer(True), True),
        ({"photo": {"min": 1}}, GivenAnswer(None, ["one"]), False),
        ({"type": "photo"}, GivenAnswer(None), False),
        ({"type": "photo"}, GivenAnswer(None, ["one"]), True),
        ({"type": "photo", "config": {"min": 0}}, GivenAnswer(None), False),
        ({"type": "photo", "config": {"min": 2}}, GivenAnswer(None, ["one"]), False),
        ({"type": "photo", "photo": {"min": 2}}, GivenAnswer(None, ["one"]), False),
        ({"type": "photo", "photo": {"min": 2}, "config": {"min": 1}}, GivenAnswer(None, ["one"]), True),
        ({"type": "text"}, GivenAnswer(" "), False),
        ({"type": "text"}, GivenAnswer("0"), True),
        ({"type": "number"}, GivenAnswer(0), True),
        ({"type": "multi_choice", "config": OPTIONS}, GivenAnswer([]), True),
        ({"geo": True}, GivenAnswer(True), True),
        ({"geo": True, "geo_required": True}, GivenAnswer(True), False),
        ({"geo": True, "geo_required": True}, GivenAnswer(True, [], HERE), True),
        ({"type": "instruction"}, GivenAnswer(True), False),
    ],
)
def test_when_a_step_is_answered(step: dict[str, Any], answer: GivenAnswer | None, answered: bool) -> None:
    assert is_answered(the_step(**step), answer) is answered


def test_a_value_is_enough_for_conditions_even_where_photos_are_missing() -> None:
    step = the_step(photo={"min": 1})
    assert has_value(step, GivenAnswer(True))
    assert not is_answered(step, GivenAnswer(True))


def test_progress_counts_what_applies_and_can_be_answered() -> None:
    definition = checklist({"type": "instruction"}, {}, when("s-1", "eq", True), {}, {})
    assert progress(definition, {}, []) == Progress(total=3, answered=0, skipped=0)
    assert progress(definition, {"s-1": GivenAnswer(True)}, ["s-3"]) == Progress(total=4, answered=1, skipped=1)
    # The answer of a step that stopped applying is kept, and counts no more.
    answers = {"s-1": GivenAnswer(False), "s-2": GivenAnswer(True)}
    assert progress(definition, answers, []) == Progress(total=3, answered=1, skipped=0)


def test_only_required_steps_that_apply_are_missing_and_in_order() -> None:
    required = {"required": True}
    definition = checklist(required, required | when("s-0", "eq", False), {}, required)

    def missing(answers: dict[str, GivenAnswer]) -> list[str]:
        return [step.id for step in missing_required(definition, answers, [])]

    assert missing({}) == ["s-0", "s-3"]
    assert missing({"s-0": GivenAnswer(False)}) == ["s-1", "s-3"]
    assert missing({"s-0": GivenAnswer(True), "s-3": GivenAnswer(False)}) == []


def test_a_skipped_step_is_neither_answered_nor_enough_where_it_is_required() -> None:
    definition = checklist({"required": True})
    answers = {"s-0": GivenAnswer(True)}
    assert progress(definition, answers, ["s-0"]) == Progress(total=1, answered=0, skipped=1)
    assert [step.id for step in missing_required(definition, answers, ["s-0"])] == ["s-0"]


def test_an_instruction_never_blocks_completion_not_even_a_required_one() -> None:
    definition = checklist({"type": "instruction", "required": True, "photo": {"min": 1}})
    assert missing_required(definition, {}, []) == []
    assert progress(definition, {}, []) == Progress(total=0, answered=0, skipped=0)
