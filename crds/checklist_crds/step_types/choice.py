"""Step types boolean, choice and multi_choice."""

from collections.abc import Collection, Iterator
from datetime import date
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import Field, JsonValue, Strict

from ..errors import Problem
from ..ids import AUTHOR_ID_PATTERNS
from ..values.json_types import AS_INTEGER, Absentable, JsonModel, VisibleText, json_type_name, optional
from .answer_schemas import Criterion, exact
from .base import CONTAINMENT, EQUALITY, EXISTS, LISTS, Operator, ShortText, StepOf, StepRules, invalid, wrong_type
from .display_text import ENGLISH, DisplayText
from .expected import Expected, ExpectedConfig

MAX_OPTIONS: Final = 100

OptionId = Annotated[str, Field(pattern=AUTHOR_ID_PATTERNS["o"], max_length=66)]


class BooleanConfig(ExpectedConfig):
    true_label: Absentable[ShortText] = optional("Type boolean: what the executor reads for true (default Yes).")
    false_label: Absentable[ShortText] = optional("Type boolean: what the executor reads for false (default No).")


class Boolean(StepRules[BooleanConfig]):
    config = BooleanConfig
    operators = EQUALITY | EXISTS
    compared = (bool, "true or false")
    json_type = "boolean"

    def validate(self, step: StepOf[BooleanConfig], value: Any) -> JsonValue:
        if not isinstance(value, bool):
            raise wrong_type("true or false", value)
        return value

    def value_schema(self, step: StepOf[BooleanConfig]) -> dict[str, Any]:
        return {"type": "boolean"}

    def expected_problems(self, step: StepOf[BooleanConfig], expected: Expected, path: str) -> Iterator[Problem]:
        if not isinstance(expected, bool):
            yield Problem(path, "wrong_type", "A boolean step expects true or false.")

    def is_expected(self, expected: Expected, value: Any, today: date) -> bool:
        return not isinstance(expected, bool) or value is expected

    def expected_text(self, step: StepOf[BooleanConfig], expected: Expected, words: DisplayText = ENGLISH) -> str:
        return self.display(step, expected, words)

    def display(self, step: StepOf[BooleanConfig], value: Any, words: DisplayText = ENGLISH) -> str:
        if not isinstance(value, bool):
            return str(value)
        return (step.config.true_label or words.yes) if value else (step.config.false_label or words.no)

    def sort_key(self, value: Any) -> Any:
        return value if isinstance(value, bool) else None


class Option(JsonModel):
    """One option of a choice or multi_choice step."""

    id: OptionId = Field(
        description="Its id: `o-` and 1 to 64 of A-Z a-z 0-9 _ -, unique in its step. The answer's value."
    )
    label: Annotated[VisibleText, Field(max_length=200)] = Field(description="What the executor reads.")


class ChoiceConfig(ExpectedConfig):
    options: Absentable[Annotated[list[Option], Field(max_length=MAX_OPTIONS)]] = optional(
        "Types choice, multi_choice: what can be chosen, in order."
    )


class SelectionConfig(ChoiceConfig):
    min_selected: Absentable[Annotated[int, Field(ge=0, le=MAX_OPTIONS), Strict(), AS_INTEGER]] = optional(
        "Type multi_choice: fewest options to choose (default 1 when the step is required, else 0)."
    )
    max_selected: Absentable[Annotated[int, Field(ge=1, le=MAX_OPTIONS), Strict(), AS_INTEGER]] = optional(
        "Type multi_choice: most options to choose (default: all of them)."
    )


_Options = TypeVar("_Options", bound=ChoiceConfig)


class _OfOptions(StepRules[_Options], Generic[_Options]):
    compared = (str, "an option id")

    def expected_problems(self, step: StepOf[_Options], expected: Expected, path: str) -> Iterator[Problem]:
        if not isinstance(expected, list):
            yield Problem(path, "wrong_type", f"A {step.type.value} step expects a list of option ids.")
            return
        known, seen = set(option_ids(step)), set[str]()
        for index, option in enumerate(expected):
            if known and option not in known:
                yield Problem(f"{path}[{index}]", "unknown_option", f"The step has no option {option!r}.")
            elif option in seen:
                yield Problem(f"{path}[{index}]", "duplicate_option", f"The option {option} is listed twice.")
            seen.add(option)

    def is_expected(self, expected: Expected, value: Any, today: date) -> bool:
        chosen: Collection[Any] = value if isinstance(value, list) else [value]
        return not isinstance(expected, list) or all(option in expected for option in chosen)

    def expected_text(self, step: StepOf[_Options], expected: Expected, words: DisplayText = ENGLISH) -> str:
        labels = _labels(step)
        return words.items([labels.get(option, option) for option in expected]) if isinstance(expected, list) else ""

    def config_problems(self, step: StepOf[_Options], path: str, unread: set[str]) -> Iterator[Problem]:
        options = step.config.options
        if "config.options" in unread:
            return
        if options is None:
            yield Problem(f"{path}.options", "missing", f"A {step.type.value} step needs options to choose from.")
        elif not options:
            yield Problem(f"{path}.options", "too_few", f"A {step.type.value} step needs at least one option.")
        seen: set[str] = set()
        for index, option in enumerate(options or ()):
            if option.id in seen:
                text = f"The option id {option.id} is used twice in this step."
                yield Problem(f"{path}.options[{index}].id", "duplicate_id", text)
            seen.add(option.id)

    def comparison_fault(self, step: StepOf[_Options], value: Any) -> tuple[str, str] | None:
        fault = super().comparison_fault(step, value)
        if fault is None and step.config.options and value not in option_ids(step):
            return "unknown_option", f"{step.id} has no option {value[:100]}."
        return fault


class Choice(_OfOptions[ChoiceConfig]):
    config = ChoiceConfig
    operators = EQUALITY | LISTS | EXISTS

    def expected_problems(self, step: StepOf[ChoiceConfig], expected: Expected, path: str) -> Iterator[Problem]:
        yield from super().expected_problems(step, expected, path)
        if expected == []:
            yield Problem(path, "too_few", "Must list at least one option.")

    def validate(self, step: StepOf[ChoiceConfig], value: Any) -> JsonValue:
        if not isinstance(value, str):
            raise wrong_type("an option id", value)
        if value not in option_ids(step):
            raise invalid("unknown_option", f"The step has no option {value[:80]!r}.")
        return value

    def value_schema(self, step: StepOf[ChoiceConfig]) -> dict[str, Any]:
        return _option_schema(step)

    def display(self, step: StepOf[ChoiceConfig], value: Any, words: DisplayText = ENGLISH) -> str:
        return _labels(step).get(value, value) if isinstance(value, str) else str(value)


class MultiChoice(_OfOptions[SelectionConfig]):
    config = SelectionConfig
    operators = CONTAINMENT | EXISTS
    json_type = "array"

    def config_problems(self, step: StepOf[SelectionConfig], path: str, unread: set[str]) -> Iterator[Problem]:
        yield from super().config_problems(step, path, unread)
        count = len(step.config.options or ())
        if not count or unread & {"config.options", "config.min_selected", "config.max_selected"}:
            return
        fewest, most = selection_bounds(step)
        if most > count:
            yield Problem(f"{path}.max_selected", "out_of_range", f"Must not be above the number of options, {count}.")
        if fewest > min(most, count):
            text = f"Must not be above {min(most, count)}, the most options that can be selected."
            yield Problem(f"{path}.min_selected", "out_of_range", text)

    def validate(self, step: StepOf[SelectionConfig], value: Any) -> JsonValue:
        if not isinstance(value, list):
            raise wrong_type("a list of option ids", value)
        known = option_ids(step)
        for item in value:
            if not isinstance(item, str):
                raise invalid("wrong_type", f"The answer must be a list of option ids, not of {json_type_name(item)}.")
            if item not in known:
                raise invalid("unknown_option", f"The step has no option {item[:80]!r}.")
        chosen = set(value)
        if len(chosen) < len(value):
            raise invalid("duplicate_option", "An option can be selected only once.")
        fewest, most = selection_bounds(step)
        if len(chosen) < fewest:
            raise invalid("too_few", f"At least {fewest} must be selected.")
        if len(chosen) > most:
            raise invalid("too_many", f"At most {most} can be selected.")
        return [option for option in known if option in chosen]

    def value_schema(self, step: StepOf[SelectionConfig]) -> dict[str, Any]:
        fewest, most = selection_bounds(step)
        items = _option_schema(step)
        return {"type": "array", "items": items, "uniqueItems": True, "minItems": fewest, "maxItems": most}

    def expected_text(self, step: StepOf[SelectionConfig], expected: Expected, words: DisplayText = ENGLISH) -> str:
        return words.none if expected == [] else super().expected_text(step, expected, words)

    def comparison_criterion(self, op: Operator, wanted: Any) -> Criterion:
        holds = {"contains": {"const": wanted}}
        return exact({"type": "array"} | (holds if op is Operator.CONTAINS else {"not": holds}))

    def display(self, step: StepOf[SelectionConfig], value: Any, words: DisplayText = ENGLISH) -> str:
        if not isinstance(value, list):
            return str(value)
        labels = _labels(step)
        return words.items([labels.get(str(item), str(item)) for item in value]) if value else words.none


def option_ids(step: StepOf[ChoiceConfig]) -> list[str]:
    """Returns the option ids of a choice or multi_choice step, in order."""
    return [option.id for option in step.config.options or ()]


def selection_bounds(step: StepOf[SelectionConfig]) -> tuple[int, int]:
    """Returns the minimum and maximum number of selected options of a multi_choice step."""
    config = step.config
    fewest = int(step.required) if config.min_selected is None else config.min_selected
    return fewest, len(config.options or ()) if config.max_selected is None else config.max_selected


def _option_schema(step: StepOf[ChoiceConfig]) -> dict[str, Any]:
    options = step.config.options or ()
    return {"type": "string", "oneOf": [{"const": option.id, "title": option.label} for option in options]}


def _labels(step: StepOf[ChoiceConfig]) -> dict[str, str]:
    return {option.id: option.label for option in step.config.options or ()}
