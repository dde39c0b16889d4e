"""Step types photo, signature and instruction."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from ..errors import Problem
from ..times import format_timestamp
from ..values.json_types import has_visible_text, text_fault
from .answer_schemas import Criterion, exact
from .base import EXISTS, AnswerLike, StepOf, StepRules, invalid, wrong_type
from .display_text import ENGLISH, DisplayText
from .number import RANGE, RangeConfig, integer_problems
from .photo_bounds import MAX_PHOTOS_PER_STEP, PhotoBounds

MAX_SIGNER_NAME: Final = 200


class Photo(StepRules[RangeConfig]):
    """The photos are the answer, so at least one is required. Bounds come from `config`, or else from `photo`."""

    config = RangeConfig
    operators = EXISTS
    adds_photos = False

    def config_problems(self, step: StepOf[RangeConfig], path: str, unread: set[str]) -> Iterator[Problem]:
        if unread & {"photo", *RANGE}:
            return
        problems = list(integer_problems(step.config, path))
        yield from problems
        smallest, largest = self._written_bounds(step)
        if not problems and not (0 <= smallest <= largest and 1 <= largest <= MAX_PHOTOS_PER_STEP):
            wanted = f"0 <= min <= max and 1 <= max <= {MAX_PHOTOS_PER_STEP}"
            yield Problem(path, "out_of_range", f"A photo step needs {wanted}, not min {smallest}, max {largest}.")

    def photo_bounds(self, step: StepOf[RangeConfig]) -> PhotoBounds | None:
        smallest, largest = self._written_bounds(step)
        return PhotoBounds(min=max(1, int(smallest)), max=int(largest))

    @staticmethod
    def _written_bounds(step: StepOf[RangeConfig]) -> tuple[float, float]:
        low, high = step.config.min, step.config.max
        if low is None and high is None and step.photo:
            return step.photo.min, step.photo.max
        return 1 if low is None else low, MAX_PHOTOS_PER_STEP if high is None else high

    def validate(self, step: StepOf[RangeConfig], value: Any) -> JsonValue:
        if value is not None:
            raise wrong_type("null (its photos are the answer)", value)
        return None

    def value_schema(self, step: StepOf[RangeConfig]) -> dict[str, Any]:
        return {"type": "null"}

    def has_value(self, answer: AnswerLike) -> bool:
        return len(answer.photos) > 0

    def value_criterion(self) -> Criterion:
        return exact({"minItems": 1}).of_member("photos")


class Signature(StepRules[Any]):
    operators = EXISTS

    def takes_drawing(self, step: StepOf[Any]) -> bool:
        return not step.photo  # with photo bounds it takes photos

    def validate(self, step: StepOf[Any], value: Any) -> JsonValue:
        if not isinstance(value, Mapping):
            raise wrong_type("an object with the signer's name", value)
        name = value.get("name")
        if not isinstance(name, str):
            code = "missing" if name is None else "wrong_type"
            raise invalid(code, "The signer's name is required, as a string.", "value.name")
        if fault := text_fault(name):
            raise invalid("invalid_text", f"The name {fault}.", "value.name")
        if not has_visible_text(name):
            raise invalid("blank", "The name must not be blank.", "value.name")
        name = name.strip()
        if len(name) > MAX_SIGNER_NAME:
            raise invalid("too_long", f"The name may have at most {MAX_SIGNER_NAME} characters.", "value.name")
        return {"url": None, "name": name, "signed_at": None}

    def value_schema(self, step: StepOf[Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["url", "name", "signed_at"],
            "properties": {
                "url": {"type": ["string", "null"], "description": "URL of the drawing, or null."},
                "name": {"type": "string", "minLength": 1, "maxLength": MAX_SIGNER_NAME},
                "signed_at": {"type": ["string", "null"], "format": "date-time"},
            },
        }

    def stamped(self, value: JsonValue, at: datetime) -> JsonValue:
        return value | {"signed_at": format_timestamp(at)} if isinstance(value, dict) else value

    def display(self, step: StepOf[Any], value: Any, words: DisplayText = ENGLISH) -> str:
        match value:
            case {"name": str(name)}:
                return words.signed_by(name)
        return str(value)


class Instruction(StepRules[Any]):
    operators = frozenset()
    takes_answer = False
    adds_photos = False

    def validate(self, step: StepOf[Any], value: Any) -> JsonValue:
        raise invalid("no_answer", "An instruction takes no answer.")

    def has_value(self, answer: AnswerLike) -> bool:
        return False
