"""The vectors that the browser's core is held to: they are what the Python core says, and leave nothing out."""

import json
from typing import Any

from checklist_crds.condition_rules import OPERATORS
from checklist_crds.template_types import Operator, StepType
from checklist_dev.vectors.vectors import FILE, checklists, written

VECTORS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [case for case in VECTORS["cases"] if case["kind"] == kind]


def test_the_file_is_what_the_core_says_now() -> None:
    assert written() == FILE.read_text(encoding="utf-8"), "run: python -m checklist_dev.vectors"


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
    expected = {(kind, op) for kind, operators in OPERATORS.items() for op in operators}
    assert {key for key, verdicts in held.items() if verdicts == {True, False}} == expected
