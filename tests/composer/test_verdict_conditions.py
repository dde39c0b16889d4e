"""The judge of unseen batches: whether a step applies when its item is to be asked for."""

from typing import Any

import pytest
from tests.composer.judging import (
    A_DOOR,
    A_NUMBER,
    A_PHOTO,
    A_SIGN,
    A_STATE,
    DOOR,
    IF_NO,
    PHOTO,
    SIGN,
    STATE,
    TEMPERATURE,
    a,
    found,
    when,
)

BOTH = "{say: photo, type: photo, when: [[door tight, no], [shelf, bad]]}"
EITHER = [DOOR, STATE, BOTH]
WARM = "{say: boss, type: info, when: [temp, out]}"
COOL = "{say: boss, type: info, when: [temp, '<5']}"
WORN = "{say: boss, type: info, when: [shelf, bad]}"
RAIN = "{say: cover, type: yes, unless_said: true}"
NO_DOOR = a("boolean", "No door is tight")
PHOTO_ALONG = ", photo: {min: 1, max: 9}}"


ALL, ALL_STEPS = [DOOR, STATE, TEMPERATURE, SIGN], [A_DOOR, A_STATE, A_NUMBER, A_SIGN]
NOT_TIGHT, RAINS = "step: s-door, op: eq, value: false", "step: s-Rain, op: eq, value: true"
UNCOVERED = "step: s-Cover, op: eq, value: false"
A_RAIN, A_COVER = a("boolean", "Rain"), a("boolean", "Cover", when("Rain", "eq", "true"))
WET = "{say: boss, type: info, when: [cover, no]}"
NEXT = "{say: shelf, type: one, options: [good, fair, bad], when: [door tight, no]}"
LOOSE = A_STATE.replace("required: true", "required: false")
FOREIGN, NOT_FIRST = "harmful wrong_condition", "poor lost_condition"
VALVE = "{say: valve, type: yes|one, options: [shut, unshut]}"
SHUT = "{say: boss, type: info, when: [valve, shut]}"
A_VALVE = a("boolean", "Valve", ", config: {true_label: Unshut, false_label: Shut}")
MAKER, MODEL = "{say: maker, type: text}", "{say: model, type: text, when: [maker, no], with_previous: true}"
MAKER_IF = "{say: maker, type: text, when: [door tight, no]}"
MODEL_TOO = "{say: model, type: text, with_previous: true}"
PANES = "{say: pane, type: yes, each: [left, right]}"
HOLES = "{say: hole, type: text, each: [left, right], when: [pane, no]}"
LEFT, RIGHT = a("boolean", "Pane left"), a("boolean", "Pane right")
NOTE = "{say: note, type: text, when: [door tight, no]}"


def hole(name: str, pane: str) -> str:
    return a("text", f"Hole {name}", when(f"Pane-{pane}", "eq", "false"))


def boss_of_all(*parts: str) -> str:
    return a("instruction", "Boss", f", condition: {{when: {{all: [{', '.join(f'{{{part}}}' for part in parts)}]}}}}")


def any_of(option: str) -> str:
    parts = f"{{step: s-door, op: eq, value: false}}, {{step: s-shelf, op: eq, value: {option}}}"
    return f", condition: {{when: {{any: [{parts}]}}}}"


def boss(*condition: Any) -> str:
    return a("instruction", "Boss", when(*condition))


@pytest.mark.parametrize(
    ("items", "steps", "verdict"),
    [
        ([DOOR, PHOTO], [A_DOOR, A_PHOTO % when("door", "ne", "true")], "usable"),
        ([DOOR, PHOTO], [A_DOOR, A_PHOTO % when("door", "eq", "true")], "harmful wrong_condition"),
        ([DOOR, PHOTO], [NO_DOOR, A_PHOTO % when("No-door-is-tight", "eq", "true")], "usable"),
        ([DOOR, PHOTO], [A_DOOR, A_PHOTO % ""], "harmful lost_condition"),
        ([DOOR, PHOTO], [A_DOOR, a("photo", "Seal", required=False)], "poor lost_condition"),
        ([DOOR, PHOTO], [A_DOOR, a("photo", "Seal, if the door is not tight")], "poor lost_condition"),
        ([DOOR, PHOTO], [A_DOOR[:-1] + PHOTO_ALONG], "harmful lost_condition"),
        ([DOOR, PHOTO], [A_DOOR[:-1] + ", hint: if not" + PHOTO_ALONG], "poor lost_condition"),
        ([DOOR, STATE], [A_DOOR, A_STATE[:-1] + IF_NO + "}"], "harmful wrong_condition"),
        (EITHER, [A_DOOR, A_STATE, A_PHOTO % any_of("o-b")], "usable"),
        (EITHER, [A_DOOR, A_STATE, A_PHOTO % any_of("o-b").replace("any", "all")], "harmful wrong_condition"),
        (EITHER, [A_DOOR, A_STATE, A_PHOTO % IF_NO, a("photo", "Bad", when("shelf", "eq", "o-b"))], "usable"),
        ([STATE, WORN], [A_STATE, boss("shelf", "ne", "o-g")], "poor wrong_condition"),
        ([*ALL, WORN], [*ALL_STEPS, a("instruction", "Boss")], "draft lost_condition"),
        ([TEMPERATURE, WARM], [A_NUMBER, boss("temp", "gt", 7)], "usable"),
        ([TEMPERATURE, WARM], [A_NUMBER, boss("temp", "lt", 7)], "harmful wrong_condition"),
        ([TEMPERATURE, COOL], [A_NUMBER, boss("temp", "lt", 5)], "usable"),
        ([DOOR, STATE, WORN], [A_DOOR, A_STATE, boss_of_all(NOT_TIGHT, "step: s-shelf, op: eq, value: o-b")], FOREIGN),
        ([DOOR, NEXT, WORN], [A_DOOR, LOOSE, boss_of_all(NOT_TIGHT, "step: s-shelf, op: eq, value: o-b")], NOT_FIRST),
        ([DOOR, RAIN, WET], [A_DOOR, A_RAIN, A_COVER, boss_of_all(RAINS, UNCOVERED)], "usable"),
        ([VALVE, SHUT], [A_VALVE, boss("Valve", "eq", "false")], "usable"),
        ([MAKER, MODEL], [a("text", "Maker and model")], "usable"),
        ([DOOR, MAKER_IF, MODEL_TOO], [A_DOOR, a("text", "Maker and model", IF_NO)], "usable"),
        ([PANES, HOLES], [LEFT, RIGHT, hole("left", "left"), hole("right", "right")], "usable"),
        ([PANES, HOLES], [LEFT, RIGHT, hole("left", "right"), hole("right", "left")], "harmful wrong_condition"),
        ([DOOR, NOTE], [A_DOOR, a("text", "Note 1", IF_NO), a("text", "Note 2", required=False)], "usable"),
        ([DOOR, RAIN], [A_DOOR, a("boolean", "Cover it")], "harmful lost_condition"),
        ([DOOR, RAIN], [A_DOOR, a("boolean", "Cover it when it rains")], "usable"),
        ([DOOR, RAIN], [A_DOOR, A_RAIN, A_COVER], "usable"),
        ([DOOR, RAIN], [A_DOOR, a("boolean", "Cover", IF_NO)], "harmful wrong_condition"),
    ],
)
def test_a_step_must_apply_when_its_item_does(items: list[str], steps: list[str], verdict: str) -> None:
    assert found(items, *steps) == verdict


@pytest.mark.parametrize(
    ("text", "is_most"),
    [
        ("temp max. 7 °C", True),
        ("temp of at least 7 °C", False),
        ("Temp nicht unter 7", False),
        ("Tell the boss if it is over 7", True),
        ("temp ≥ 7", False),
    ],
)
def test_the_prompt_says_on_which_side_of_its_limit_is_outside(text: str, is_most: bool) -> None:
    for operator, is_right in (("gt", is_most), ("lt", not is_most)):
        verdict = found([TEMPERATURE, WARM], A_NUMBER, boss("temp", operator, 7), prompt=text)
        assert verdict == ("usable" if is_right else "harmful wrong_condition")


def test_a_limit_that_may_be_meant_either_way_is_read_either_way() -> None:
    for operator in ("gt", "lt"):
        assert found([TEMPERATURE, WARM], A_NUMBER, boss("temp", operator, 7), prompt="temp 7") == "usable"
    assert found([TEMPERATURE, WARM], A_NUMBER, boss("temp", "gt", 5), prompt="temp 7") == "harmful wrong_condition"
