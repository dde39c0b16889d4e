"""Conditions of the template definition language: when a step applies (contract section 3).

Kubernetes' structural schemas have neither union types nor recursion, so a condition is one object with optional parts,
and the two levels of groups are two classes. `templates.condition_rules` checks that exactly one form is used and that
it fits the source step; `templates.conditions` evaluates it.
"""

from typing import Annotated, Any, Final

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ..ids import AUTHOR_ID_PATTERNS
from ..step_types.base import Operator
from ..values.json_types import MAX_NUMBER, TEXT_PATTERN, Absentable, JsonModel, optional, text_fault, tidy_number

MAX_COMPARISONS: Final = 10
MAX_CONDITION_VALUES: Final = 100
MAX_CONDITION_TEXT: Final = 4_000

StepId = Annotated[str, Field(pattern=AUTHOR_ID_PATTERNS["s"], max_length=66)]


def _condition_scalar(value: Any) -> Any:
    if isinstance(value, str):
        if fault := text_fault(value):
            raise PydanticCustomError("invalid_text", "{fault}", {"fault": fault})
        if len(value) > MAX_CONDITION_TEXT:
            # Not "too_long", which is pydantic's type for a list with too many entries.
            raise PydanticCustomError("text_too_long", "has at most {limit} characters", {"limit": MAX_CONDITION_TEXT})
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        # In this form, NaN is refused too.
        if not -MAX_NUMBER <= value <= MAX_NUMBER:
            raise PydanticCustomError(
                "out_of_range", "must be a finite number between -{limit} and {limit}", {"limit": MAX_NUMBER}
            )
        return tidy_number(value)
    raise PydanticCustomError(
        "wrong_type", "must be a string, a number, a boolean, or a list of them for the operators in and not_in"
    )


def _condition_value(value: Any) -> Any:
    if not isinstance(value, list):
        return _condition_scalar(value)
    if len(value) > MAX_CONDITION_VALUES:
        raise PydanticCustomError("too_many", "has at most {limit} values", {"limit": MAX_CONDITION_VALUES})
    return [_condition_scalar(item) for item in value]


_SCALAR_SCHEMA: Final[list[dict[str, Any]]] = [
    {"type": "string", "maxLength": MAX_CONDITION_TEXT, "pattern": TEXT_PATTERN},
    {"type": "number", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER},
    {"type": "boolean"},
]
ConditionValue = Annotated[
    Any,
    PlainValidator(_condition_value),
    WithJsonSchema(
        {
            "anyOf": [
                *_SCALAR_SCHEMA,
                {"type": "array", "maxItems": MAX_CONDITION_VALUES, "items": {"anyOf": _SCALAR_SCHEMA}},
            ]
        }
    ),
]
"""A JSON scalar, or a list of scalars (`in`, `not_in`). Integral floats become integers."""

_STEP_TEXT: Final = "Id of an earlier step, whose answer is compared."
_OP_TEXT: Final = (
    "How the answer is compared with `value`; which operators are allowed depends on the source step's type."
)
_VALUE_TEXT: Final = (
    "What the answer is compared with: of the source step's own type, a list of such values for `in` and `not_in`, "
    "true or false for `exists`."
)


class Comparison(JsonModel):
    """One comparison of an earlier step's answer with a value."""

    step: StepId = Field(description=_STEP_TEXT)
    op: Operator = Field(description=_OP_TEXT)
    value: ConditionValue = Field(description=_VALUE_TEXT)


_PARTS: Final = {"min_length": 1, "max_length": MAX_COMPARISONS}


class _OptionalComparison(JsonModel):
    step: Absentable[StepId] = optional(_STEP_TEXT)
    op: Absentable[Operator] = optional(_OP_TEXT)
    value: Absentable[ConditionValue] = optional(_VALUE_TEXT)


class Clause(_OptionalComparison):
    """A part of a condition: a comparison (`step`, `op`, `value`), or a group of comparisons (`all` or `any`)."""

    all: Absentable[list[Comparison]] = optional("Comparisons that must all hold.", **_PARTS)
    any: Absentable[list[Comparison]] = optional("Comparisons of which at least one must hold.", **_PARTS)


class When(_OptionalComparison):
    """Exactly one of: a comparison (`step`, `op`, `value`), `all`, or `any`. At most 10 comparisons in total."""

    all: Absentable[list[Clause]] = optional("Parts that must all hold.", **_PARTS)
    any: Absentable[list[Clause]] = optional("Parts of which at least one must hold.", **_PARTS)


class Condition(JsonModel):
    """When the step applies. A step without a condition always does."""

    when: When = Field(description="The comparison, or the `all` or `any` group of comparisons, that must hold.")
