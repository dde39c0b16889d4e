"""What the operator tells about itself on /metrics (Prometheus)."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Metrics:
    """All instruments, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.attempts = Counter(
            "checklists_delivery_attempts",
            "Attempts by outcome class and number.",
            ["outcome", "attempt"],
            registry=self.registry,
        )
        self.deliveries = Counter(
            "checklists_deliveries", "Events that were delivered or given up.", ["result"], registry=self.registry
        )
        self.attempt_seconds = Histogram(
            "checklists_delivery_attempt_seconds", "How long attempts took.", buckets=_SECONDS, registry=self.registry
        )
        self.outbox_lag = Histogram(
            "checklists_outbox_lag_seconds",
            "From an event to the start of its first attempt.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.own_faults = Counter(
            "checklists_own_faults",
            "Transmissions that could not be made for a reason of our own.",
            ["reason"],
            registry=self.registry,
        )
        self.expiries = Counter("checklists_run_expiries", "Runs whose expiry was written.", registry=self.registry)
        self.admissions = Counter(
            "checklists_run_admissions", "Runs made with kubectl, by verdict.", ["verdict"], registry=self.registry
        )
        self.removals = Counter(
            "checklists_removed_objects", "Objects removed by sweeps.", ["kind"], registry=self.registry
        )
        self.events = Counter(
            "checklists_watch_events", "Objects that the watches brought.", ["kind"], registry=self.registry
        )
        self.kopf_restarts = Counter(
            "checklists_kopf_restarts", "How often Kopf ended and was started again.", registry=self.registry
        )
        self.bugs = Counter(
            "checklists_unexpected_errors", "Errors that nobody foresaw.", ["where"], registry=self.registry
        )
        self.leader = Gauge("checklists_leader", "1 while this process holds the lease.", registry=self.registry)
        self._sizes: dict[str, Callable[[], int]] = {}
        self.registry.register(_Sizes(self._sizes))

    def watch_size(self, name: str, size: Callable[[], int]) -> None:
        """Shows `size()` as checklists_pending{of=name}: depth of a queue, size of the heap, permits in use."""
        self._sizes[name] = size

    def render(self) -> bytes:
        return generate_latest(self.registry)


class _Sizes(Collector):
    """Sizes are read when somebody asks, so that they cost nothing otherwise."""

    def __init__(self, sizes: dict[str, Callable[[], int]]) -> None:
        self._sizes = sizes

    def collect(self) -> list[Metric]:
        family = GaugeMetricFamily("checklists_pending", "What waits now.", labels=["of"])
        for name, size in self._sizes.items():
            family.add_metric([name], size())
        return [family]
