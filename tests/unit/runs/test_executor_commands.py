"""What an executor's request means, and everything that can be wrong with it, reported at once (contract section 6)."""

from collections.abc import Callable
from typing import Any

import pytest

from checklist_api.executor import commands
from checklist_api.http.op_id import op_id_problem
from checklist_crds.errors import AnswerInvalid, MissingField, ServiceError, ValidationFailed
from checklist_crds.runs.commands import Cancel, RemovePhotos

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
    for written, given, meant in ((1, None, 1), (1, 1, 1), (None, 1, 1), (0, None, 0)):
        command = commands.remove_photos("s-a", given, {"photo_index": written, "op_id": "1"}, None)
        assert command == RemovePhotos(step_id="s-a", photo_index=meant, op_id="1")
    wrong: list[tuple[Any, int | None]] = [("1", None), (True, None), (-1, None), (1.5, None), ([0], 0), (1, 2)]
    for unclear, given in wrong:
        body = {"photo_index": unclear}
        assert problems_of(ValidationFailed, commands.remove_photos, "s-a", given, body, None) == ["photo_index"]


def test_everything_that_is_missing_or_wrong_is_named_at_once() -> None:
    assert problems_of(MissingField, commands.answer_step, "s-a", {"op_id": 5}, None) == ["value"]
    assert problems_of(MissingField, commands.give_identity, {}, None) == ["email", "name"]
    body = {"name": " ", "email": "x", "op_id": 1}
    assert problems_of(ValidationFailed, commands.give_identity, body, None) == ["email", "name", "op_id"]
    bad = {"value": 1, "op_id": "", "geo": {"lat": 91, "lng": "x"}}
    assert problems_of(ValidationFailed, commands.answer_step, "s-a", bad, None) == ["geo.lat", "geo.lng", "op_id"]
    bad = {"value": 1, "geo": {"lat": 91, "lng": 0}}  # alone, it is a wrong answer
    assert problems_of(AnswerInvalid, commands.answer_step, "s-a", bad, None) == ["geo.lat"]
