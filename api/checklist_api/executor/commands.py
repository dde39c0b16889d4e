"""From the body of an executor's request to the command it means; everything that is wrong is told at once.

Here is decided what can be said without the run: shapes, lengths, the e-mail address. What the checklist itself says of
a value, a step or the end of the run is up to `run_lifecycle.decide`.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

import idna

from checklist_crds.answers import validate_geo
from checklist_crds.errors import AnswerInvalid, Problem, ValidationFailed
from checklist_crds.json_types import has_visible_text, text_fault
from checklist_crds.run_commands import (
    AnswerStep,
    Cancel,
    ClearAnswer,
    DrawSignature,
    GiveIdentity,
    Open,
    RemovePhotos,
    SkipStep,
    Submit,
)
from checklist_crds.run_types import Geo
from checklist_crds.template_structure import json_type_name

from ..http.op_id import ambiguity, only_op_id
from ..http.request_body import require_members

MAX_BATCH: Final = 200
MAX_NAME: Final = 200
MAX_EMAIL: Final = 254
MAX_REASON: Final = 500
MAX_PHOTO_INDEX: Final = 999_999
_LOCAL_PART: Final = re.compile(r"[^\s@.,:;<>()\[\]\\\"\x00-\x1f\x7f]+(?:\.[^\s@.,:;<>()\[\]\\\"\x00-\x1f\x7f]+)*")

Body = Mapping[str, Any]


def answer_step(step_id: str, body: dict[str, Any], op_id: str | None) -> AnswerStep:
    """`{value, geo?, op_id?}`. Raises MissingField, ValidationFailed, AnswerInvalid (the location)."""
    require_members(body, "value")
    reading = _Reading(body, op_id)
    geo = reading.geo()
    reading.finish()
    return AnswerStep(step_id=step_id, value=body["value"], geo=geo, op_id=reading.op_id)


def clear_answer(step_id: str, body: Body, op_id: str | None) -> ClearAnswer:
    """`{op_id?}`"""
    return ClearAnswer(step_id=step_id, op_id=only_op_id(body.get("op_id"), op_id))


def skip_step(step_id: str, body: Body, op_id: str | None) -> SkipStep:
    """`{op_id?}`"""
    return SkipStep(step_id=step_id, op_id=only_op_id(body.get("op_id"), op_id))


def remove_photos(step_id: str, photo_index: int | None, body: Body, op_id: str | None) -> RemovePhotos:
    """`{photo_index?, op_id?}`; `photo_index` is that of the query. Raises ValidationFailed.

    An index that was meant must never go unread: without one, all photos of the step go.
    """
    reading = _Reading(body, op_id)
    index = reading.photo_index(photo_index)
    reading.finish()
    return RemovePhotos(step_id=step_id, photo_index=index, op_id=reading.op_id)


def take_drawing_back(body: Body, op_id: str | None) -> DrawSignature:
    """`{op_id?}`"""
    return DrawSignature(photo=None, op_id=only_op_id(body.get("op_id"), op_id))


def open_run(body: Body, op_id: str | None) -> Open:
    """`{op_id?}`"""
    return Open(op_id=only_op_id(body.get("op_id"), op_id))


def give_identity(body: dict[str, Any], op_id: str | None) -> GiveIdentity:
    """`{name, email, op_id?}`. Raises MissingField, ValidationFailed."""
    require_members(body, "name", "email")
    reading = _Reading(body, op_id)
    name = reading.name("name", body["name"])
    email = reading.email("email", body["email"])
    reading.finish()
    return GiveIdentity(name=name, email=email, op_id=reading.op_id)


def submit(body: Body, op_id: str | None) -> Submit:
    """`{signature?: {name}, op_id?}`. Raises ValidationFailed."""
    reading = _Reading(body, op_id)
    signature, name = body.get("signature"), None
    if isinstance(signature, Mapping):
        name = reading.name("signature.name", signature.get("name"))
    elif signature is not None:
        reading.refuse("signature", "wrong_type", f"Must be an object with a name, not {json_type_name(signature)}.")
    reading.finish()
    return Submit(signature_name=name, op_id=reading.op_id)


def cancel(body: Body, op_id: str | None) -> Cancel:
    """`{reason?, op_id?}`. Raises ValidationFailed."""
    reading = _Reading(body, op_id)
    reason = body.get("reason")
    if reason is not None:
        reason = reading.text("reason", reason, MAX_REASON)
    reading.finish()
    return Cancel(reason=reason or None, op_id=reading.op_id)


class _Reading:
    """Collects what is wrong with one body. `given` is the op_id of the query or the header."""

    def __init__(self, body: Body, given: str | None) -> None:
        self._body = body
        self._problems: list[Problem] = []
        self._answer_problems: list[Problem] = []
        written = body.get("op_id")
        self.op_id: str | None = given if written is None else written
        if problem := ambiguity(written, given):
            self._problems.append(problem)

    def refuse(self, path: str, code: str, text: str) -> str:
        self._problems.append(Problem(path, code, text))
        return ""

    def finish(self) -> None:
        """Raises ValidationFailed, or AnswerInvalid when nothing but the answer is wrong."""
        if self._problems:
            raise ValidationFailed(details=[*self._problems, *self._answer_problems])
        if self._answer_problems:
            raise AnswerInvalid("The location is not valid.", details=self._answer_problems)

    def geo(self) -> Geo | None:
        try:
            location = validate_geo(self._body.get("geo"))
        except AnswerInvalid as error:
            self._answer_problems += [problem for problem in error.details or () if isinstance(problem, Problem)]
            return None
        return None if location is None else Geo.model_validate(location)

    def photo_index(self, given: int | None) -> int | None:
        written = self._body.get("photo_index")
        if written is None:
            return given
        if isinstance(written, bool) or not isinstance(written, int) or not 0 <= written <= MAX_PHOTO_INDEX:
            self.refuse("photo_index", "wrong_type", "Must be the index of a photo: a whole number from 0 on.")
        elif given is not None and given != written:
            self.refuse("photo_index", "ambiguous", "The body has another photo_index than the query.")
        else:
            return written
        return None

    def text(self, path: str, value: object, limit: int) -> str:
        """The text without the space around it."""
        if not isinstance(value, str):
            return self.refuse(path, "wrong_type", f"Must be a string, not {json_type_name(value)}.")
        if fault := text_fault(value):
            return self.refuse(path, "invalid_text", f"It {fault}.")
        value = value.strip()
        if len(value) > limit:
            return self.refuse(path, "too_long", f"At most {limit} characters, not {len(value)}.")
        return value

    def name(self, path: str, value: object) -> str:
        """A person's name: one line of which something can be seen."""
        if value is None:
            return self.refuse(path, "missing", "The name is required.")
        before = len(self._problems)
        name = self.text(path, value, MAX_NAME)
        if len(self._problems) > before:
            return ""
        if not has_visible_text(name):
            return self.refuse(path, "blank", "The name must not be blank.")
        if any(unicodedata.category(character) == "Cc" for character in name):
            return self.refuse(path, "invalid_text", "The name must not contain control characters.")
        return name

    def email(self, path: str, value: object) -> str:
        before = len(self._problems)
        email = self.text(path, value, MAX_EMAIL)
        if len(self._problems) > before:
            return ""
        if not is_email_address(email):
            return self.refuse(path, "invalid_format", "Must be an e-mail address like name@example.com.")
        return email


def is_email_address(text: str) -> bool:
    """Whether mail could be sent there: a dotted local part of at most 64 characters, and a domain name of at least
    two labels, international ones included. Quoted local parts and address literals are left out on purpose."""
    local, at, domain = text.rpartition("@")
    if not at or len(local) > 64 or _LOCAL_PART.fullmatch(local) is None:
        return False
    if any(unicodedata.category(character)[0] in "CZ" for character in local):
        return False
    try:
        encoded = idna.encode(domain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return False
    labels = encoded.split(".")
    return len(labels) >= 2 and all(labels) and not labels[-1].isdigit()
