"""Detects which features of the OpenAI-compatible API the model's server supports.

It starts with all features (structured output with a bounded JSON schema), drops one after each rejection, and caches
what the server accepted.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from .schema import strict_schema

FORGET_AFTER_S: Final = 3_600.0
"""After this time all features are tried again, in case the server was upgraded."""
MAX_STEPS: Final = 6
"""Maximum number of downgrades: three of the format, two of the token field, one of the temperature."""

_TOKENS: Final = re.compile(r"max_(?:completion_)?tokens", re.IGNORECASE)
_TEMPERATURE: Final = re.compile(r"temperature", re.IGNORECASE)


class AnswerForm(StrEnum):
    """Requested response format."""

    BOUNDED_SCHEMA = "bounded_json_schema"
    """With limits of lengths and counts, which some servers reject."""
    SCHEMA = "json_schema"
    OBJECT = "json_object"
    TEXT = "text"

    @property
    def has_schema(self) -> bool:
        return self in (AnswerForm.BOUNDED_SCHEMA, AnswerForm.SCHEMA)


class TokensField(StrEnum):
    """Name of the token limit."""

    OLD = "max_tokens"
    NEW = "max_completion_tokens"


@dataclass(frozen=True, slots=True)
class Dialect:
    """A set of features."""

    form: AnswerForm = AnswerForm.BOUNDED_SCHEMA
    tokens: TokensField = TokensField.OLD
    temperature: bool = True

    def members(self, max_tokens: int) -> dict[str, Any]:
        """Return the request members that depend on the dialect."""
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

    def next_after(self, complaint: str, tried: "frozenset[Dialect]") -> "Dialect | None":
        """Return the next dialect to try after a rejection with error text `complaint`; None if there is none."""
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
    """The dialect accepted last."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._dialect = Dialect()
        self._since = monotonic()

    def current(self) -> Dialect:
        if self._monotonic() - self._since > FORGET_AFTER_S:
            self._dialect, self._since = Dialect(), self._monotonic()
        return self._dialect

    def accepted(self, dialect: Dialect) -> None:
        """Remember an accepted dialect. Rejections are not remembered, since the prompt may have caused them."""
        if dialect != self._dialect:
            self._dialect, self._since = dialect, self._monotonic()
