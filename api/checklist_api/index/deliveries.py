"""In-memory SQLite index of every event of every run, fed by two watches.

Runs list their events and the result of those delivered at once; a WebhookDelivery adds all attempts of the others.
Each row stores both sources, so that the delivery can be merged again when either changes. Ids are stored as 16-byte
UUIDs and names as numbers, since there are several events for each run.
"""

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.informer import Informer
from checklist_crds.resources.event_names import EVENT_NAMES
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY, key_of
from checklist_crds.resources.run_id import run_id_of
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject

from .delivery_history import DELIVERED, FAILED, OUTCOMES, STATUSES, Delivery, Event, FromDelivery, FromRun, merged
from .delivery_rows import packed_delivery, packed_id, packed_run, unpacked_delivery, unpacked_run
from .delivery_sources import UNREADABLE, RunEntry, events_of_run, milliseconds, parse_delivery
from .endpoint_figures import EndpointFigures
from .interned_names import InternedNames
from .run_names import RunNames

logger = logging.getLogger(__name__)

_PAGE: Final = 100
"""WebhookDeliveries per page; each has its payload of up to a megabyte."""
_DELIVERED: Final = STATUSES.index(DELIVERED)
_SCHEMA: Final = f"""
PRAGMA journal_mode = OFF;
CREATE TABLE deliveries (
    run BLOB, namespace INT, seq INT, event_id BLOB, organization INT, event INT, host INT,
    listed_at INT, status INT, outcome INT, digest INT, from_run BLOB, kept BLOB
);
CREATE UNIQUE INDEX by_id ON deliveries (event_id, namespace);
CREATE INDEX of_run ON deliveries (run, namespace, seq);
CREATE INDEX newest_delivery ON deliveries (organization, listed_at, namespace, status, event, host, outcome);
CREATE INDEX undelivered ON deliveries (organization, status, listed_at, namespace, event, host, outcome)
    WHERE status != {_DELIVERED};
"""
_PUT: Final = f"INSERT OR REPLACE INTO deliveries VALUES ({', '.join('?' * 13)})"  # noqa: S608 - no input in it
_Row = tuple[Any, ...]
_RUN, _DIGEST, _FROM_RUN, _KEPT = 0, 10, 11, 12


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Selects deliveries of an organization; all set fields must match. Times are exclusive and compared with the time
    of the event."""

    status: str | None = None
    event: str | None = None
    run_id: str | None = None
    host: str | None = None
    outcome: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def matches(self, delivery: Delivery) -> bool:
        """Whether a delivery of an archived run matches."""
        event, last = delivery.event, delivery.last
        fields = (
            (self.status, delivery.status),
            (self.event, event.event),
            (self.run_id, event.run_id),
            (self.host, event.host),
            (self.outcome, last.outcome if last is not None else None),
        )
        return (
            all(wanted in (None, found) for wanted, found in fields)
            and (self.created_after is None or delivery.listed_at > milliseconds(self.created_after))
            and (self.created_before is None or delivery.listed_at < milliseconds(self.created_before))
        )


class DeliveryIndex:
    """All deliveries of the cluster, for lists and endpoint statistics."""

    def __init__(self, watcher: KubeClient, clock: Clock) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)
        self._names = InternedNames()
        self._runs = RunNames(self._db)
        self._totals: Counter[tuple[str, str, str]] = Counter()
        self._listeners: list[Callable[[Event, str | None], None]] = []
        self._recorded: dict[tuple[bytes, int | None], tuple[int, int]] = {}
        """Length and hash of the indexed records of unsettled runs."""
        self.endpoints = EndpointFigures(clock)
        self.informer = Informer(watcher, WEBHOOK_DELIVERY, self._apply, page=_PAGE)

    def add_listener(self, listener: Callable[[Event, str | None], None]) -> None:
        """Call `listener` with each changed event and its delivery status (None: deleted)."""
        self._listeners.append(listener)

    def close(self) -> None:
        self._db.close()

    def find(self, event_id: str, namespaces: Sequence[str], organization: str) -> Delivery | None:
        """Return the delivery of an event of the organization, if indexed."""
        event, places = packed_id("evt", event_id), self._names.known(namespaces)
        owner = self._names.number(organization)
        if event is None or owner is None or not places:
            return None
        row = self._db.execute(
            "SELECT * FROM deliveries WHERE event_id = ? AND organization = ? "  # noqa: S608 - only question marks
            f"AND namespace IN ({', '.join('?' * len(places))})",
            (event, owner, *places),
        ).fetchone()
        return None if row is None else self._delivery(row)

    def page(
        self, organization: str, namespaces: Sequence[str], wanted: DeliveryFilter, *, offset: int, limit: int
    ) -> tuple[int, list[Delivery]]:
        """Return the total and one page; newest first, ties by event id."""
        where, values = self._where(organization, namespaces, wanted)
        if where is None:
            return 0, []
        if wanted == DeliveryFilter(status=wanted.status):
            total = self._total(organization, namespaces, wanted.status)
        else:
            total = int(self._db.execute(f"SELECT COUNT(*) FROM deliveries WHERE {where}", values).fetchone()[0])  # noqa: S608
        if offset >= total:
            return total, []
        if offset:
            where, values, offset = self._from(where, values, offset)
        rows = self._db.execute(
            f"SELECT * FROM deliveries WHERE {where} "  # noqa: S608 - conditions are ours, values are bound
            "ORDER BY listed_at DESC, event_id DESC LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return total, [self._delivery(row) for row in rows]

    def _from(self, where: str, values: tuple[Any, ...], offset: int) -> tuple[str, tuple[Any, ...], int]:
        """Add the page's first time to the condition, found by index only, so that far pages are fast."""
        query = f"SELECT listed_at FROM deliveries WHERE {where} ORDER BY listed_at DESC LIMIT 1 OFFSET ?"  # noqa: S608
        [(first,)] = self._db.execute(query, (*values, offset))
        newer = f"SELECT COUNT(*) FROM deliveries WHERE {where} AND listed_at > ?"  # noqa: S608
        [(passed,)] = self._db.execute(newer, (*values, first))
        return f"{where} AND listed_at <= ?", (*values, first), offset - passed

    def failed(self, organization: str, namespaces: Sequence[str]) -> int:
        """Count failed deliveries, without reading them."""
        return self._total(organization, namespaces, FAILED)

    def _total(self, organization: str, namespaces: Sequence[str], status: str | None) -> int:
        """Count deliveries from cached totals, because most lists need them."""
        statuses = STATUSES if status is None else (status,)
        return sum(self._totals[organization, place, each] for place in namespaces for each in statuses)

    def of_run(self, run_id: str, namespace: str, *, offset: int, limit: int) -> tuple[int, list[Delivery]]:
        """Return the number of events of a run and one page of them, in the order of the events."""
        run, place = packed_id("r", run_id), self._names.number(namespace)
        if run is None or place is None:
            return 0, []
        of_run = "FROM deliveries WHERE run = ? AND namespace = ?"
        total = int(self._db.execute(f"SELECT COUNT(*) {of_run}", (run, place)).fetchone()[0])
        rows = self._db.execute(
            f"SELECT * {of_run} ORDER BY seq, event_id LIMIT ? OFFSET ?", (run, place, limit, offset)
        )
        return total, [self._delivery(row) for row in rows]

    def _where(
        self, organization: str, namespaces: Sequence[str], wanted: DeliveryFilter
    ) -> tuple[str | None, tuple[Any, ...]]:
        """Return the condition and its values; None if no row can match."""
        owner, places = self._names.number(organization), self._names.known(namespaces)
        if owner is None or not places:
            return None, ()
        conditions = ["organization = ?", f"namespace IN ({', '.join('?' * len(places))})"]
        values: list[int | bytes] = [owner, *places]
        equal = (
            ("status", wanted.status, lambda: STATUSES.index(wanted.status)),
            ("event", wanted.event, lambda: EVENT_NAMES.index(wanted.event)),
            ("outcome", wanted.outcome, lambda: OUTCOMES.index(wanted.outcome)),
            ("host", wanted.host, lambda: self._names.number(wanted.host)),
            ("run", wanted.run_id, lambda: packed_id("r", wanted.run_id)),
        )
        for column, given, value in equal:
            if given is not None:
                found = value()
                if found is None:
                    return None, ()
                conditions.append(f"{column} = ?")
                values.append(found)
        if wanted.status is not None and wanted.status != DELIVERED:
            conditions.append(f"status != {_DELIVERED}")  # lets SQLite use the partial index
        for comparison, moment in (("listed_at > ?", wanted.created_after), ("listed_at < ?", wanted.created_before)):
            if moment is not None:
                conditions.append(comparison)
                values.append(milliseconds(moment))
        return " AND ".join(conditions), tuple(values)

    def apply_run(self, change: str, body: JsonObject) -> None:
        """Apply a change of a run ("UPSERT" or "DELETE")."""
        namespace, _ = key_of(body)
        before, after = self._runs.apply(change, body)
        if before not in (None, after):
            self._apply_run(before, namespace, "DELETE", body)
        if after is not None:
            self._apply_run(after, namespace, change, body)

    def _apply_run(self, run_id: str, namespace: str, change: str, body: JsonObject) -> None:
        run = packed_id("r", run_id)
        if run is None:
            return
        place = self._names.number(namespace)
        entries: dict[bytes | None, RunEntry] = {}
        read_to = self._indexed_length(run, place, change, body)
        if change != "DELETE":
            try:
                events = events_of_run(body, recorded_from=read_to)
                entries = {packed_id("evt", event_id): entry for event_id, entry in events.items()}
            except UNREADABLE as error:
                logger.warning("run.unreadable", extra={"run_id": run_id, "reason": type(error).__name__})
        rows = self._db.execute("SELECT event_id, digest FROM deliveries WHERE run = ? AND namespace = ?", (run, place))
        known: dict[bytes | None, int | None] = dict(rows.fetchall())
        # Recorded events never change; pending ones may be recorded, pending or gone now.
        again = {event_id for event_id, digest in known.items() if digest == 0} if read_to else known.keys()
        for event_id in entries.keys() | again:
            entry = entries.get(event_id)
            digest = entry.digest if entry is not None else None
            if event_id is not None and (event_id not in known or known[event_id] != digest):
                self._put_of_run(self._row(event_id, place), entry, digest)

    def _indexed_length(self, run: bytes, place: int | None, change: str, body: JsonObject) -> int:
        """Return the length of the run's records that is indexed already: most changes only append."""
        status = body.get("status") or {}
        records = str(status.get("records") or "")
        length, digest = self._recorded.pop((run, place), (0, 0))
        if change == "DELETE" or status.get("deliveries"):
            return 0
        if not status.get("settled"):
            self._recorded[run, place] = len(records), hash(records)
        return length if length and hash(records[:length]) == digest else 0

    def _put_of_run(self, row: _Row | None, entry: RunEntry | None, digest: int | None) -> None:
        event, from_run = None, None
        if entry is not None:
            try:
                event, from_run = entry.read()
            except UNREADABLE as error:
                extra = {"run_id": run_id_of(entry.run), "reason": type(error).__name__}
                logger.warning("event.unreadable", extra=extra)
                return
        if row is not None:
            self._put(row, event or self._event(row), from_run, unpacked_delivery(row[_KEPT]), digest)
        elif event is not None:
            self._put(None, event, from_run, None, digest)

    def _apply(self, change: str, body: JsonObject) -> None:
        """Apply a change of a WebhookDelivery."""
        namespace, name = key_of(body)
        event_id = packed_id("evt", name)
        if event_id is None:
            return  # not ours: the name must be the event_id
        event, kept = None, None
        if change != "DELETE":
            try:
                event, kept = parse_delivery(body)
            except UNREADABLE as error:
                logger.warning("delivery.unreadable", extra={"event_id": name, "reason": type(error).__name__})
        row = self._row(event_id, self._names.number(namespace))
        run = packed_id("r", event.run_id) if event is not None else None
        if event is not None and (event.event_id != name or run is None or (row is not None and row[_RUN] != run)):
            event, kept = None, None  # created by hand and inconsistent
        if row is not None:
            self._put(row, self._event(row), unpacked_run(row[_FROM_RUN]), kept, row[_DIGEST])
        elif event is not None:
            self._put(None, event, None, kept, None)

    def _row(self, event_id: bytes, namespace: int | None) -> _Row | None:
        query = "SELECT * FROM deliveries WHERE event_id = ? AND namespace = ?"
        row: _Row | None = self._db.execute(query, (event_id, namespace)).fetchone()
        return row

    def _put(
        self, row: _Row | None, event: Event, from_run: FromRun | None, kept: FromDelivery | None, digest: int | None
    ) -> None:
        """Replace `row` by the merged state of `event`, or delete it if no source has the event."""
        before = self._delivery(row) if row is not None else None
        if from_run is None and kept is None:
            if row is not None:
                self._db.execute("DELETE FROM deliveries WHERE event_id = ? AND namespace = ?", (row[3], row[1]))
                self._count(before, None)
                self._notify(event, None)
            return
        delivery, number = merged(event, from_run, kept), self._names.intern
        last = delivery.last
        self._db.execute(
            _PUT,
            (
                packed_id("r", event.run_id),
                number(event.namespace),
                event.seq,
                packed_id("evt", event.event_id),
                number(event.organization),
                EVENT_NAMES.index(event.event),
                number(event.host),
                delivery.listed_at,
                STATUSES.index(delivery.status),
                OUTCOMES.index(last.outcome) if last is not None and last.outcome is not None else None,
                digest,
                packed_run(from_run) if from_run is not None else None,
                packed_delivery(kept) if kept is not None else None,
            ),
        )
        self._count(before, delivery)
        self._notify(event, delivery.status)

    def _notify(self, event: Event, status: str | None) -> None:
        for listener in self._listeners:
            listener(event, status)

    def _count(self, before: Delivery | None, after: Delivery | None) -> None:
        self.endpoints.change(before, after)
        for delivery, sign in ((before, -1), (after, +1)):
            if delivery is not None:
                self._totals[delivery.event.organization, delivery.event.namespace, delivery.status] += sign

    def _event(self, row: _Row) -> Event:
        text = self._names.text
        return Event(
            event_id=f"evt-{UUID(bytes=row[3])}",
            run_id=f"r-{UUID(bytes=row[0])}",
            namespace=text(row[1]),
            organization=text(row[4]),
            event=EVENT_NAMES[row[5]],
            seq=row[2],
            host=text(row[6]),
        )

    def _delivery(self, row: _Row) -> Delivery:
        return merged(self._event(row), unpacked_run(row[_FROM_RUN]), unpacked_delivery(row[_KEPT]))
