"""What a step accepts as its answer, and how the answer reads."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.unit.tdl_strategies import definitions, json_values, texts, valid_values

from checklist_crds.answers import display_value, validate_geo, validate_value
from checklist_crds.errors import AnswerInvalid, Problem
from checklist_crds.template_types import Step, StepType
from checklist_crds.template_validation import parse_definition

many = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

OPTIONS = [{"id": "o-a", "label": "Ash"}, {"id": "o-b", "label": "Birch"}, {"id": "o-c", "label": "Cedar"}]
BIG = 2**53 - 1


def the_step(kind: str, *, required: bool = False, **config: Any) -> Step:
    step = {"id": "s-1", "type": kind, "label": "L", "required": required, "config": config}
    definition = parse_definition({"name": "N", "sections": [{"id": "g-1", "title": "T", "steps": [step]}]})
    return next(step for _, step in definition.steps())


def refusal(step: Step, value: Any) -> str:
    with pytest.raises(AnswerInvalid) as caught:
        validate_value(step, value)
    details = caught.value.details
    assert isinstance(details, list)
    assert all(problem.path.startswith("value") and problem.message for problem in details)
    return str(details[0].code)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    definition = parse_definition(draw(definitions(min_steps=1, max_steps=3)))
    step: Step = draw(st.sampled_from([step for _, step in definition.steps()]))
    assume(step.type is not StepType.INSTRUCTION)
    return step


# --- properties


@many
@given(st.data())
def test_what_may_be_answered_is_accepted_and_its_normal_form_stays(data: st.DataObject) -> None:
    step = data.draw(steps())
    value = data.draw(valid_values(step))
    normal = validate_value(step, value)
    assert validate_value(step, normal) == normal
    stored = json.loads(json.dumps(normal, allow_nan=False))
    assert validate_value(step, stored) == normal
    assert isinstance(display_value(step, normal), str)


@many
@given(steps(), json_values | texts() | st.floats() | st.integers())
@example(the_step("number", decimal=2), 10**40)
@example(the_step("number", decimal=2), True)
@example(the_step("number", decimal=2), float("nan"))
@example(the_step("rating"), True)
def test_any_json_can_be_displayed_and_is_accepted_or_refused(step: Step, value: Any) -> None:
    assert isinstance(display_value(step, value), str)
    try:
        normal = validate_value(step, value)
    except AnswerInvalid as refused:
        json.dumps(refused.as_body())
    else:
        assert validate_value(step, normal) == normal
        json.dumps(normal, allow_nan=False).encode()


@many
@given(json_values | st.fixed_dictionaries({"lat": json_values, "lng": json_values, "accuracy_m": json_values}))
def test_any_json_is_a_location_or_refused(value: Any) -> None:
    try:
        location = validate_geo(value)
    except AnswerInvalid as refused:
        json.dumps(refused.as_body())
    else:
        assert location is None or validate_geo(location) == location
        json.dumps(location, allow_nan=False)


# --- one type after the other


@pytest.mark.parametrize(
    ("step", "accepted"),
    [
        (the_step("boolean"), [(False, False)]),
        (the_step("number"), [(-3.5, -3.5), (3.0, 3), (BIG, BIG)]),
        (the_step("number", min=0, max=10), [(10, 10)]),
        (the_step("choice", options=OPTIONS), [("o-b", "o-b")]),
        (the_step("multi_choice", options=OPTIONS), [(["o-c", "o-a"], ["o-a", "o-c"]), ([], [])]),
        (the_step("multi_choice", required=True, options=OPTIONS, min_selected=0), [([], [])]),
        (the_step("text"), [(" as it is\n", " as it is\n"), ("", ""), ("✓" * 500, "✓" * 500)]),
        (the_step("text", multiline=True), [("x" * 4000, "x" * 4000)]),
        (the_step("rating"), [(5, 5), (1.0, 1)]),
        (the_step("rating", min=0, max=10), [(0, 0)]),
        (the_step("photo"), [(None, None)]),
        (the_step("date"), [("2028-02-29", "2028-02-29")]),
        (the_step("time"), [("13:50", "13:50"), ("13:50:00", "13:50"), ("13:50:07", "13:50:07")]),
        (the_step("datetime"), [("2026-11-21T13:50:00Z", "2026-11-21T13:50:00.000Z")]),
        (the_step("datetime"), [("2026-11-21t14:50:00.25+01:00", "2026-11-21T13:50:00.250Z")]),
        (the_step("scan"), [("]C1 0104006381333931", "]C1 0104006381333931"), ("x" * 500, "x" * 500)]),
        (the_step("signature"), [({"name": " Ada "}, {"url": None, "name": "Ada", "signed_at": None})]),
    ],
    ids=lambda value: value.type.value if isinstance(value, Step) else "",
)
def test_an_answer_is_accepted_in_its_normal_form(step: Step, accepted: list[tuple[Any, Any]]) -> None:
    for value, normal in accepted:
        found = validate_value(step, value)
        assert (found, type(found)) == (normal, type(normal))


@pytest.mark.parametrize(
    ("step", "code", "values"),
    [
        (the_step("boolean"), "wrong_type", [1, "true", None]),
        (the_step("number"), "wrong_type", [True, "5", None]),
        (the_step("number"), "out_of_range", [float("nan"), float("-inf"), BIG + 1, 10**400]),
        (the_step("number", min=0), "out_of_range", [-0.001]),
        (the_step("number", max=0), "out_of_range", [0.001]),
        (the_step("choice", options=OPTIONS), "unknown_option", ["Ash"]),
        (the_step("choice", options=OPTIONS), "wrong_type", [["o-a"]]),
        (the_step("multi_choice", options=OPTIONS), "wrong_type", ["o-a", [1]]),
        (the_step("multi_choice", options=OPTIONS), "unknown_option", [["o-z"]]),
        (the_step("multi_choice", options=OPTIONS), "duplicate_option", [["o-a", "o-a"]]),
        (the_step("multi_choice", required=True, options=OPTIONS), "too_few", [[]]),
        (the_step("multi_choice", options=OPTIONS, min_selected=2), "too_few", [["o-a"]]),
        (the_step("multi_choice", options=OPTIONS, max_selected=1), "too_many", [["o-a", "o-b"]]),
        (the_step("text"), "wrong_type", [5]),
        (the_step("text"), "too_long", ["x" * 501]),
        (the_step("text", multiline=True), "too_long", ["x" * 4001]),
        (the_step("text"), "invalid_text", ["a\x00", "\ud83d"]),
        (the_step("text", required=True), "blank", [" \u00a0"]),
        (the_step("rating"), "out_of_range", [0, 6]),
        (the_step("rating"), "wrong_type", [2.5, True]),
        (the_step("photo"), "wrong_type", ["data:image/jpeg;base64,"]),
        (the_step("date"), "invalid_format", ["2026-02-29", "20261121", "2026-11-21T00:00:00Z", "２０２６-11-21"]),
        (the_step("date"), "wrong_type", [20261121]),
        (the_step("time"), "invalid_format", ["24:00", "9:05", "13:50Z"]),
        (the_step("datetime"), "invalid_format", ["2026-11-21T13:50:00", "2026-11-21T13:50Z"]),
        (the_step("datetime"), "invalid_format", ["2026-11-21T13:50:60Z", "9999-12-31T23:59:59-01:00"]),
        (the_step("scan"), "too_long", ["x" * 501]),
        (the_step("scan", required=True), "blank", [""]),
        (the_step("signature"), "wrong_type", ["Ada", {"name": 5}]),
        (the_step("signature"), "missing", [{}]),
        (the_step("signature"), "blank", [{"name": " "}]),
        (the_step("signature"), "too_long", [{"name": "x" * 201}]),
        (the_step("instruction"), "no_answer", [None, True]),
    ],
    ids=lambda value: value.type.value if isinstance(value, Step) else value if isinstance(value, str) else "",
)
def test_an_answer_is_refused(step: Step, code: str, values: list[Any]) -> None:
    assert [refusal(step, value) for value in values] == [code] * len(values)


def test_decimals_are_counted_as_people_write_them_without_the_noise_of_binary_fractions() -> None:
    cents, whole = the_step("number", decimal=2), the_step("number", decimal=0)
    assert validate_value(cents, 4.35) == 4.35  # 4.35 * 100 is 434.99999999999994
    assert validate_value(cents, 1e15 + 0.25) == 1e15 + 0.25
    assert refusal(cents, 4.355) == refusal(whole, 4.5) == "too_many_decimals"
    assert validate_value(whole, 4.0) == 4
    tenths = the_step("number", decimal=1, max=0.3)
    assert validate_value(tenths, 0.1 + 0.2) == 0.3
    assert refusal(tenths, 0.3001) == "too_many_decimals"
    assert validate_value(the_step("number"), 0.1 + 0.2) == 0.1 + 0.2


def test_a_signer_cannot_say_when_they_signed_or_where_the_image_is() -> None:
    sent = {"name": "Ada", "url": "https://elsewhere.example/x.png", "signed_at": "1999-01-01T00:00:00Z"}
    assert validate_value(the_step("signature"), sent) == {"url": None, "name": "Ada", "signed_at": None}


def test_a_refusal_says_what_would_be_right() -> None:
    with pytest.raises(AnswerInvalid) as caught:
        validate_value(the_step("number", min=-25, max=8, decimal=1), 9)
    assert caught.value.details == [Problem("value", "out_of_range", "The answer must be at most 8.")]


# --- display


@pytest.mark.parametrize(
    ("step", "texts"),
    [
        (the_step("boolean"), [(True, "Yes")]),
        (the_step("boolean", true_label="Pass", false_label="Fail"), [(False, "Fail")]),
        (the_step("number", unit="°C", decimal=1), [(4, "4.0 °C")]),
        (the_step("number"), [(1e-7, "0.0000001"), (12, "12")]),
        (the_step("choice", options=OPTIONS), [("o-b", "Birch")]),
        (the_step("multi_choice", options=OPTIONS), [(["o-a", "o-c"], "Ash, Cedar"), ([], "None")]),
        (the_step("text"), [("as it is", "as it is")]),
        (the_step("rating", low_label="bad", high_label="great"), [(5, "5 of 5 (great)")]),
        (the_step("rating"), [(3, "3 of 5")]),
        (the_step("date"), [("2026-11-21", "2026-11-21")]),
        (
            the_step("datetime"),
            [
                ("2026-11-21T13:50:00.000Z", "2026-11-21 13:50 UTC"),
                ("2026-11-21T13:50:07.000Z", "2026-11-21 13:50:07 UTC"),
                ("0001-01-01T00:00:00.000Z", "0001-01-01 00:00 UTC"),
            ],
        ),
        (the_step("signature"), [({"url": None, "name": "Ada", "signed_at": None}, "Signed by Ada")]),
        (the_step("scan"), [("4006381333931", "4006381333931")]),
        (the_step("photo"), [(None, "")]),
    ],
    ids=lambda value: value.type.value if isinstance(value, Step) else "",
)
def test_an_answer_reads_as_a_person_would_write_it(step: Step, texts: list[tuple[Any, str]]) -> None:
    assert [display_value(step, value) for value, _ in texts] == [text for _, text in texts]


# --- location


def test_a_location_is_taken_with_or_without_its_accuracy() -> None:
    assert validate_geo(None) is None
    sent = {"lat": 52.52, "lng": 13.0, "accuracy_m": 8}
    assert validate_geo(sent | {"altitude": 30}) == sent
    assert validate_geo({"lat": -90, "lng": 180}) == {"lat": -90, "lng": 180, "accuracy_m": None}


@pytest.mark.parametrize(
    ("value", "path", "code"),
    [
        ([52.5, 13.4], "geo", "wrong_type"),
        ({"lat": 52.5}, "geo.lng", "missing"),
        ({"lat": 91, "lng": 0}, "geo.lat", "out_of_range"),
        ({"lat": 0, "lng": -180.1}, "geo.lng", "out_of_range"),
        ({"lat": 0, "lng": 0, "accuracy_m": -1}, "geo.accuracy_m", "out_of_range"),
        ({"lat": float("nan"), "lng": 0}, "geo.lat", "out_of_range"),
        ({"lat": True, "lng": 0}, "geo.lat", "wrong_type"),
        ({"lat": "52.5", "lng": 0}, "geo.lat", "wrong_type"),
    ],
)
def test_a_place_that_is_nowhere_is_refused(value: Any, path: str, code: str) -> None:
    with pytest.raises(AnswerInvalid) as caught:
        validate_geo(value)
    assert [(problem.path, problem.code) for problem in caught.value.details or ()] == [(path, code)]  # type: ignore[union-attr]
