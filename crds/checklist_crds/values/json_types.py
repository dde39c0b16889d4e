"""Field types that parse JSON without coercion, shared by all pydantic models.

JSON has one type of number, and Kubernetes may change its form (`3.0` comes back as `3`), so an integral float is an
integer here and is written as one. Nothing else is converted: `"5"` is not a number, `1` is not a boolean. A `null` in
an object means that the field is absent, since the API server removes such nulls before it validates; what REST
accepted must read the same after `kubectl get`.
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
"""The largest magnitude that every JSON parser represents exactly (RFC 8259, section 6)."""

TEXT_PATTERN: Final = r"^[^\x00]*$"
VISIBLE_PATTERN: Final = r"^[^\x00]*[^\s\x00][^\x00]*$"

_T = TypeVar("_T")


def tidy_number(number: float) -> float:
    """Converts an integral float to an integer (`3.0` is `3`, `-0.0` is `0`); keeps others."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def has_visible_text(text: str) -> bool:
    """Whether there is a visible character: Unicode spaces, controls and zero-width characters do not count."""
    # The first test suffices for most texts; a large template has thousands.
    return "!" <= text[:1] <= "~" or any(unicodedata.category(character)[0] not in "ZC" for character in text)


def text_fault(text: str) -> str | None:
    """Returns why `text` cannot be stored (NUL, or half of a surrogate pair), or None."""
    if "\x00" in text:
        return "must not contain NUL characters"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "must not contain half of a surrogate pair"
    return None


def json_type_name(value: object) -> str:
    """Names the type of a JSON value: `a string`."""
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
    # Before the conversion to float, which would round 2**53 + 1 into the range, or overflow.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_NUMBER:
        raise PydanticCustomError("out_of_range", "must be between -{limit} and {limit}", {"limit": MAX_NUMBER})
    return value


def _visible(text: str) -> str:
    if not has_visible_text(text):
        raise PydanticCustomError("blank", "must not be blank")
    return text


# Bounds must precede these in an `Annotated`: after a function, pydantic omits them from the schema.
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
"""Text with a visible character. Give it a `max_length`."""


class _NoNullInSchema:
    """Removes `| None` from the JSON schema: None means that the field is absent."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        written = dict(handler(schema))
        branches = [branch for branch in written.pop("anyOf", ()) if branch != {"type": "null"}]
        return written | (branches[0] if len(branches) == 1 else {"anyOf": branches})


Absentable = Annotated[_T | None, _NoNullInSchema()]
"""An optional field; with `optional` it is only written when it has a value."""


def _is_absent(value: object) -> bool:
    return value is None


def optional(description: str, **bounds: Any) -> Any:
    """Declares an `Absentable` field."""
    return Field(default=None, exclude_if=_is_absent, description=description, **bounds)


def _without_null_defaults(schema: dict[str, Any]) -> None:
    # `default: null` on a field that is not nullable only says that it is optional, as `required` does; a CRD with it
    # is refused.
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
