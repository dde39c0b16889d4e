"""A draft becomes a definition that create accepts, whatever it holds."""

import pytest

from checklist_composer.draft import Draft, DraftComparison, DraftCondition, DraftSection, DraftStep
from checklist_composer.finishing import finish
from checklist_crds.condition_types import Operator
from checklist_crds.template_types import Definition, StepType

_BOOLEAN, _NUMBER = StepType.BOOLEAN, StepType.NUMBER


def _finished(*steps: DraftStep, **fields: object) -> Definition:
    draft = Draft("en", sections=[DraftSection(None, list(steps))])
    for name, value in fields.items():
        setattr(draft, name, value)
    return finish(draft)


def test_ids_are_made_of_labels_and_no_two_are_the_same() -> None:
    definition = _finished(
        *(DraftStep("Fridge temperature", _NUMBER) for _ in range(3)), DraftStep("Prüfen!", _BOOLEAN)
    )
    assert [step.id for _, step in definition.steps()] == [
        "s-fridge-temperature", "s-fridge-temperature-2", "s-fridge-temperature-3", "s-pruefen",
    ]  # fmt: skip


def test_a_label_that_looks_like_a_numbered_id_gets_one_of_its_own() -> None:
    definition = _finished(DraftStep("Door 2", _BOOLEAN), DraftStep("Door", _BOOLEAN), DraftStep("Door", _BOOLEAN))
    ids = [step.id for _, step in definition.steps()]
    assert len(set(ids)) == 3


def test_a_label_without_letters_of_ours_still_has_an_id() -> None:
    assert [step.id for _, step in _finished(DraftStep("检查门", _BOOLEAN)).steps()] == ["s-step"]


def test_nothing_is_longer_or_more_than_a_template_takes() -> None:
    steps = [DraftStep("word " * 300, StepType.CHOICE, options=[f"option {n} " * 60 for n in range(150)])]
    definition = finish(
        Draft("en", name="n" * 999, description="d" * 9_999, tags=["t" * 99] * 99,
              sections=[DraftSection("s" * 999, [DraftStep("x", _BOOLEAN)] * 9) for _ in range(80)]
              + [DraftSection(None, steps)])
    )  # fmt: skip
    assert len(definition.sections) == 50
    long = _finished(*steps).sections[0].steps[0]
    assert long.label.endswith("…")
    assert len(long.config.options or ()) == 100


def test_bounds_that_are_the_wrong_way_around_are_turned() -> None:
    (step,) = _finished(DraftStep("x", _NUMBER, minimum=9, maximum=2)).sections[0].steps
    assert (step.config.min, step.config.max) == (2, 9)


def test_photos_stay_within_what_a_step_takes() -> None:
    photo, attached = _finished(
        DraftStep("x", StepType.PHOTO, minimum=99), DraftStep("y", _BOOLEAN, photo=(99, 3))
    ).sections[0].steps  # fmt: skip
    assert photo.config.min == 20
    assert attached.photo and (attached.photo.min, attached.photo.max) == (20, 20)


def test_a_bound_that_would_refuse_the_answer_on_which_a_step_depends_is_left_out() -> None:
    fridge = DraftStep("Fridge", _NUMBER, unit="°C", minimum=0, maximum=5)
    call = DraftStep("Call", _BOOLEAN, condition=DraftCondition([DraftComparison(fridge, Operator.GT, 5)]))
    step = _finished(fridge, call).sections[0].steps[0]
    assert (step.config.min, step.config.max) == (0, None)


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        (Operator.GT, 1.8, 1),
        (Operator.GTE, 1.8, 2),
        (Operator.LT, 1.8, 2),
        (Operator.LTE, 1.8, 1),
        (Operator.GT, 3.0, 3),
    ],
)
def test_a_grade_is_compared_with_a_whole_number(op: Operator, value: float, expected: int) -> None:
    rating = DraftStep("Rating", StepType.RATING)
    then = DraftStep("Then", _BOOLEAN, condition=DraftCondition([DraftComparison(rating, op, value)]))
    condition = _finished(rating, then).sections[0].steps[1].condition
    assert condition is not None and condition.when.value == expected


@pytest.mark.parametrize(
    ("source", "op", "value"),
    [
        (DraftStep("Photo", StepType.PHOTO), Operator.EQ, True),
        (DraftStep("Rating", StepType.RATING), Operator.EQ, 1.5),
        (DraftStep("Choice", StepType.CHOICE, options=["a", "b"]), Operator.EQ, "c"),
        (DraftStep("Yes", _BOOLEAN), Operator.GT, 3),
        (DraftStep("Number", _NUMBER), Operator.GT, float("inf")),
    ],
)
def test_a_comparison_that_no_answer_could_meet_is_left_out(source: DraftStep, op: Operator, value: object) -> None:
    then = DraftStep("Then", _BOOLEAN, condition=DraftCondition([DraftComparison(source, op, value)]))
    assert _finished(source, then).sections[0].steps[1].condition is None


def test_a_condition_on_a_step_that_comes_later_is_left_out() -> None:
    later = DraftStep("Later", _BOOLEAN)
    first = DraftStep("First", _BOOLEAN, condition=DraftCondition([DraftComparison(later, Operator.EQ, True)]))
    assert _finished(first, later).sections[0].steps[0].condition is None


def test_an_option_is_compared_by_its_id() -> None:
    choice = DraftStep("State", StepType.CHOICE, options=["Good", "Broken"])
    then = DraftStep("Then", _BOOLEAN, condition=DraftCondition([DraftComparison(choice, Operator.IN, ["Broken"])]))
    condition = _finished(choice, then).sections[0].steps[1].condition
    assert condition is not None and condition.when.value == ["o-broken"]


def test_what_nobody_said_is_estimated() -> None:
    assert _finished(*(DraftStep(f"Check {n}", _BOOLEAN) for n in range(10))).settings.est_minutes == 5
    assert _finished(DraftStep("x", _BOOLEAN), est_minutes=90.0).settings.est_minutes == 90


def test_an_identity_is_asked_for_only_when_it_was_said() -> None:
    assert _finished(DraftStep("x", _BOOLEAN)).identity_mode == "anonymous"
    assert _finished(DraftStep("x", _BOOLEAN), identity_required=True).identity_mode == "external"
