"""Detects which features of the OpenAI-compatible API the model's server supports.

Begun is with the most: structured output by a JSON schema. What a server refuses is left out, one thing at a time, and
what it took is remembered: the next prompt does not ask for it again.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from .schema import strict_schema

FORGET_AFTER_S: Final = 3_600.0
"""A server may have been replaced by a better one."""
MAX_STEPS: Final = 6
"""Refusals that are understood at all: three of the format, two of the field for tokens, one of the temperature."""

_TOKENS: Final = re.compile(r"max_(?:completion_)?tokens", re.IGNORECASE)
_TEMPERATURE: Final = re.compile(r"temperature", re.IGNORECASE)


class AnswerForm(StrEnum):
    """How the server is told to answer."""

    BOUNDED_SCHEMA = "bounded_json_schema"
    """With bounds of lengths and counts, which not every server takes."""
    SCHEMA = "json_schema"
    OBJECT = "json_object"
    TEXT = "text"

    @property
    def has_schema(self) -> bool:
        return self in (AnswerForm.BOUNDED_SCHEMA, AnswerForm.SCHEMA)


class TokensField(StrEnum):
    """What the bound of the answer's tokens is called."""

    OLD = "max_tokens"
    NEW = "max_completion_tokens"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What to ask for."""

    form: AnswerForm = AnswerForm.BOUNDED_SCHEMA
    tokens: TokensField = TokensField.OLD
    temperature: bool = True

    def members(self, max_tokens: int) -> dict[str, Any]:
        """The members of a request that depend on the dialect."""
        members: dict[str, Any] = {self.tokens.value: max_tokens}
        if self.temperature:
            members["temperature"] = 0
        if self.form.has_schema:
            schema = strict_schema(bounded=self.form is AnswerForm.BOUNDED_SCHEMA)
            described = {"name": "checklist_template", "strict": True, "schema": schema}
            members["response_format"] = {"type": "json_schema", "json_schema": described}
        elif self.form is AnswerForm.OBJECT:
            members["response_format"] = {"type": "json_object"}
        return members

    def without_what(self, complaint: str, tried: "frozenset[Dialect]") -> "Dialect | None":
        """The next one to try after the server refused this one with an error that says `complaint`; None: give up."""
        candidates: list[Dialect] = []
        if self.temperature and _TEMPERATURE.search(complaint):
            candidates.append(replace(self, temperature=False))
        if _TOKENS.search(complaint):
            other = TokensField.NEW if self.tokens is TokensField.OLD else TokensField.OLD
            candidates.append(replace(self, tokens=other))
        forms = list(AnswerForm)
        candidates += [replace(self, form=form) for form in forms[forms.index(self.form) + 1 :][:1]]
        return next((candidate for candidate in candidates if candidate not in tried), None)


class RememberedDialect:
    """The dialect that the server took last."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._dialect = Dialect()
        self._since = monotonic()

    def current(self) -> Dialect:
        if self._monotonic() - self._since > FORGET_AFTER_S:
            self._dialect, self._since = Dialect(), self._monotonic()
        return self._dialect

    def took(self, dialect: Dialect) -> None:
        """Only what was taken is learned: a refusal may have been of the prompt."""
        if dialect != self._dialect:
            self._dialect, self._since = dialect, self._monotonic()
