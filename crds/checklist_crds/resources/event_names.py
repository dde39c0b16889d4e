"""Names of the five events, and validation of subscriptions (specification, "Event kinds")."""

from enum import StrEnum
from typing import Final


class EventName(StrEnum):
    STEP_COMPLETED = "step.completed"
    STEP_SKIPPED = "step.skipped"
    RUN_COMPLETED = "run.completed"
    RUN_CANCELLED = "run.cancelled"
    RUN_EXPIRED = "run.expired"


EVENT_NAMES: Final = tuple(event.value for event in EventName)
ALL_EVENTS: Final = "*"


def event_name_problem(events: object) -> str | None:
    """Returns why `events` is not a valid subscription (contract section 10), or None."""
    if not isinstance(events, list) or not events:
        return "must be a non-empty list of event names"
    if events == [ALL_EVENTS]:
        return None
    unknown = [event for event in events if not isinstance(event, str) or event not in EVENT_NAMES]
    if unknown:
        return f"must name events out of {', '.join(EVENT_NAMES)}, or be exactly ['*']; not {unknown[0]!r}"
    if len(set(events)) != len(events):
        return "names an event twice"
    return None
