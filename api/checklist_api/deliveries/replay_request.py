"""The body of POST /v1/deliveries/replay, read and judged whole (contract section 7).

Unlike elsewhere a member that nobody knows is refused: a misspelt filter would choose everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from checklist_crds.delivery_records import DeliveryPhase
from checklist_crds.errors import Problem, ValidationFailed
from checklist_crds.event_names import EVENT_NAMES, EventName
from checklist_crds.ids import is_id
from checklist_crds.outcome_class import OutcomeClass
from checklist_crds.replay_types import MAX_EVENT_IDS, ReplayFilter
from checklist_crds.run_types import ObjectNameRef
from checklist_crds.times import parse_timestamp

from ..http.request_body import require_members
from ..index.delivery_history import DELIVERED, FAILED, OUTCOMES

REPLAYED_STATUSES: Final = (FAILED, DELIVERED)
_PHASES: Final = {FAILED: DeliveryPhase.FAILED, DELIVERED: DeliveryPhase.DELIVERED}
_MEMBERS: Final = ("filter", "dry_run")
_FILTERS: Final = (
    "status",
    "run_id",
    "event_ids",
    "event",
    "host",
    "outcome",
    "finished_after",
    "finished_before",
)
_LONGEST_HOST: Final = 253


@dataclass(frozen=True, slots=True)
class ReplayWish:
    """Which deliveries are to be sent again. `dry_run`: only count them."""

    filter: ReplayFilter
    dry_run: bool

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> "ReplayWish":
        """Raises MissingField, ValidationFailed. A member that is null counts as left out, but for `filter`."""
        require_members(dict(body), "filter")
        problems = _unknown(body, _MEMBERS, "")
        given, dry_run = body["filter"], body.get("dry_run")
        if dry_run is not None and not isinstance(dry_run, bool):
            problems.append(Problem("dry_run", "wrong_type", "must be true or false"))
        if not isinstance(given, dict):
            problems.append(Problem("filter", "wrong_type", "must be an object"))
            given = {}
        problems += _unknown(given, _FILTERS, "filter.")
        members = {name: value for name, value in given.items() if value is not None}
        wanted = _read_filter(members, problems)
        if problems:
            raise ValidationFailed("The replay is not valid.", details=problems)
        return cls(wanted, bool(dry_run))


def _read_filter(members: Mapping[str, Any], problems: list[Problem]) -> ReplayFilter:
    """What can be read; what cannot is told in `problems`."""
    status = _one_of(members, "status", REPLAYED_STATUSES, problems)
    event = _one_of(members, "event", EVENT_NAMES, problems)
    outcome = _one_of(members, "outcome", OUTCOMES, problems)
    run_id, host, events = members.get("run_id"), members.get("host"), members.get("event_ids")
    if run_id is not None and not is_id("r", run_id):
        problems.append(Problem("filter.run_id", "pattern", "must be a run id: r- and a lower-case UUID"))
        run_id = None
    if host is not None and not (isinstance(host, str) and 0 < len(host) <= _LONGEST_HOST and host.isprintable()):
        problems.append(Problem("filter.host", "invalid_host", f"must be a host of 1 to {_LONGEST_HOST} characters"))
        host = None
    if events is not None and not _are_events(events):
        text = f"must be a list of 1 to {MAX_EVENT_IDS} event ids: evt- and a lower-case UUID"
        problems.append(Problem("filter.event_ids", "invalid_events", text))
        events = None
    elif events is not None and "run_id" not in members:
        problems.append(Problem("filter.run_id", "missing", "event_ids needs the run that they belong to"))
    return ReplayFilter(
        phase=_PHASES[status] if status is not None else None,
        run_ref=ObjectNameRef(name=run_id) if run_id is not None else None,
        event_ids=list(dict.fromkeys(events or ())),
        host=host.lower() if host is not None else None,
        event=EventName(event) if event is not None else None,
        outcome=OutcomeClass(outcome) if outcome is not None else None,
        finished_after=_moment(members, "finished_after", problems),
        finished_before=_moment(members, "finished_before", problems),
    )


def _are_events(events: object) -> bool:
    return isinstance(events, list) and 0 < len(events) <= MAX_EVENT_IDS and all(is_id("evt", each) for each in events)


def _one_of(members: Mapping[str, Any], name: str, allowed: tuple[str, ...], problems: list[Problem]) -> str | None:
    value = members.get(name)
    if value is None or (isinstance(value, str) and value in allowed):
        return value
    problems.append(Problem(f"filter.{name}", "invalid_option", f"must be one of {', '.join(allowed)}"))
    return None


def _moment(members: Mapping[str, Any], name: str, problems: list[Problem]) -> datetime | None:
    value = members.get(name)
    if value is None:
        return None
    try:
        return parse_timestamp(value)
    except (TypeError, ValueError, OverflowError):
        text = "must be a timestamp such as 2026-11-21T13:50:00Z"
        problems.append(Problem(f"filter.{name}", "invalid_timestamp", text))
        return None


def _unknown(members: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> list[Problem]:
    return [
        Problem(f"{prefix}{name}", "unknown_field", "There is no such field.") for name in members if name not in known
    ]
