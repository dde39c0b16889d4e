"""Statistics of endpoints by host and hour, updated as deliveries change.

An endpoint is a host that receives events of an organization. Latencies are counted in buckets that give percentiles
an error of at most 5 %.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.times import Clock

from .delivery_history import DELIVERED, FAILED, Attempt, Delivery, Event
from .delivery_sources import milliseconds

MAX_WINDOW_HOURS: Final = 24 * 31

_HOUR_MS: Final = 3_600_000
_SMALL_MS: Final = 20
"""Up to this latency each millisecond is a bucket; above, buckets grow by 5 %."""
_GROWTH: Final = math.log(1.05)
_EVENT, _SUCCESS, _ANSWERED_FAILURE, _UNANSWERED = range(4)
_KEPT_HOURS: Final = MAX_WINDOW_HOURS + 24
"""The longest window plus a margin for clock adjustments."""
_What = tuple[int, int]
"""(kind, latency bucket)"""


@dataclass(slots=True)
class Endpoint:
    """A host in a time window. `pending` and `failed` are current; `last_*` are not limited to the window. Latencies in
    milliseconds, of answered attempts; times in milliseconds since 1970."""

    host: str
    known: int = 0
    pending: int = 0
    failed: int = 0
    last_success_at: int | None = None
    last_error: Attempt | None = None
    deliveries: int = 0
    attempts: int = 0
    successes: int = 0
    latencies: Counter[int] = field(default_factory=Counter)

    @property
    def success_rate(self) -> float | None:
        return round(self.successes / self.attempts, 4) if self.attempts else None

    @property
    def is_failing(self) -> bool:
        """Whether the newest attempt failed."""
        return self.last_error is not None and self.last_error.started_at > (self.last_success_at or 0)

    def latency_ms(self, percent: int) -> int | None:
        """Return the latency percentile."""
        wanted, reached = -(-self.latencies.total() * percent // 100), 0
        for latency in sorted(self.latencies):
            reached += self.latencies[latency]
            if reached >= wanted:
                return _milliseconds_of(latency)
        return None

    def note(self, attempts: Iterable[Attempt]) -> None:
        """Update last success and last error."""
        for attempt in attempts:
            if attempt.ok:
                self.last_success_at = max(self.last_success_at or 0, attempt.started_at)
            elif self.last_error is None or self.last_error.started_at <= attempt.started_at:
                self.last_error = attempt

    def add(self, what: _What, count: int) -> None:
        kind, latency = what
        if kind == _EVENT:
            self.deliveries += count
            return
        self.attempts += count
        if kind == _SUCCESS:
            self.successes += count
        if kind != _UNANSWERED:
            self.latencies[latency] += count

    def merge(self, other: "Endpoint") -> None:
        """Add the current counts of the same host in another namespace."""
        self.known += other.known
        self.pending += other.pending
        self.failed += other.failed
        if other.last_success_at is not None:
            self.last_success_at = max(self.last_success_at or 0, other.last_success_at)
        if other.last_error is not None:
            self.note([other.last_error])


class EndpointFigures:
    """Counts of all organizations: current, and by hour. Hours beyond the longest window are dropped."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._standing: dict[tuple[str, str], dict[str, Endpoint]] = {}
        self._hours: dict[tuple[str, str, str], dict[int, Counter[_What]]] = {}
        self._first_hour = 0
        self._failing: dict[tuple[str, str], dict[str, Endpoint]] = {}

    def change(self, before: Delivery | None, after: Delivery | None) -> None:
        """Count `after` instead of `before`."""
        self._forget_old_hours()
        if after is not None:
            known = before.attempts if before is not None else ()
            self._count(after, +1).note(attempt for attempt in after.attempts if attempt not in known)
        if before is not None:
            self._count(before, -1)
        for delivery in (before, after):
            if delivery is not None:
                self._note_failing(delivery.event)

    def page(
        self, organization: str, namespaces: Sequence[str], *, hours: int, offset: int, limit: int
    ) -> tuple[datetime, int, list[Endpoint]]:
        """Return the start of the window (a full hour, at least `hours` ago), the total and one page, by host."""
        since = (self._clock() - timedelta(hours=hours)).replace(minute=0, second=0, microsecond=0)
        hosts = sorted({host for namespace in namespaces for host in self._standing.get((organization, namespace), ())})
        shown = [self._endpoint(organization, namespaces, host, since) for host in hosts[offset : offset + limit]]
        return since, len(hosts), shown

    def failing(self, organization: str, namespaces: Sequence[str], limit: int) -> tuple[int, list[Endpoint]]:
        """Return the number of hosts whose newest attempt failed, and those that failed last, with current
        counts. The cost grows with the number of failing hosts, not with that of all."""
        merged: dict[str, Endpoint] = {}
        for namespace in namespaces:
            for host, endpoint in self._failing.get((organization, namespace), {}).items():
                merged.setdefault(host, Endpoint(host)).merge(endpoint)
        newest = heapq.nlargest(
            limit, merged.values(), key=lambda each: each.last_error.started_at if each.last_error else 0
        )
        return len(merged), newest

    def _note_failing(self, event: Event) -> None:
        owner = (event.organization, event.namespace)
        endpoint = self._standing.get(owner, {}).get(event.host)
        hosts = self._failing.setdefault(owner, {})
        if endpoint is not None and endpoint.is_failing:
            hosts[event.host] = endpoint
        else:
            hosts.pop(event.host, None)
        if not hosts:
            del self._failing[owner]

    def _endpoint(self, organization: str, namespaces: Sequence[str], host: str, since: datetime) -> Endpoint:
        found, first_hour = Endpoint(host), milliseconds(since) // _HOUR_MS
        for namespace in namespaces:
            standing = self._standing.get((organization, namespace), {}).get(host)
            if standing is None:
                continue
            found.merge(standing)
            for hour, counts in self._hours[organization, namespace, host].items():
                if hour >= first_hour:
                    for what, count in counts.items():
                        found.add(what, count)
        return found

    def _forget_old_hours(self) -> None:
        """Drop old hours. The limit never moves back, so that later decrements match earlier increments."""
        first_hour = milliseconds(self._clock()) // _HOUR_MS - _KEPT_HOURS
        if first_hour <= self._first_hour:
            return
        self._first_hour = first_hour
        for hours in self._hours.values():
            for hour in [hour for hour in hours if hour < first_hour]:
                del hours[hour]

    def _count(self, delivery: Delivery, sign: int) -> Endpoint:
        event = delivery.event
        hosts = self._standing.setdefault((event.organization, event.namespace), {})
        endpoint = hosts.setdefault(event.host, Endpoint(event.host))
        hours = self._hours.setdefault((event.organization, event.namespace, event.host), {})
        endpoint.known += sign
        if delivery.status == FAILED:
            endpoint.failed += sign
        elif delivery.status != DELIVERED:
            endpoint.pending += sign
        for hour, what in _counted(delivery):
            if hour < self._first_hour:
                continue
            counts = hours.setdefault(hour, Counter())
            counts[what] += sign
            if not counts[what]:
                del counts[what]
            if not counts:
                del hours[hour]
        if not endpoint.known:
            del hosts[event.host], self._hours[event.organization, event.namespace, event.host]
        return endpoint


def _counted(delivery: Delivery) -> Iterator[tuple[int, _What]]:
    """Yield (hour, kind) of the delivery and its attempts."""
    yield delivery.listed_at // _HOUR_MS, (_EVENT, 0)
    for attempt in delivery.attempts:
        kind, latency = _UNANSWERED, 0
        if attempt.http_status is not None:
            kind = _SUCCESS if attempt.ok else _ANSWERED_FAILURE
            latency = _class_of(attempt.duration_ms)
        yield attempt.started_at // _HOUR_MS, (kind, latency)


def _class_of(duration_ms: int) -> int:
    if duration_ms <= _SMALL_MS:
        return duration_ms
    return _SMALL_MS + round(math.log(duration_ms / _SMALL_MS) / _GROWTH)


def _milliseconds_of(latency: int) -> int:
    if latency <= _SMALL_MS:
        return latency
    return round(_SMALL_MS * math.exp((latency - _SMALL_MS) * _GROWTH))
