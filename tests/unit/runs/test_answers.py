"""Answers: their values, and commands of executors."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.unit.templates.tdl_strategies import GivenAnswer, json_values, lone_steps, texts, valid_values

from checklist_api.executor import commands
from checklist_api.http.op_id import op_id_problem
from checklist_crds.errors import AnswerInvalid, MissingField, Problem, ServiceError, ValidationFailed
from checklist_crds.resources.template_definition import Step, StepType
from checklist_crds.runs.commands import Cancel, RemovePhotos
from checklist_crds.templates.answers import display_value, validate_geo, validate_value
from checklist_crds.templates.conditions import is_answered
from checklist_crds.templates.validation import parse_definition

many = settings(max_examples=25)


def the_step(kind: str, *, required: bool = False, **config: Any) -> Step:
    step = {"id": "s-1", "type": kind, "label": "L", "required": required, "config": config}
    return parsed(step)


def parsed(step: dict[str, Any]) -> Step:
    definition = parse_definition({"name": "N", "sections": [{"id": "g-1", "title": "T", "steps": [step]}]})
    return next(step for _, step in definition.steps())


def problems(check: Any, *arguments: Any) -> list[Problem]:
    with pytest.raises(AnswerInvalid) as caught:
        check(*arguments)
    assert isinstance(caught.value.details, list)
    return caught.value.details


@st.composite
def steps(draw: st.DrawFn) -> Step:
    document = draw(lone_steps)
    assume(document["type"] != StepType.INSTRUCTION)
    return parsed(document)


@many
@given(st.data())
def test_a_valid_answer_is_accepted_and_its_normal_form_stays(data: st.DataObject) -> None:
    step = data.draw(steps())
    normal = validate_value(step, data.draw(valid_values(step)))
    assert validate_value(step, json.loads(json.dumps(normal, allow_nan=False))) == normal
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


def test_normal_forms_have_the_type_that_json_shows() -> None:
    for kind, value, normal in (("number", 3.0, 3), ("rating", 1.0, 1), ("number", -3.5, -3.5)):
        found = validate_value(the_step(kind), value)
        assert (found, type(found)) == (normal, type(normal))


def test_what_no_json_file_can_hold_is_refused() -> None:
    for kind, value in (("number", float("nan")), ("number", float("-inf")), ("number", 10**400), ("text", "\ud83d")):
        code = "out_of_range" if kind == "number" else "invalid_text"
        assert [problem.code for problem in problems(validate_value, the_step(kind), value)] == [code]


def test_decimals_are_counted_without_the_noise_of_binary_fractions_even_at_a_bound() -> None:
    tenths = the_step("number", decimal=1, max=0.3)
    assert validate_value(tenths, 0.1 + 0.2) == 0.3
    assert [problem.code for problem in problems(validate_value, tenths, 0.3001)] == ["too_many_decimals"]
    assert validate_value(the_step("number", decimal=2), 1e15 + 0.25) == 1e15 + 0.25
    assert validate_value(the_step("number"), 0.1 + 0.2) == 0.1 + 0.2


def test_a_refusal_says_what_would_be_right() -> None:
    expected = [Problem("value", "out_of_range", "The answer must be at most 8.")]
    assert problems(validate_value, the_step("number", min=-25, max=8, decimal=1), 9) == expected


def test_a_location_has_a_latitude_a_longitude_and_perhaps_an_accuracy() -> None:
    sent = {"lat": 52.52, "lng": 13.0, "accuracy_m": 8}
    assert validate_geo(sent | {"altitude": 30}) == sent
    assert validate_geo({"lat": -90, "lng": 180}) == {"lat": -90, "lng": 180, "accuracy_m": None}
    (problem,) = problems(validate_geo, {"lat": float("nan"), "lng": 0})
    assert (problem.path, problem.code) == ("geo.lat", "out_of_range")


def test_a_step_of_type_photo_asks_for_the_photos_of_its_config_and_else_for_those_of_its_photo_field() -> None:
    def answered_with_one(**step: Any) -> bool:
        document = {"id": "s-1", "type": "photo", "label": "Label", **step}
        return is_answered(parsed(document), GivenAnswer(None, ["one"]))

    assert answered_with_one(photo={"min": 2}, config={"min": 1})
    assert not answered_with_one(photo={"min": 1}, config={"min": 2})
    assert not answered_with_one(photo={"min": 2})


ADA = {"name": "Ada Lovelace", "email": "ada@example.com"}
BAD_ADDRESSES = [  # and those of tests/vectors
    *("a@b@example.com", "<a@example.com>", "ada@example.com\x00", "ada@example.com,eve@example.com"),
    *("ada\r\nBcc: eve@example.com", 5, None, ["a@example.com"]),
]


def problems_of(error: type[ServiceError], parse: Callable[..., Any], *arguments: Any) -> list[str]:
    with pytest.raises(error) as caught:
        parse(*arguments)
    return sorted(problem.path for problem in caught.value.details or [])  # type: ignore[union-attr]


def test_addresses_are_taken_without_the_space_around_them_and_bad_ones_are_refused() -> None:
    for email in (" ada@example.com ", "müller@bücher.example", "o'neill@example.ie", "ada@xn--bcher-kva.example"):
        assert commands.give_identity(ADA | {"email": email}, None).email == email.strip()
    for bad in BAD_ADDRESSES:
        assert problems_of(ValidationFailed, commands.give_identity, ADA | {"email": bad}, None) == ["email"], bad


def test_a_name_is_one_line_of_1_to_200_visible_characters() -> None:
    for name in ("A", "x" * 200, "山田 太郎", "O’Neill-Smith"):
        assert commands.give_identity(ADA | {"name": name}, None).name == name
    for wrong in ("", "  ", "\u200b", "x" * 201, "two\nlines", "nul\x00", "\ud800", 5, None, ["Ada"]):
        assert problems_of(ValidationFailed, commands.give_identity, ADA | {"name": wrong}, None) == ["name"]
        signed = {"signature": {"name": wrong}}
        assert problems_of(ValidationFailed, commands.submit, signed, None) == ["signature.name"]


def test_a_member_of_another_type_or_length_is_refused() -> None:
    for signature in ("Ada", 5, True, ["Ada"]):
        assert problems_of(ValidationFailed, commands.submit, {"signature": signature}, None) == ["signature"]
    for reason in (5, "x" * 501, {"a": 1}, "nul\x00"):
        assert problems_of(ValidationFailed, commands.cancel, {"reason": reason}, None) == ["reason"]
    assert commands.cancel({"reason": " late "}, None) == Cancel(reason="late")
    assert commands.cancel({"reason": "  "}, None) == commands.cancel({}, None) == Cancel()
    for op_id in ("", "x" * 129, 5, True, {}, [], "nul\x00"):
        assert problems_of(ValidationFailed, commands.open_run, {"op_id": op_id}, None) == ["op_id"]
        assert op_id_problem(op_id) is not None
    assert op_id_problem("x" * 128) is None


def test_the_photo_to_take_back_is_named_in_query_or_body() -> None:
    for written, in_query, meant in ((1, None, 1), (1, 1, 1), (None, 1, 1), (0, None, 0)):
        command = commands.remove_photos("s-a", in_query, {"photo_index": written, "op_id": "1"}, None)
        assert command == RemovePhotos(step_id="s-a", photo_index=meant, op_id="1")
    wrong: list[tuple[Any, int | None]] = [("1", None), (True, None), (-1, None), (1.5, None), ([0], 0), (1, 2)]
    for unclear, in_query in wrong:
        body = {"photo_index": unclear}
        assert problems_of(ValidationFailed, commands.remove_photos, "s-a", in_query, body, None) == ["photo_index"]


def test_everything_that_is_missing_or_wrong_is_named_at_once() -> None:
    assert problems_of(MissingField, commands.answer_step, "s-a", {"op_id": 5}, None) == ["value"]
    assert problems_of(MissingField, commands.give_identity, {}, None) == ["email", "name"]
    body = {"name": " ", "email": "x", "op_id": 1}
    assert problems_of(ValidationFailed, commands.give_identity, body, None) == ["email", "name", "op_id"]
    bad = {"value": 1, "op_id": "", "geo": {"lat": 91, "lng": "x"}}
    assert problems_of(ValidationFailed, commands.answer_step, "s-a", bad, None) == ["geo.lat", "geo.lng", "op_id"]
    bad = {"value": 1, "geo": {"lat": 91, "lng": 0}}  # alone, it is a wrong answer
    assert problems_of(AnswerInvalid, commands.answer_step, "s-a", bad, None) == ["geo.lat"]
