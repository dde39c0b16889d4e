"""How many photos a step takes. `api/web/core/bounds.ts` has the same limit."""

from typing import Final

from pydantic import Field

from ..values.json_types import Integer, JsonModel

MAX_PHOTOS_PER_STEP: Final = 20


class PhotoBounds(JsonModel):
    """How many photos are attached to a step."""

    min: Integer = Field(
        default=0, ge=0, le=MAX_PHOTOS_PER_STEP, description="Fewest photos with which the step counts as answered."
    )
    max: Integer = Field(
        default=MAX_PHOTOS_PER_STEP, ge=1, le=MAX_PHOTOS_PER_STEP, description="Most photos that the step takes."
    )
