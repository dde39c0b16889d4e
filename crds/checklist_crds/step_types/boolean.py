"""Yes or no."""

from typing import Annotated, Any

from pydantic import Field, JsonValue

from ..values.json_types import Absentable, JsonModel, Text
from .base import EQUALITY, EXISTS, StepOf, StepRules, optional, wrong_type

ShortText = Annotated[Text, Field(max_length=200)]


class BooleanConfig(JsonModel):
    true_label: Absentable[ShortText] = optional("Type boolean: what the executor reads for true (default Yes).")
    false_label: Absentable[ShortText] = optional("Type boolean: what the executor reads for false (default No).")


class Boolean(StepRules[BooleanConfig]):
    config = BooleanConfig
    operators = EQUALITY | EXISTS
    compared = "true or false"

    def validate(self, step: StepOf[BooleanConfig], value: Any) -> JsonValue:
        if not isinstance(value, bool):
            raise wrong_type("true or false", value)
        return value

    def display(self, step: StepOf[BooleanConfig], value: Any) -> str:
        if not isinstance(value, bool):
            return str(value)
        return (step.config.true_label or "Yes") if value else (step.config.false_label or "No")

    def sort_key(self, value: Any) -> Any:
        return value if isinstance(value, bool) else None

    def is_comparable(self, value: Any) -> bool:
        return isinstance(value, bool)
