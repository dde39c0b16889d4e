"""What a step takes once its defaults are filled in: photos, grades, options (contract section 2).

The one place for the defaults that depend on the step's type; validation, answers and the executor's page ask here.
All functions expect a definition without problems.
"""

from typing import Final

from ..resources.template_definition import MAX_PHOTOS_PER_STEP, PhotoBounds, Step, StepType

DEFAULT_RATING: Final = (1, 5)


def photo_bounds(step: Step) -> PhotoBounds | None:
    """How many photos the step takes, or None when it takes none.

    The photos of a photo step are its answer, so its minimum is never below 1. Its bounds come from `config`; where
    that says nothing, from `photo`, since an author who wrote them there meant them.
    """
    if step.type is StepType.INSTRUCTION:
        return None
    if step.type is not StepType.PHOTO:
        return step.photo or None
    smallest, largest = photo_step_bounds(step)
    return PhotoBounds(min=max(1, int(smallest)), max=int(largest))


def photo_step_bounds(step: Step) -> tuple[float, float]:
    """The written bounds of a photo step, not checked yet."""
    config = step.config
    if config.min is None and config.max is None and step.photo:
        return step.photo.min, step.photo.max
    smallest = 1 if config.min is None else config.min
    return smallest, MAX_PHOTOS_PER_STEP if config.max is None else config.max


def rating_bounds(step: Step) -> tuple[int, int]:
    """Lowest and highest grade of a rating step."""
    low, high = DEFAULT_RATING
    config = step.config
    return int(low if config.min is None else config.min), int(high if config.max is None else config.max)


def option_ids(step: Step) -> list[str]:
    """Option ids of a choice or multi_choice step, in order."""
    return [option.id for option in step.config.options or ()]


def selection_bounds(step: Step) -> tuple[int, int]:
    """Fewest and most options to choose in a multi_choice step."""
    config = step.config
    fewest = int(step.required) if config.min_selected is None else config.min_selected
    return fewest, len(config.options or ()) if config.max_selected is None else config.max_selected
