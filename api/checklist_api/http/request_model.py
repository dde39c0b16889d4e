"""Base of request bodies as pydantic models (contract section 7).

Missing fields give a 400, invalid ones a 422, each with all problems at once.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from checklist_crds.errors import MissingField, Problem, ValidationFailed
from checklist_crds.ids import ID_PATTERNS
from checklist_crds.templates.structure import path_of
from checklist_crds.times import parse_local_timestamp, parse_timestamp
from checklist_crds.values.json_types import json_type_name, text_fault

from .json_body import missing_fields

_WANTED: Final = {
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "list_type": "an array",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_IDS: Final = {pattern: prefix for prefix, pattern in ID_PATTERNS.items()}


class RequestModel(BaseModel):
    """Base of request bodies. null counts as absent if the field may be None."""

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)
    refused: ClassVar[str | None] = None
    """Message of the 422; None for the error's default."""

    @classmethod
    def read(cls, body: Mapping[str, Any], **context: Any) -> Self:
        """Validate `body`. `context`: for the validators. Raises MissingField, ValidationFailed."""
        try:
            return cls.model_validate(body, context=context)
        except ValidationError as failure:
            errors = failure.errors(include_url=False)
        # Raised outside of the handler, so that tracebacks do not contain the body, which may have secrets.
        raise _refusal(errors, body, cls.refused)


def several(problems: Sequence[Problem]) -> PydanticCustomError:
    """Return an error with several problems, which have paths in the body."""
    return PydanticCustomError("several", "is not valid", {"problems": list(problems)})


def wrong(code: str, message: str) -> PydanticCustomError:
    """Return an error of one field. `message`: a sentence."""
    return PydanticCustomError(code, "{message}", {"message": message})


def _refusal(
    errors: Sequence[ErrorDetails], body: Mapping[str, Any], text: str | None
) -> MissingField | ValidationFailed:
    missing = [path_of(error["loc"]) for error in errors if _is_absent(error)]
    if missing:
        return missing_fields(missing)
    place_of = _Order(body)
    return ValidationFailed(
        text,
        details=[
            problem
            for error in sorted(errors, key=lambda error: place_of(error["loc"]))
            for problem in _problems(error)
        ],
    )


class _Order:
    """Sort key of problems: the order of the body; absent fields last."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self._indices: dict[int, dict[str, int]] = {}

    def __call__(self, location: tuple[int | str, ...]) -> tuple[int, ...]:
        place: list[int] = []
        node: object = self._body
        for part in location:
            if isinstance(node, Mapping) and isinstance(part, str):
                # Cached, because a body may have thousands of unknown members.
                indices = self._indices.setdefault(id(node), {})
                if not indices:
                    indices.update((key, index) for index, key in enumerate(node))
                place.append(indices.get(part, len(indices)))
                node = node.get(part)
            elif isinstance(node, list) and isinstance(part, int):
                place.append(part)
                node = node[part] if part < len(node) else None
        return tuple(place)


def _is_absent(error: ErrorDetails) -> bool:
    """Whether a required member of the body or of `webhook` is absent, which gives a 400."""
    location, by_validator = error["loc"], "ctx" in error
    own = len(location) == 1 or (len(location) == 2 and location[0] == "webhook")
    return error["type"] == "missing" and own and not by_validator


def _problems(error: ErrorDetails) -> Sequence[Problem]:
    context = error.get("ctx", {})
    if "problems" in context:
        return [problem for problem in context["problems"] if isinstance(problem, Problem)]
    code, message = _code_and_message(error["type"], error["input"], context, error["msg"])
    return [Problem(path_of(error["loc"]), code, message)]


def _code_and_message(kind: str, value: object, context: Mapping[str, Any], message: str) -> tuple[str, str]:
    if kind in _WANTED:
        return "wrong_type", f"Must be {_WANTED[kind]}, not {json_type_name(value)}."
    match kind:
        case "missing":
            return "missing", "This field is required."
        case "extra_forbidden":
            return "unknown_field", "There is no such field."
        case "string_too_long":
            return "too_long", f"Must have at most {context['max_length']} characters."
        case "string_too_short":
            return "too_short", f"Must have at least {context['min_length']} characters."
        case "string_pattern_mismatch":
            prefix = _IDS.get(context["pattern"])
            return "pattern", f"Must be {prefix}- and a lower-case UUID." if prefix else "The format is invalid."
        case "greater_than":
            return "out_of_range", f"Must be more than {context['gt']:g}."
        case "greater_than_equal":
            return "out_of_range", f"Must be at least {context['ge']:g}."
        case "less_than_equal":
            return "out_of_range", f"Must be at most {context['le']:g}."
        case _:
            # Errors of our validators: their type is the code.
            return kind, f"{message[0].upper()}{message[1:].removesuffix('.')}."


def _storable(text: str) -> str:
    if fault := text_fault(text):
        raise wrong("invalid_text", f"It {fault}.")
    return text


def _instant(value: object) -> datetime:
    return _parsed(value, parse_timestamp)


def _local_instant(value: object) -> datetime:
    return _parsed(value, parse_local_timestamp)


def _parsed(value: object, parse: Callable[[str], datetime]) -> datetime:
    try:
        return parse(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, AttributeError):
        raise wrong("invalid_timestamp", "Must be a timestamp such as 2026-11-21T13:50:00Z.") from None


def among(allowed: Sequence[str]) -> AfterValidator:
    """Validate that a text is one of `allowed`."""

    def check(text: str) -> str:
        if text not in allowed:
            raise wrong("invalid_option", f"Must be one of {', '.join(allowed)}.")
        return text

    return AfterValidator(check)


STORABLE: Final = AfterValidator(_storable)
"""Validates stored texts: no NUL and no lone surrogates."""
Instant = Annotated[datetime, BeforeValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})]
LocalInstant = Annotated[
    datetime, BeforeValidator(_local_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""With the offset that was sent, which says what day it is for the sender."""
