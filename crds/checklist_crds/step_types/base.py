"""What a step type says of itself: its config, which conditions may look at its answer, what it takes and shows.

The methods here suit an answer that is one JSON value; a type overrides what is different (contract sections 2 to 4).
All but `config_problems` expect a step without problems.
"""

from collections.abc import Iterator, KeysView, Sequence
from datetime import datetime
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

from pydantic import Field, JsonValue

from ..errors import AnswerInvalid, Problem
from ..values.json_types import Integer, JsonModel, Text, json_type_name
from .answer_schemas import Criterion, exact

MAX_PHOTOS_PER_STEP: Final = 20

ShortText = Annotated[Text, Field(max_length=200)]


class Operator(StrEnum):
    """How a condition compares the answer of its source step with its value (contract section 3)."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    NOT_IN = "not_in"
    CONTAINS = "contains"
    NOT_CONTAINS = "not_contains"
    EXISTS = "exists"


EQUALITY: Final = frozenset({Operator.EQ, Operator.NE})
ORDER: Final = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
LISTS: Final = frozenset({Operator.IN, Operator.NOT_IN})
CONTAINMENT: Final = frozenset({Operator.CONTAINS, Operator.NOT_CONTAINS})
EXISTS: Final = frozenset({Operator.EXISTS})


class PhotoBounds(JsonModel):
    """How many photos are attached to a step."""

    min: Integer = Field(
        default=0, ge=0, le=MAX_PHOTOS_PER_STEP, description="Fewest photos with which the step counts as answered."
    )
    max: Integer = Field(
        default=MAX_PHOTOS_PER_STEP, ge=1, le=MAX_PHOTOS_PER_STEP, description="Most photos that the step takes."
    )


class AnswerLike(Protocol):
    """What is needed of an answer: its decoded JSON value, its photos, its location."""

    @property
    def value(self) -> Any: ...
    @property
    def photos(self) -> Sequence[Any]: ...
    @property
    def geo(self) -> Any: ...


Config = TypeVar("Config")
_Config_co = TypeVar("_Config_co", covariant=True)


class StepOf(Protocol[_Config_co]):
    """What is needed of a step, with the part of its config that its type knows."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> StrEnum: ...
    @property
    def required(self) -> bool: ...
    @property
    def photo(self) -> Literal[False] | PhotoBounds: ...
    @property
    def config(self) -> _Config_co: ...


class StepRules(Generic[Config]):
    """The record of one step type. `StepType.NUMBER.rules` is the one of numbers."""

    config: ClassVar[type[JsonModel]] = JsonModel
    """Declares the fields of a step's config that mean something for the type."""
    operators: ClassVar[frozenset[Operator]]
    """Those with which a condition may look at its answer."""
    compared: ClassVar[tuple[type | UnionType, str]] = (str, "a string")
    """What its answer is compared with, also in words."""
    json_type: ClassVar[str] = "string"
    """Of a value, as JSON Schema calls it."""
    takes_answer: ClassVar[bool] = True
    adds_photos: ClassVar[bool] = True
    """Whether `photo` of a step attaches photos to its answer."""
    is_number: ClassVar[bool] = False
    """Whether a spreadsheet can calculate with the answer."""

    @property
    def config_fields(self) -> KeysView[str]:
        return self.config.model_fields.keys()

    def config_problems(self, step: StepOf[Config], path: str, unread: set[str]) -> Iterator[Problem]:
        """What the fields of the config at `path` say against each other; rules that need one of `unread` are left
        out."""
        yield from ()

    def photo_bounds(self, step: StepOf[Config]) -> PhotoBounds | None:
        """How many photos the step takes, or None when it takes none."""
        return step.photo if step.photo and self.adds_photos else None

    def takes_drawing(self, step: StepOf[Config]) -> bool:
        """Whether what is uploaded to the step is a drawing that belongs to its value."""
        return False

    def validate(self, step: StepOf[Config], value: Any) -> JsonValue:
        """The normal form of an answer's value. Raises AnswerInvalid with problems at `value`."""
        raise NotImplementedError

    def stamped(self, value: JsonValue, at: datetime) -> JsonValue:
        """The valid value with what only the service knows."""
        return value

    def has_value(self, answer: AnswerLike) -> bool:
        """Whether the answer says something that conditions can look at."""
        return answer.value is not None

    def value_schema(self, step: StepOf[Config]) -> dict[str, Any]:
        """JSON Schema of what `validate` gives."""
        raise NotImplementedError

    def value_criterion(self) -> Criterion:
        """`has_value` as JSON Schema, of an answer of the step."""
        return exact({"not": {"type": "null"}}).of_member("value")

    def comparison_criterion(self, op: Operator, wanted: Any) -> Criterion:
        """Whether a value (or null, where there is none) meets a comparison without faults other than `exists`."""
        of_type: dict[str, Any] = {"type": self.json_type}
        match op:
            case Operator.EQ:
                return exact({"const": wanted})
            case Operator.NE:
                return exact(of_type | {"not": {"const": wanted}})
            case Operator.IN:
                return exact({"enum": _distinct(wanted)})
            case Operator.NOT_IN:
                return exact(of_type | {"not": {"enum": _distinct(wanted)}})
            case _:
                raise NotImplementedError(op)

    def display(self, step: StepOf[Config], value: Any) -> str:
        """The value, which is not null, as a person would read it."""
        return str(value)

    def sort_key(self, value: Any) -> Any:
        """What sorts as the type's values do; None for what cannot be compared. 5 and 5.0 are equal, true and 1 are
        not."""
        return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None

    def comparison_fault(self, step: StepOf[Config], value: Any) -> tuple[str, str] | None:
        """Why a condition cannot compare the step's answer with this one value: a problem's code and text."""
        form, words = self.compared
        if isinstance(value, form) and self.sort_key(value) is not None:
            return None
        return "value_type", f"{step.id} is a {step.type.value} step; the value must be {words}."


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def invalid(code: str, text: str, path: str = "value") -> AnswerInvalid:
    return AnswerInvalid(text, details=[Problem(path, code, text)])


def wrong_type(wanted: str, value: Any) -> AnswerInvalid:
    return invalid("wrong_type", f"The answer must be {wanted}, not {json_type_name(value)}.")
