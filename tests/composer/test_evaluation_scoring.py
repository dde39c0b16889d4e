"""How a template is scored: what counts as found, and what as a wrong extra."""

from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checklist_composer.composing import Composition, NothingToCompose
from checklist_crds.template_validation import parse_definition
from checklist_dev.evaluation.assignment import best_assignment
from checklist_dev.evaluation.cases import Case, load_cases
from checklist_dev.evaluation.scoring import Score, score_case
from checklist_dev.evaluation.words import says
from checklist_dev.failures import Failure


def _step(identifier: str, kind: str, label: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"s-{identifier}", "type": kind, "label": label, "required": True, **fields}


STEPS = [
    _step("fridge", "number", "Fridge temperature", config={"unit": "°C", "max": 5}),
    _step("condition", "choice", "Condition of the door", config={"options": [
        {"id": "o-1", "label": "Good"}, {"id": "o-2", "label": "Broken"},
    ]}),
    _step("damage", "boolean", "Is the door damaged?"),
    _step("photo", "photo", "Photos of the damage", config={"min": 2}, condition={
        "when": {"step": "s-damage", "op": "ne", "value": False},
    }),
    _step("call", "boolean", "Call the boss", condition={
        "when": {"any": [
            {"step": "s-fridge", "op": "gt", "value": 8}, {"step": "s-condition", "op": "in", "value": ["o-2"]},
        ]},
    }),
]  # fmt: skip


def _score(expected: list[dict[str, Any]], steps: list[dict[str, Any]] = STEPS, **fields: Any) -> Score:
    document = {"name": "Door", "sections": [{"id": "g-hall", "title": "Hall", "steps": steps}]}
    composition = Composition(parse_definition(document), "en", ())
    case = Case.model_validate(
        {"id": "x", "trade": "any", "kind": "list", "prompt": "Doors", "steps": expected, **fields}
    )
    return score_case(case, lambda prompt, locale: composition)


@pytest.mark.parametrize(
    "expected",
    [
        {"say": "fridge", "type": "number", "unit": "°C", "max": 5, "min": "none", "required": True, "when": []},
        {"say": "FRIDGE temp", "in": "hall"},
        {"say": "condition", "options": ["broken", "good"]},
        {"say": "damage", "type": "photo", "photos": 2, "when": [["door damaged", True, False]]},
        {"say": "boss", "when": [["fridge", 9, 8]]},
        {"say": "boss", "when": [["window", True, False], ["condition", "broken", "good"]]},
    ],
)
def test_what_is_there_is_found(expected: dict[str, Any]) -> None:
    score = _score([expected])
    assert score.missing == []
    assert score.value == 1


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        ({"say": "window"}, "step 'window'"),
        ({"say": "fridge", "type": "boolean|text"}, "'fridge': type boolean|text"),
        ({"say": "fridge", "unit": "°F"}, "'fridge': unit °F"),
        ({"say": "fridge", "max": 4}, "'fridge': max 4.0"),
        ({"say": "fridge", "min": 0}, "'fridge': min 0.0"),
        ({"say": "fridge", "required": False}, "'fridge': required False"),
        ({"say": "fridge", "in": "kitchen"}, "'fridge': in section 'kitchen'"),
        ({"say": "fridge", "photos": "any"}, "'fridge': photos any"),
        ({"say": "condition", "options": ["good"]}, "'condition': options ['good']"),
        ({"say": "photo", "photos": 1}, "'photo': photos 1"),
        ({"say": "photo", "when": [["door damaged", False, True]]}, "'photo': when [['door damaged', False, True]]"),
        ({"say": "photo", "when": []}, "'photo': when always"),
        ({"say": "boss", "when": [["fridge", 8, 7]]}, "'boss': when [['fridge', 8, 7]]"),
        ({"say": "fridge", "when": [["damage", True, False]]}, "'fridge': when [['damage', True, False]]"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_missing(expected: dict[str, Any], missing: str) -> None:
    score = _score([expected])
    assert score.missing == [missing]
    assert score.value < 1


def test_half_of_the_options_are_half_of_a_feature() -> None:
    score = _score([{"say": "condition", "options": ["good", "worn"]}])
    assert score.expected - score.found == 0.5


def test_one_step_is_found_for_one_expectation_only() -> None:
    assert _score([{"say": "fridge"}, {"say": "fridge"}]).missing == ["step 'fridge'"]
    assert _score([{"say": "fridge"}, {"say": "fridge", "shared": True}]).missing == []


def test_a_step_above_the_expected_number_is_a_wrong_extra() -> None:
    score = _score([], count=(1, 3))
    assert score.extras == ["more than 3 steps"] * 2


def test_a_section_that_nobody_asked_for_is_a_wrong_extra_beside_one() -> None:
    sections = [{"id": f"g-{title}", "title": title, "steps": []} for title in ("Hall", "Roof", "Least")]
    composition = Composition(parse_definition({"name": "Door", "sections": sections}), "en", ())
    for kind, extras in (("sentence", ["section 'Least'"]), ("job", [])):
        case = Case.model_validate({"id": "x", "trade": "any", "kind": kind, "prompt": "Doors", "sections": ["hall"]})
        assert score_case(case, lambda prompt, locale: composition).extras == extras


def test_a_step_that_was_not_to_be_there_is_a_wrong_extra() -> None:
    assert _score([], never=["boss", "window"]).extras == ["'boss': 'Call the boss'"]


def test_the_same_step_twice_is_a_wrong_extra() -> None:
    steps = [STEPS[0], STEPS[0] | {"id": "s-again", "label": "fridge  temperature"}]
    assert _score([], steps).extras == ["twice: 'fridge temperature'"]


def test_a_claim_that_nobody_made_is_a_wrong_extra() -> None:
    steps = [_step("claim", "boolean", "Kitchen is HACCP compliant")]
    assert len(_score([], steps).extras) == 2
    assert _score([], steps, prompt="Is the kitchen HACCP compliant?").extras == []


@pytest.mark.parametrize(
    "label",
    [
        "fridge closed",
        "- Fridge",
        "1. Fridge",
        "And the fridge",
        "Fridge:",
        "Check the the fridge",
        "Fridge and",
        "Fridge " * 20,
    ],
)
def test_a_label_that_is_not_written_like_one_is_untidy(label: str) -> None:
    assert len(_score([], [_step("x", "boolean", label)]).missing) == 1


@pytest.mark.parametrize(
    "label", ["pH of the water", "Is it closed?", "2 tables set", "°C on the display", "Waste is dealt with"]
)
def test_labels_may_begin_with_a_name_a_number_or_a_sign(label: str) -> None:
    assert _score([], [_step("x", "boolean", label)]).missing == []


def test_nothing_composed_is_nothing_found() -> None:
    case = Case(id="x", trade="any", kind="list", prompt="Doors")
    for error in (NothingToCompose("nothing"), IndexError("a bug of the composer")):
        score = score_case(case, Mock(side_effect=error))
        assert score.value == 0
        assert score.missing == [f"a template, not {error!r}"]


def test_words_are_found_without_case_accents_and_endings() -> None:
    assert says("Kühlschränke prüfen", "kuhlschrank")
    assert says("Ist die Tür geschlossen?", "tur|fenster GESCHLOSSEN")
    assert says("Is the first aid box full", "first_aid")
    assert not says("Is the box full", "box empty")


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 4).flatmap(lambda width: st.lists(
    st.lists(st.integers(-1, 5), min_size=width, max_size=width), min_size=1, max_size=4,
)))  # fmt: skip
def test_no_other_assignment_scores_more(weights: list[list[int]]) -> None:
    rows, width = len(weights), len(weights[0])
    given_columns = best_assignment(weights)
    taken = [column for column in given_columns if column is not None]
    assert len(taken) == len(set(taken))

    def total(columns: tuple[int, ...]) -> int:
        return sum(max(0, weights[row][column]) for row, column in enumerate(columns) if column < width)

    mine = sum(weights[row][column] for row, column in enumerate(given_columns) if column is not None)
    assert mine == max(total(columns) for columns in permutations(range(width + rows), rows))


@pytest.mark.parametrize(
    "text",
    ["language: en\ncases:\n- {id: x, trade: y, kind: job, prompt: Doors, stepps: []}", "language: en\ncases: []"],
)
def test_a_file_that_is_not_as_it_should_be_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "en.yaml").write_text(text)
    with pytest.raises(Failure):
        load_cases(tmp_path)
