"""Which steps apply and what is missing: against an oracle that was written another way, and case by case."""

import operator
from datetime import datetime, time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.tdl_strategies import GivenAnswer, answers_to, definitions

from checklist_crds.conditions import Progress, applicable_step_ids, is_answered, missing_required, progress
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
def test_the_steps_that_apply_are_those_of_the_oracle_and_progress_and_what_is_missing_agree(run: State) -> None:
    definition, answers, skipped = run
    tdl = definition.to_tdl()
    applicable = applicable_step_ids(definition, answers, skipped)
    assert applicable == {step.id for _, step in definition.steps() if oracle_applies(tdl, step.id, answers, skipped)}

    counted = progress(definition, answers, skipped)
    assert 0 <= counted.answered + counted.skipped <= counted.total
    missing = missing_required(definition, answers, skipped)
    assert all(step.required and step.id in applicable for step in missing)
    if counted.answered == counted.total:
        assert missing == []

    # Answers of steps that do not apply change nothing.
    left = {step_id: answer for step_id, answer in answers.items() if step_id in applicable}
    assert applicable_step_ids(definition, left, skipped) == applicable
    assert progress(definition, left, skipped) == counted


# --- operators


@pytest.mark.parametrize(
    ("kind", "answer", "met", "unmet"),
    [
        ("boolean", True, [("eq", True)], []),
        ("boolean", False, [("ne", True)], [("eq", True)]),
        ("number", 5, [("eq", 5.0)], []),
        ("number", 5.0, [("eq", 5)], []),
        ("number", 0.3, [("eq", 0.3)], []),
        ("number", 10, [("gt", 9)], []),
        ("number", 9, [("gte", 9), ("lt", 9.5)], [("gt", 9), ("lte", 8)]),
        ("number", 2, [("in", [1, 2.0])], []),
        ("number", 3, [("not_in", [1, 2])], [("in", [1, 2])]),
        ("rating", 2, [("lte", 2)], []),
        ("choice", "o-a", [("eq", "o-a")], []),
        ("choice", "o-ab", [("not_in", ["o-a", "o-b"])], [("eq", "o-a")]),
        ("choice", "o-b", [("in", ["o-a", "o-b"])], []),
        ("multi_choice", ["o-ab"], [], [("contains", "o-a")]),
        ("multi_choice", ["o-b", "o-a"], [("contains", "o-a")], []),
        ("multi_choice", ["o-b"], [("not_contains", "o-a")], []),
        ("text", "a leak at the tank", [("contains", "leak")], [("contains", "Leak")]),
        ("text", "dry", [("not_contains", "leak"), ("eq", "dry")], []),
        ("scan", "4006381333931", [], [("ne", "4006381333931")]),
        ("date", "2026-11-21", [("gt", "2026-02-03"), ("eq", "2026-11-21")], []),
        ("time", "13:50", [("lt", "13:50:30"), ("eq", "13:50:00")], []),
        (
            "datetime",
            "2026-11-21T13:50:00.000Z",
            [("eq", "2026-11-21T14:50:00+01:00"), ("lt", "2026-11-21T13:50:00-01:00")],
            [],
        ),
    ],
)
def test_a_comparison(kind: str, answer: Any, met: list[tuple[str, Any]], unmet: list[tuple[str, Any]]) -> None:
    source = {"type": kind, "config": OPTIONS if "choice" in kind else {}}
    definition = checklist(source, *(when("s-0", op, value) for op, value in met + unmet))
    expected = {f"s-{number}" for number in range(len(met) + 1)}
    assert applicable_step_ids(definition, {"s-0": GivenAnswer(answer)}, []) == expected


@pytest.mark.parametrize(
    ("kind", "op", "value", "answer"),
    [
        ("boolean", "ne", True, False),
        ("number", "not_in", [5], 1),
        ("text", "not_contains", "x", "a"),
        ("boolean", "exists", True, False),
        ("number", "lt", 10**15, 1),
    ],
)
def test_without_an_answer_or_with_a_skipped_one_every_operator_is_false(
    kind: str, op: str, value: Any, answer: Any
) -> None:
    definition = checklist({"type": kind}, when("s-0", op, value), when("s-0", "exists", False))
    answers = {"s-0": GivenAnswer(answer)}
    assert applicable_step_ids(definition, {}, []) == {"s-0", "s-2"}
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


def test_a_required_step_that_was_skipped_blocks_completion_and_a_required_instruction_does_not() -> None:
    definition = checklist({"required": True})
    assert progress(definition, {"s-0": GivenAnswer(True)}, ["s-0"]) == Progress(total=1, answered=0, skipped=1)
    assert [step.id for step in missing_required(definition, {"s-0": GivenAnswer(True)}, ["s-0"])] == ["s-0"]
    definition = checklist({"type": "instruction", "required": True, "photo": {"min": 1}})
    assert missing_required(definition, {}, []) == []
    assert progress(definition, {}, []) == Progress(total=0, answered=0, skipped=0)
