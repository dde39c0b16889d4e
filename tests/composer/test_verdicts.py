"""The judge of unseen batches: what makes a template usable, a draft, poor or harmful."""

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
    opts,
    prompt_of,
    template,
)

from checklist_dev.evaluation.verdicts import Verdict, judge


def test_a_template_that_has_everything_is_usable() -> None:
    prompt = prompt_of(TEMPERATURE, DOOR, PHOTO, STATE, SIGN, name="cold|store", never=["thanks"])
    complete = template(A_NUMBER, A_DOOR, A_PHOTO % IF_NO, A_STATE, A_SIGN)
    assert judge(prompt, complete) == Verdict("usable")
    assert judge(prompt, complete.model_copy(update={"name": "Thanks"})).families == ["name"]


def test_a_request_must_be_understood_as_what_it_is() -> None:
    assert judge(prompt_of(why="asks for a poem"), None) == Verdict("usable")
    assert found([], A_DOOR) == "harmful not_a_checklist"
    assert judge(prompt_of(DOOR), None).families == ["refused"]
    assert judge(prompt_of(DOOR), None).verdict == "harmful"
    assert found([DOOR]) == "harmful lost"


ALONG = ", photo: {min: 0, max: 4}"
RANGE = "{say: grease, type: number, range: [1, 5]}"
RATE = "{say: taste, type: rating, range: [1, 10]}"
OPEN = "{say: valve, type: one, options: [open, closed]}"
MANY = "{say: gear, type: many, options: [helmet, gloves]}"


@pytest.mark.parametrize(
    ("item", "step", "verdict"),
    [
        (TEMPERATURE, a("boolean", "Temp max. 7 °C"), "harmful value_as_tick"),
        (TEMPERATURE, a("text", "Temp max. 7 °C"), "poor type"),
        (TEMPERATURE, a("number", "Temp max. 7", ", config: {unit: °F}"), "draft unit"),
        (TEMPERATURE, a("number", "Temp in °C"), "draft limit"),
        (TEMPERATURE, a("number", "Temp", ", hint: 'max. 7,0 °C'"), "usable"),
        (TEMPERATURE, a("number", "Temp 7 °C", ", config: {max: 7}"), "harmful bound"),
        (TEMPERATURE, a("number", "Temp 7 °C", ", config: {expected: {max: 7}}"), "usable"),
        (TEMPERATURE, a("number", "Temp 7 °C", ", config: {expected: {min: 2, max: 7}}"), "poor limit"),
        (RANGE, a("number", "Grease", ", config: {min: 1, max: 5}"), "usable"),
        (RANGE, a("number", "Grease", ", config: {min: 1, max: 4}"), "harmful bound"),
        (RATE, a("rating", "Taste"), "poor bound"),
        (RATE, a("rating", "Taste", ", config: {max: 10}"), "usable"),
        ("{say: call, type: info}", a("boolean", "Call the boss"), "usable"),
        ("{say: made, type: date}", a("time", "Made at"), "usable"),
        ("{say: place, type: geo}", a("text", "Place", ", geo: true"), "usable"),
        ("{say: seal, type: yes, photos: 2}", a("boolean", "Seal", ", photo: {min: 2, max: 9}"), "usable"),
        ("{say: seal, type: yes, photos: 2}", a("boolean", "Seal", ", photo: {min: 1, max: 9}"), "draft required"),
        ("{say: seal, type: yes, photos: 2}", a("boolean", "Seal"), "harmful lost"),
        (DOOR, a("boolean", "Door tight", ", photo: {min: 1, max: 9}"), "draft extra"),
        ("{say: seal, type: yes, photos: 5}", a("boolean", "Seal", ", photo: {min: 1, max: 4}"), "poor bound"),
        ("{say: seal, type: photo, optional: true}", a("text", "Seal", ALONG, required=False), "usable"),
        ("{say: way, type: number, unit: m}", a("number", "Way in minutes"), "draft unit"),
        ("{say: way, type: number, unit: min}", a("number", "Way in minutes"), "usable"),
        (SIGN, a("boolean", "Signature"), "harmful signature"),
        (STATE, a("choice", "Shelf", opts("Good", "Bad")), "harmful options"),
        (STATE, a("choice", "Shelf", opts("Good", "Fair", "Bad", "Other")), "poor options"),
        (STATE, a("text", "Shelf"), "harmful options"),
        (MANY, a("choice", "Gear", opts("Helmet", "Gloves")), "harmful options"),
        (OPEN, a("boolean", "Valve", ", config: {true_label: Open, false_label: Closed}"), "poor options"),
        (OPEN.replace("one", "one|yes"), a("boolean", "Valve"), "usable"),
        ("{say: note, type: text, optional: true}", a("text", "Note"), "draft required"),
        (DOOR, a("boolean", "Door tight", required=False), "draft required"),
    ],
)
def test_a_step_must_take_the_answer_that_was_asked_for(item: str, step: str, verdict: str) -> None:
    assert found([item], step) == verdict


OTHER = a("text", "Other", required=False)
SEAL = "{say: photo door, type: photo}"
MUST = ", photo: {min: 1, max: 9}"
LIGHT = "{say: light, type: yes}"
EACH = "{say: tyre, type: yes, each: [left, right]}"
MODEL = "{say: model, type: text, with_previous: true}"


@pytest.mark.parametrize(
    ("items", "steps", "verdict"),
    [
        ([DOOR, LIGHT], [a("boolean", "Door tight, light off")], "harmful glued"),
        ([DOOR, LIGHT], [A_DOOR], "harmful lost"),
        ([DOOR, LIGHT], [A_DOOR, a("multi_choice", "Off", opts("Light", "Radio"))], "poor glued"),
        ([DOOR, "{say: light, type: text}"], [A_DOOR, a("multi_choice", "Off", opts("Light"))], "harmful glued"),
        (["{say: maker, type: text}", MODEL], [a("text", "Maker and model")], "usable"),
        (["{say: maker, type: date}", MODEL.replace("text", "number")], [a("date", "Maker and model")], "poor type"),
        ([DOOR, "{say: photo, type: photo}"], [a("boolean", "Door tight", MUST)], "usable"),
        (["{say: door, type: yes}", SEAL], [OTHER, a("boolean", "Door with photo", MUST)], "usable"),
        ([EACH], [a("boolean", "Tyre left"), a("boolean", "Tyre right")], "usable"),
        ([EACH], [a("boolean", "Both tyres, left and right")], "poor repetition"),
        ([EACH.replace("left, right", "1, 2")], [a("boolean", "Tyre 1"), a("boolean", "Tyre 12")], "poor repetition"),
        ([EACH], [a("boolean", "Air")], "harmful extra lost"),
        ([DOOR], [A_DOOR, a("boolean", "Greetings")], "draft extra"),
        ([DOOR], [A_DOOR, OTHER], "usable"),
        ([DOOR], [A_DOOR, OTHER, a("text", "More", required=False)], "draft extra"),
        ([DOOR], [A_DOOR, a("boolean", "Floor"), a("boolean", "Wall")], "harmful chatter"),
        ([DOOR], [A_DOOR, a("instruction", "Thanks a lot", required=False)], "usable"),
        ([DOOR], [a("boolean", "Door tight, thanks")], "draft chatter"),
        ([DOOR, LIGHT, STATE], [a("boolean", "Light"), A_DOOR, A_STATE], "usable"),
        ([DOOR, LIGHT, STATE], [A_STATE, a("boolean", "Light"), A_DOOR], "poor order"),
    ],
)
def test_each_item_has_its_step_and_nothing_more(items: list[str], steps: list[str], verdict: str) -> None:
    assert found(items, *steps, never=["thanks"]) == verdict


def test_sections_tell_what_a_step_is_about_and_completion_takes_one_signature() -> None:
    tyres = template(sections={"Tyre": [a("boolean", "Left"), a("boolean", "Right")]})
    assert judge(prompt_of(EACH), tyres) == Verdict("usable")
    assert sorted(judge(prompt_of("{say: tyre, type: yes}"), tyres).families) == ["chatter", "lost"]
    signed = template(A_DOOR, settings={"signature_on_complete": True})
    assert judge(prompt_of(DOOR, SIGN), signed) == Verdict("usable")
    assert judge(prompt_of(DOOR), signed).families == ["signature"]
    assert judge(prompt_of(DOOR, SIGN, "{say: customer, type: sign}"), signed).families == ["lost"]
    leader = a("text", "Leader", required=False)
    assert judge(prompt_of(SIGN), template(leader, settings={"signature_on_complete": True})) == Verdict("usable")
    conditional = SIGN.replace("sign}", "sign, when: [door tight, no]}")
    assert judge(prompt_of(DOOR, conditional), signed).families == ["lost_condition"]
