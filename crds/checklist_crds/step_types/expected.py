"""What a step expects: an answer outside is accepted and flagged (contract section 4).

Which form of `expected` means something depends on the step's type: its rules check the form and compare answers. A
stored template of an earlier release may have anything in these fields; when it is read, what cannot be used counts as
absent, so that its runs go on.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Discriminator, Field, Strict, Tag, ValidationError, ValidationInfo, WrapValidator
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from ..values.json_types import AS_INTEGER, Absentable, Bool, JsonModel, Number, optional
from .photo_bounds import MAX_PHOTOS_PER_STEP

MAX_DAYS: Final = 36_500
AUTHORED: Final = "authored"
"""Key of the validation context: the template is being written, so wrong forms are reported."""

Days = Annotated[int, Field(ge=-MAX_DAYS, le=MAX_DAYS), Strict(), AS_INTEGER]


class ExpectedBounds(JsonModel):
    """Bounds of expected answers, both inclusive; at least one of those of the step's type."""

    min: Absentable[Number] = optional("Types number, rating: lowest expected value.")
    max: Absentable[Number] = optional("Types number, rating: highest expected value.")
    not_before: Absentable[Days] = optional(
        "Type date: first expected day, in days from the day of the answer (0: that day, -7: a week before)."
    )
    not_after: Absentable[Days] = optional("Type date: last expected day, in days from the day of the answer.")


_Photos = Annotated[int, Field(ge=0, le=MAX_PHOTOS_PER_STEP), Strict(), AS_INTEGER]
_SomePhotos = Annotated[int, Field(ge=1, le=MAX_PHOTOS_PER_STEP), Strict(), AS_INTEGER]


class FlagPhotos(JsonModel):
    """How many photos a flagged answer has."""

    min: Absentable[_Photos] = optional("Fewest photos that it needs (default 0).")
    max: Absentable[_SomePhotos] = optional(f"Most photos that the step then takes (default {MAX_PHOTOS_PER_STEP}).")


class OnFlag(JsonModel):
    """What a flagged answer must have before the checklist can be submitted."""

    note: Absentable[Bool] = optional("Whether it needs a note (default false).")
    photos: Absentable[FlagPhotos] = optional("How many photos it needs, and how many the step then takes.")

    @property
    def fewest_photos(self) -> int:
        return (self.photos.min or 0) if self.photos is not None else 0

    @property
    def most_photos(self) -> int:
        if self.photos is None:
            return 0
        return MAX_PHOTOS_PER_STEP if self.photos.max is None else self.photos.max


def _not_usable(value: Any) -> Any:
    if not isinstance(value, bool):
        raise PydanticCustomError("wrong_type", "must be true or false, a list of option ids, or an object")
    return value


EXPECTED_TAGS: Final = ("truth", "options", "bounds")


def _tag_of(value: Any) -> str:
    if isinstance(value, Mapping | ExpectedBounds):
        return EXPECTED_TAGS[2]
    return EXPECTED_TAGS[isinstance(value, list | tuple)]


Expected = Annotated[
    Annotated[bool, WrapValidator(lambda value, handler: handler(_not_usable(value))), Tag(EXPECTED_TAGS[0])]
    | Annotated[list[Annotated[str, Strict(), Field(max_length=66)]], Field(max_length=100), Tag(EXPECTED_TAGS[1])]
    | Annotated[ExpectedBounds, Tag(EXPECTED_TAGS[2])],
    Discriminator(_tag_of),
]


def _as_written(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    try:
        return handler(value)
    except ValidationError:
        if info.context and info.context.get(AUTHORED):
            raise
        return None


_WHEN_USABLE: Final = WrapValidator(_as_written)


class ExpectedConfig(JsonModel):
    """Of the types whose answers can be flagged."""

    expected: Absentable[Annotated[Expected, _WHEN_USABLE]] = optional(
        "What is expected; an answer outside is accepted and flagged. number, rating: `{min, max}`. boolean: true or "
        "false. choice, multi_choice: option ids, among which all chosen ones are expected to be. date: `{not_before, "
        "not_after}` in days from the day of the answer."
    )
    on_flag: Absentable[Annotated[OnFlag, _WHEN_USABLE]] = optional(
        "What a flagged answer must have before the checklist can be submitted. Needs expected."
    )
