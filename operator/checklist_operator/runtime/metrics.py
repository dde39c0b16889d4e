"""Metrics of the operator on /metrics (Prometheus)."""

from collections.abc import Callable
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        self.attempts = counter(
            "checklists_delivery_attempts", "Attempts by outcome class and number.", ["outcome", "attempt"]
        )
        self.deliveries = counter("checklists_deliveries", "Events that were delivered or finally failed.", ["result"])
        self.replays = counter("checklists_delivery_replays", "Replays that ended or were refused.", ["result"])
        self.attempt_seconds = histogram("checklists_delivery_attempt_seconds", "How long attempts took.", ["outcome"])
        for result in ("delivered", "failed"):
            self.deliveries.labels(result)  # start at 0: rate() misses the first increase of a series that starts at 1
        self._outbox_lag = histogram(
            "checklists_outbox_lag_seconds",
            "From an event, or the end of its pause, to the start of its first attempt.",
            ["receiver"],
        )
        for receiver in ("prompt", "slow"):
            self._outbox_lag.labels(receiver)
        self.retry_lag = histogram("checklists_retry_lag_seconds", "From the due time of a retry to its start.")
        self.own_faults = counter("checklists_own_faults", "Transmissions that a local fault prevented.", ["reason"])
        self.expiry_lag = histogram(
            "checklists_expiry_lag_seconds", "From the expiry of a run to the write of its phase."
        )
        self.expiries = counter("checklists_run_expiries", "Runs whose expiry was written.")
        self.admissions = counter("checklists_run_admissions", "Runs made with kubectl, by verdict.", ["verdict"])
        self.removals = counter("checklists_removed_objects", "Objects removed by sweeps.", ["kind"])
        self.archived_runs = counter("checklists_runs_archived", "Runs moved from the cluster to the archive.")
        self.archived_parts = counter("checklists_archived_parts", "Parts written to the archive.")
        self.archived_bytes = counter("checklists_archived_bytes", "Compressed bytes written to the archive.")
        self.archive_failures = counter(
            "checklists_archive_failures", "Archiving failures: store, damaged, unreadable.", ["reason"]
        )
        for reason in ("store", "damaged", "unreadable"):
            self.archive_failures.labels(reason)
        self.archive_available = gauge(
            "checklists_archive_available",
            "0 if the archive's store did not answer in the last sweep, else 1.",
        )
        self.archive_available.set(1)  # a standby never sweeps
        self.archive_enabled = gauge(
            "checklists_archive_enabled",
            "1 if runs past their retention are archived, 0 if they stay in the cluster.",
        )
        self.archive_backlog = gauge(
            "checklists_archive_backlog_runs", "Runs past their retention that the last sweep did not archive."
        )
        self.archive_backlog_age = gauge(
            "checklists_archive_backlog_seconds",
            "Time since the oldest of them was due; 0 without one.",
        )
        self.held_runs = gauge("checklists_held_runs", "Settled runs kept by a legal hold, in the last sweep.")
        self.events = counter("checklists_watch_events", "Objects received from watches.", ["kind"])
        self.kopf_restarts = counter("checklists_kopf_restarts", "Restarts of Kopf.")
        self.bugs = counter("checklists_unexpected_errors", "Unexpected errors.", ["where"])
        self._stale_settings = gauge(
            "checklists_setting_stale",
            "1 while the file of a setting is unusable and its previous value stays in use.",
            ["setting"],
        )
        self.leader = gauge("checklists_leader", "1 while this process holds the lease.")
        self._sizes: dict[str, Callable[[], int]] = {}
        self._ages: dict[str, Callable[[], float]] = {}
        self.registry.register(_Sizes(self._sizes, self._ages))

    def first_attempt_started(self, lag_s: float, *, delayed_by_receiver: bool) -> None:
        """`delayed_by_receiver`: the attempt waited because of its receiver, so its lag is not this service's."""
        self._outbox_lag.labels("slow" if delayed_by_receiver else "prompt").observe(max(0.0, lag_s))

    def setting_is_stale(self, name: str, stale: bool) -> None:
        """Shows whether the file of the setting cannot be used."""
        self._stale_settings.labels(name).set(stale)

    def watch_size(self, name: str, size: Callable[[], int]) -> None:
        """Shows `size()` as checklists_pending{of=name}: depth of a queue, size of the heap, permits in use."""
        self._sizes[name] = size

    def watch_age(self, name: str, age: Callable[[], float]) -> None:
        """Shows `age()` as checklists_oldest_waiting_seconds{of=name}: 0 when nothing waits."""
        self._ages[name] = age

    def forget_watched(self) -> None:
        """Removes the sizes and ages of a term that is over; their values would be wrong."""
        self._sizes.clear()
        self._ages.clear()
        self.archive_available.set(1)
        self.archive_backlog.set(0)
        self.archive_backlog_age.set(0)
        self.held_runs.set(0)

    def render(self) -> bytes:
        return generate_latest(self.registry)


class _Sizes(Collector):
    """Reads sizes and ages only when metrics are scraped."""

    def __init__(self, sizes: dict[str, Callable[[], int]], ages: dict[str, Callable[[], float]]) -> None:
        self._sizes = sizes
        self._ages = ages

    def collect(self) -> list[Metric]:
        pending = GaugeMetricFamily("checklists_pending", "Number of waiting items.", labels=["of"])
        for name, size in self._sizes.items():
            pending.add_metric([name], size())
        oldest = GaugeMetricFamily(
            "checklists_oldest_waiting_seconds", "Age of the oldest waiting item.", labels=["of"]
        )
        for name, age in self._ages.items():
            oldest.add_metric([name], age())
        return [pending, oldest]
