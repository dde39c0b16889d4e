"""Field types that read JSON without coercing it, shared by every pydantic model.

JSON has one kind of number and Kubernetes keeps it as it likes (`3.0` comes back as `3`), so an integral float is
an integer here and is written as one. Nothing else is turned into anything: `"5"` is no number, `1` is no boolean
and `true` is neither. A `null` in an object means the same as leaving the field out, since the API server prunes
such nulls before it validates; whatever REST accepted must read the same after `kubectl get`.
"""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    Strict,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

MAX_NUMBER: Final = 2**53 - 1
"""The largest magnitude that every JSON reader holds exactly (RFC 8259, section 6)."""

TEXT_PATTERN: Final = r"^[^\x00]*$"
VISIBLE_PATTERN: Final = r"^[^\x00]*[^\s\x00][^\x00]*$"

_T = TypeVar("_T")


def tidy_number(number: float) -> float:
    """An integral float as an integer (`3.0` is `3`, `-0.0` is `0`), anything else as it is."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def has_visible_text(text: str) -> bool:
    """Whether a reader sees anything: spaces, controls and zero-width characters of Unicode do not count."""
    # The first look is for most texts all, and a large template has thousands.
    return "!" <= text[:1] <= "~" or any(unicodedata.category(character)[0] not in "ZC" for character in text)


def text_fault(text: str) -> str | None:
    """Why `text` cannot be stored (NUL, or half of a surrogate pair), or None when it can."""
    if "\x00" in text:
        return "must not contain NUL characters"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "must not contain half of a surrogate pair"
    return None


def json_type_name(value: object) -> str:
    """What a JSON value is, in words: `a string`."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def _integral(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bounded(value: Any) -> Any:
    # Before the conversion to float, which would round 2**53 + 1 down into the range, or overflow.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_NUMBER:
        raise PydanticCustomError("out_of_range", "must be between -{limit} and {limit}", {"limit": MAX_NUMBER})
    return value


def _visible(text: str) -> str:
    if not has_visible_text(text):
        raise PydanticCustomError("blank", "must not be blank")
    return text


# Bounds have to stand before these in an `Annotated`: behind a function, pydantic leaves them out of the schema.
AS_INTEGER: Final = BeforeValidator(_integral)
AS_NUMBER: Final = BeforeValidator(_bounded)
TIDY: Final = AfterValidator(tidy_number)
AS_IT_IS: Final = PlainSerializer(lambda number: number)  # pydantic would write 5 as 5.0

Bool = Annotated[bool, Strict()]
Integer = Annotated[int, Strict(), AS_INTEGER]
Number = Annotated[
    float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, allow_inf_nan=False), Strict(), AS_NUMBER, TIDY, AS_IT_IS
]
"""A finite JSON number; integral ones are kept as `int`."""
Text = Annotated[str, Strict(), Field(pattern=TEXT_PATTERN)]
"""Any text without NUL; may be empty. Give it a `max_length`."""
VisibleText = Annotated[str, Strict(), Field(min_length=1, pattern=VISIBLE_PATTERN), AfterValidator(_visible)]
"""Text of which a reader sees something. Give it a `max_length`."""


class _NoNullInSchema:
    """Keeps `| None` out of the JSON schema: None is the absence of the field, not a value that it may have."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        written = dict(handler(schema))
        branches = [branch for branch in written.pop("anyOf", ()) if branch != {"type": "null"}]
        return written | (branches[0] if len(branches) == 1 else {"anyOf": branches})


Absentable = Annotated[_T | None, _NoNullInSchema()]
"""A field that may be left out; with `optional` it is written only when it has a value."""


def _is_absent(value: object) -> bool:
    return value is None


def optional(description: str, **bounds: Any) -> Any:
    """The declaration of an `Absentable` field."""
    return Field(default=None, exclude_if=_is_absent, description=description, **bounds)


def _without_null_defaults(schema: dict[str, Any]) -> None:
    # `default: null` on a field that is not nullable says that it may be left out, which `required` says already;
    # in a CRD it would be refused.
    for field in schema.get("properties", {}).values():
        nullable = any(branch.get("type") == "null" for branch in field.get("anyOf", ()))
        if "default" in field and field["default"] is None and not nullable:
            del field["default"]


class JsonModel(BaseModel):
    """Base of the models that read JSON objects: immutable, unknown fields ignored, null the same as absent."""

    model_config = ConfigDict(extra="ignore", frozen=True, json_schema_extra=_without_null_defaults)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if isinstance(data, dict) and None not in data.values():
            return data
        if not isinstance(data, Mapping):
            return data
        known = cls.model_fields
        return {key: value for key, value in data.items() if value is not None or key not in known}
