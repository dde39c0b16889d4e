"""What an executor's request means, and everything that can be wrong with it, told at once (contract section 6)."""

from collections.abc import Callable
from typing import Any

import pytest

from checklist_api import executor_commands as commands
from checklist_crds.errors import AnswerInvalid, MissingField, ServiceError, ValidationFailed
from checklist_crds.run_commands import (
    AnswerStep,
    Cancel,
    ClearAnswer,
    GiveIdentity,
    Open,
    RemovePhotos,
    SkipStep,
    Submit,
)
from checklist_crds.run_types import Geo

ADA = {"name": "Ada Lovelace", "email": "ada@example.com"}
GOOD_ADDRESSES = [
    *("a@b.co", "first.last+tag@sub.example.com", "müller@bücher.example", "o'neill@example.ie"),
    *(" ada@example.com ", "ada@xn--bcher-kva.example"),
]
BAD_ADDRESSES = [
    *("", "ada", "@example.com", "ada@", "ada@localhost", "a b@example.com", "a@b@example.com", "ada@exa mple.com"),
    *("ada@-x.example", "ada@1.2.3.4", ".a@example.com", "a..b@example.com", "ada@example..com", "<a@example.com>"),
    *("a\u200b@example.com", "a" * 65 + "@example.com", "a@" + "b" * 250 + ".com", "ada@example.com\x00"),
    *("ada@example.com,eve@example.com", "ada@exam_ple.com", "ada\r\nBcc: eve@example.com", 5, None, ["a@example.com"]),
]


def problems_of(error: type[ServiceError], parse: Callable[..., Any], *arguments: Any) -> list[str]:
    with pytest.raises(error) as caught:
        parse(*arguments)
    return sorted(problem.path for problem in caught.value.details or [])  # type: ignore[union-attr]


def test_bodies_become_commands() -> None:
    geo = {"lat": 1, "lng": 2, "accuracy_m": None}
    assert commands.answer_step("s-a", {"value": 5, "geo": geo, "op_id": "1"}, None) == AnswerStep(
        step_id="s-a", value=5, geo=Geo(lat=1, lng=2), op_id="1"
    )
    assert commands.clear_answer("s-a", {}, "2") == ClearAnswer(step_id="s-a", op_id="2")
    assert commands.skip_step("s-a", {"op_id": None}, None) == SkipStep(step_id="s-a")
    assert commands.open_run({}, None) == Open()
    assert commands.give_identity(ADA, None) == GiveIdentity(**ADA)
    assert commands.submit({"signature": {"name": " Ada "}}, None) == Submit(signature_name="Ada")
    assert commands.submit({"signature": None}, None) == Submit()
    assert commands.cancel({"reason": " late "}, None) == Cancel(reason="late")


def test_a_blank_reason_is_none() -> None:
    for body in ({}, {"reason": None}, {"reason": ""}, {"reason": "  "}):
        assert commands.cancel(body, None) == Cancel()


def test_sane_addresses_are_accepted_without_the_space_around_them() -> None:
    for email in GOOD_ADDRESSES:
        assert commands.give_identity(ADA | {"email": email}, None).email == email.strip()


@pytest.mark.parametrize("email", BAD_ADDRESSES)
def test_other_addresses_are_refused(email: Any) -> None:
    assert problems_of(ValidationFailed, commands.give_identity, ADA | {"email": email}, None) == ["email"]


def test_a_name_is_one_line_of_1_to_200_visible_characters() -> None:
    for name in ("A", "x" * 200, "山田 太郎", "O’Neill-Smith"):
        assert commands.give_identity(ADA | {"name": name}, None).name == name
    for wrong in ("", "  ", "\u200b", "x" * 201, "two\nlines", "nul\x00", "\ud800", 5, None, ["Ada"]):
        assert problems_of(ValidationFailed, commands.give_identity, ADA | {"name": wrong}, None) == ["name"]
        signed = {"signature": {"name": wrong}}
        assert problems_of(ValidationFailed, commands.submit, signed, None) == ["signature.name"]


@pytest.mark.parametrize(
    ("parse", "member", "wrong"),
    [
        (commands.submit, "signature", ["Ada", 5, True, ["Ada"]]),
        (commands.cancel, "reason", [5, "x" * 501, {"a": 1}, "nul\x00"]),
        (commands.open_run, "op_id", ["", "x" * 129, 5, True, {}, [], "nul\x00"]),
    ],
    ids=["signature", "reason", "op_id"],
)
def test_a_member_of_another_type_or_length_is_refused(
    parse: Callable[..., Any], member: str, wrong: list[Any]
) -> None:
    for value in wrong:
        assert problems_of(ValidationFailed, parse, {member: value}, None) == [member]
        assert member != "op_id" or commands.op_id_problem(value) is not None
    assert commands.op_id_problem("x" * 128) is None


@pytest.mark.parametrize(("written", "given", "meant"), [(1, None, 1), (1, 1, 1), (None, 1, 1), (0, None, 0)])
def test_the_photo_to_take_back_is_named_in_query_or_body(written: int | None, given: int | None, meant: int) -> None:
    command = commands.remove_photos("s-a", given, {"photo_index": written, "op_id": "1"}, None)
    assert command == RemovePhotos(step_id="s-a", photo_index=meant, op_id="1")


@pytest.mark.parametrize(("written", "given"), [("1", None), (True, None), (-1, None), (1.5, None), ([0], 0), (1, 2)])
def test_an_index_that_is_not_understood_takes_no_photo_back(written: Any, given: int | None) -> None:
    body = {"photo_index": written}
    assert problems_of(ValidationFailed, commands.remove_photos, "s-a", given, body, None) == ["photo_index"]


def test_two_op_ids_must_be_the_same() -> None:
    assert commands.open_run({"op_id": "1"}, "1") == Open(op_id="1")
    assert problems_of(ValidationFailed, commands.open_run, {"op_id": "1"}, "2") == ["op_id"]


def test_needed_members_that_are_absent_are_missing_and_all_named() -> None:
    assert problems_of(MissingField, commands.answer_step, "s-a", {"op_id": 5}, None) == ["value"]
    assert problems_of(MissingField, commands.give_identity, {}, None) == ["email", "name"]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    body = {"name": " ", "email": "x", "op_id": 1}
    assert problems_of(ValidationFailed, commands.give_identity, body, None) == ["email", "name", "op_id"]
    bad = {"value": 1, "op_id": "", "geo": {"lat": 91, "lng": "x"}}
    assert problems_of(ValidationFailed, commands.answer_step, "s-a", bad, None) == ["geo.lat", "geo.lng", "op_id"]


def test_a_wrong_location_alone_is_a_wrong_answer() -> None:
    bad = {"value": 1, "geo": {"lat": 91, "lng": 0}}
    assert problems_of(AnswerInvalid, commands.answer_step, "s-a", bad, None) == ["geo.lat"]
