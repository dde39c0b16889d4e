"""The pause annotation: the service leaves an object alone until it is taken away.

What is paused still is what it is: it is read, a paused run is still answered, and its time runs out. What waits is
what the service would do of its own accord (send, admit), and what a paused template would be used for.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from .base import GROUP, ConditionStatus, StatusCondition, with_condition

PAUSED_ANNOTATION: Final = f"{GROUP}/paused"
"""`"true"` pauses an Organization, a Template or a Run; anything else does not."""
PAUSED: Final = "Paused"
"""The condition, and the reason of what waits for the end of a pause."""
RESUMED: Final = "Resumed"


def is_paused(metadata: Mapping[str, Any]) -> bool:
    return (metadata.get("annotations") or {}).get(PAUSED_ANNOTATION) == "true"


def shows_pause(body: Mapping[str, Any]) -> bool:
    """Whether the object's condition says what its annotation does."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    told = any(one["type"] == PAUSED and one["status"] == ConditionStatus.TRUE.value for one in conditions)
    return told == is_paused(body["metadata"])


def with_pause(
    conditions: Sequence[StatusCondition], metadata: Mapping[str, Any], *, now: datetime
) -> list[StatusCondition]:
    """The conditions with Paused as the annotation has it; what was never paused has no such condition."""
    before = next((one for one in conditions if one.type == PAUSED), None)
    paused = is_paused(metadata)
    if paused == (before is not None and before.status is ConditionStatus.TRUE):
        return list(conditions)
    reason, message = (
        ("Annotated", f"The annotation {PAUSED_ANNOTATION} says so.")
        if paused
        else (RESUMED, "The service works on it again.")
    )
    generation = metadata.get("generation")
    return with_condition(conditions, PAUSED, paused, reason, message, now=now, generation=generation)
