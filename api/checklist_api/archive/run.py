"""A run read from the archive, with its deliveries."""

from dataclasses import dataclass, field, fields
from typing import Final

from checklist_crds.archive import Record
from checklist_crds.resources.run import Run
from checklist_crds.runs.replay_rules import ReplayRefusal

from ..index.delivery_history import Delivery, merged
from ..index.delivery_sources import events_of_run, parse_delivery

_PERMANENT_REFUSALS: Final = frozenset({ReplayRefusal.PAYLOAD_NOT_KEPT, ReplayRefusal.RUN_DELETED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRun(Run):
    """A run whose object has left the cluster: final and read-only."""

    record: Record = field(repr=False)
    """The complete archive record."""

    @classmethod
    def of(cls, record: Record) -> "ArchivedRun":
        """Parse a record. Raises pydantic.ValidationError, KeyError, ValueError."""
        run = record.parsed()
        return cls(**{each.name: getattr(run, each.name) for each in fields(Run)}, record=record)

    def deliveries(self) -> list[Delivery]:
        """Return the deliveries of its events, in the order of the events. None can be replayed."""
        recorded = {event_id: entry.read() for event_id, entry in events_of_run(self.record.run).items()}
        kept = {event.event_id: (event, history) for event, history in map(parse_delivery, self.record.deliveries)}
        events = {event_id: event for event_id, (event, _) in [*kept.items(), *recorded.items()]}
        found = []
        for event_id, event in events.items():
            _, from_run = recorded.get(event_id, (None, None))
            _, history = kept.get(event_id, (None, None))
            delivery = merged(event, from_run, history)
            if delivery.refusal not in _PERMANENT_REFUSALS:
                delivery = delivery._replace(refusal=ReplayRefusal.RUN_ARCHIVED)
            found.append(delivery)
        return sorted(found, key=lambda delivery: (delivery.event.seq, delivery.event.event_id))
