"""The pause annotation: the service does not act on an object until it is removed.

A paused object is still read, a paused run is still answered and expires. Only the service's own actions wait (send,
admit), and dispatches of a paused template.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from .base import GROUP, ConditionStatus, StatusCondition, with_condition

PAUSED_ANNOTATION: Final = f"{GROUP}/paused"
"""`"true"` pauses an Organization, a Template or a Run; other values do not."""
PAUSED: Final = "Paused"
"""The condition, and the reason of objects that wait for the end of a pause."""
RESUMED: Final = "Resumed"


def is_paused(metadata: Mapping[str, Any]) -> bool:
    return (metadata.get("annotations") or {}).get(PAUSED_ANNOTATION) == "true"


def shows_pause(body: Mapping[str, Any]) -> bool:
    """Whether the object's condition matches its annotation."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    shown = any(one["type"] == PAUSED and one["status"] == ConditionStatus.TRUE.value for one in conditions)
    return shown == is_paused(body["metadata"])


def with_pause(
    conditions: Sequence[StatusCondition], metadata: Mapping[str, Any], *, now: datetime
) -> list[StatusCondition]:
    """Sets the condition Paused from the annotation; an object that was never paused has none."""
    before = next((one for one in conditions if one.type == PAUSED), None)
    paused = is_paused(metadata)
    if paused == (before is not None and before.status is ConditionStatus.TRUE):
        return list(conditions)
    reason, message = (
        ("Annotated", f"The annotation {PAUSED_ANNOTATION} is set.")
        if paused
        else (RESUMED, "The annotation was removed.")
    )
    generation = metadata.get("generation")
    return with_condition(conditions, PAUSED, paused, reason, message, now=now, generation=generation)
