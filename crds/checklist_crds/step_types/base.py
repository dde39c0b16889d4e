"""Base of step types: config, operators of conditions, validation and display of answers.

The methods suit an answer that is one JSON value; types override what differs (contract sections 2 to 4). All except
`config_problems` expect a valid step.
"""

from collections.abc import Iterator, KeysView, Sequence
from datetime import date, datetime
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

from pydantic import Field, JsonValue

from ..errors import AnswerInvalid, Problem
from ..values.json_types import JsonModel, Text, json_type_name
from .answer_schemas import Criterion, exact
from .display_text import ENGLISH, DisplayText
from .expected import Expected
from .photo_bounds import PhotoBounds

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


class AnswerLike(Protocol):
    """An answer: its decoded JSON value, photos and location, whether it is outside what is expected, and its note."""

    @property
    def value(self) -> Any: ...
    @property
    def photos(self) -> Sequence[Any]: ...
    @property
    def geo(self) -> Any: ...
    @property
    def flagged(self) -> bool | None: ...
    @property
    def note(self) -> str | None: ...


Config = TypeVar("Config")
_Config_co = TypeVar("_Config_co", covariant=True)


class StepOf(Protocol[_Config_co]):
    """A step, with its type's part of the config."""

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
    """The rules of one step type, for example `StepType.NUMBER.rules`."""

    config: ClassVar[type[JsonModel]] = JsonModel
    """Declares the config fields of the type."""
    operators: ClassVar[frozenset[Operator]]
    """Operators for conditions on its answer."""
    compared: ClassVar[tuple[type | UnionType, str]] = (str, "a string")
    """Type of the values that its answer is compared with, and its name."""
    json_type: ClassVar[str] = "string"
    """JSON Schema type of its values."""
    takes_answer: ClassVar[bool] = True
    adds_photos: ClassVar[bool] = True
    """Whether the step's `photo` attaches photos to its answer."""
    is_number: ClassVar[bool] = False
    """Whether the answer is a number in a spreadsheet."""

    @property
    def config_fields(self) -> KeysView[str]:
        return self.config.model_fields.keys()

    def config_problems(self, step: StepOf[Config], path: str, unread: set[str]) -> Iterator[Problem]:
        """Yields conflicts between the config fields at `path`; skips rules that need a field in `unread`."""
        yield from ()

    def expected_problems(self, step: StepOf[Config], expected: Expected, path: str) -> Iterator[Problem]:
        """Yields conflicts between `config.expected`, at `path`, and the other fields."""
        yield from ()

    def is_expected(self, expected: Expected, value: Any, today: date) -> bool:
        """Whether a valid value is within what is expected. A form without meaning for the type expects nothing.

        `today`: the day of the answer.
        """
        return True

    def expected_text(self, step: StepOf[Config], expected: Expected, words: DisplayText = ENGLISH) -> str:
        """Formats what is expected for people: `2 to 8 °C`."""
        return ""

    def photo_bounds(self, step: StepOf[Config]) -> PhotoBounds | None:
        """Returns how many photos the step takes, or None for none."""
        return step.photo if step.photo and self.adds_photos else None

    def takes_drawing(self, step: StepOf[Config]) -> bool:
        """Whether an upload to the step is a drawing that belongs to its value."""
        return False

    def validate(self, step: StepOf[Config], value: Any) -> JsonValue:
        """Returns the normal form of an answer's value. Raises AnswerInvalid with problems at `value`."""
        raise NotImplementedError

    def stamped(self, value: JsonValue, at: datetime) -> JsonValue:
        """Adds server-side data to a valid value."""
        return value

    def has_value(self, answer: AnswerLike) -> bool:
        """Whether the answer has a value that conditions can compare."""
        return answer.value is not None

    def value_schema(self, step: StepOf[Config]) -> dict[str, Any]:
        """Return the JSON Schema of the values that `validate` returns."""
        raise NotImplementedError

    def value_criterion(self) -> Criterion:
        """Express `has_value` as JSON Schema of an answer."""
        return exact({"not": {"type": "null"}}).of_member("value")

    def comparison_criterion(self, op: Operator, wanted: Any) -> Criterion:
        """Express a valid comparison other than `exists` as JSON Schema of a value, which is null if missing."""
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

    def display(self, step: StepOf[Config], value: Any, words: DisplayText = ENGLISH) -> str:
        """Formats the value, which is not null, for people."""
        return str(value)

    def sort_key(self, value: Any) -> Any:
        """Returns a key to compare values of the type; None if impossible. 5 and 5.0 are equal, true and 1 are not."""
        return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None

    def comparison_fault(self, step: StepOf[Config], value: Any) -> tuple[str, str] | None:
        """Returns code and text of the problem if a condition cannot compare the answer with this value."""
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
