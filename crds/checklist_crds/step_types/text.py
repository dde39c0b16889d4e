"""Text that somebody types, or that a code holds."""

from typing import Annotated, Any, Final

from pydantic import Field, JsonValue

from ..values.json_types import Absentable, Bool, JsonModel, Text, has_visible_text, text_fault
from .base import CONTAINMENT, EQUALITY, EXISTS, AnswerLike, Config, StepOf, StepRules, invalid, optional, wrong_type

MAX_TEXT: Final = 500
MAX_LONG_TEXT: Final = 4_000

Placeholder = Absentable[Annotated[Text, Field(max_length=500)]]
_PLACEHOLDER: Final = "Type text: shown in the empty field."


class TextConfig(JsonModel):
    multiline: Absentable[Bool] = optional(
        "Type text: whether the answer may be long, up to 4,000 characters instead of 500 (default false)."
    )
    placeholder: Placeholder = optional(_PLACEHOLDER)


class ScanConfig(JsonModel):
    placeholder: Placeholder = optional(_PLACEHOLDER)


class _Typed(StepRules[Config]):
    operators = EQUALITY | CONTAINMENT | EXISTS

    def limit(self, step: StepOf[Config]) -> int:
        return MAX_TEXT

    def validate(self, step: StepOf[Config], value: Any) -> JsonValue:
        if not isinstance(value, str):
            raise wrong_type("a string", value)
        limit = self.limit(step)
        if len(value) > limit:
            raise invalid("too_long", f"The answer may have at most {limit} characters, not {len(value)}.")
        if fault := text_fault(value):
            raise invalid("invalid_text", f"The answer {fault}.")
        if step.required and not has_visible_text(value):
            raise invalid("blank", "The answer must not be blank.")
        return value

    def has_value(self, answer: AnswerLike) -> bool:
        return isinstance(answer.value, str) and has_visible_text(answer.value)


class TextRules(_Typed[TextConfig]):
    config = TextConfig

    def limit(self, step: StepOf[TextConfig]) -> int:
        return MAX_LONG_TEXT if step.config.multiline else MAX_TEXT


class Scan(_Typed[ScanConfig]):
    config = ScanConfig
