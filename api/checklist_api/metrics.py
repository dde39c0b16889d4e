"""What the API counts, for Prometheus. Label values are bounded: routes by their pattern, never by an id."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """The metrics of one API process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "checklists_http_requests_total", "Requests.", ("route", "method", "status"), registry=self.registry
        )
        self._request_seconds = Histogram(
            "checklists_http_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=self.registry
        )
        self._kube_seconds = Histogram(
            "checklists_kube_call_seconds",
            "Time of calls of the Kubernetes API.",
            ("method",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.kube_failures = Counter(
            "checklists_kube_call_failures_total", "Calls without a usable answer.", registry=self.registry
        )
        self.kube_up = Gauge("checklists_kube_up", "1 while the Kubernetes API answers.", registry=self.registry)
        self.dispatched = Counter("checklists_runs_dispatched_total", "Runs dispatched.", registry=self.registry)
        self.quota_refusals = Counter(
            "checklists_quota_refusals_total", "Dispatches refused over quota.", registry=self.registry
        )
        self.rate_limited = Counter(
            "checklists_rate_limited_total", "Requests refused by a rate limit.", registry=self.registry
        )

        # Finding a child by its labels takes longer than counting.
        self._request_children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._kube_children: dict[str, Histogram] = {}

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        children = self._request_children.get((route, method, status))
        if children is None:
            children = (self._requests.labels(route, method, str(status)), self._request_seconds.labels(route))
            self._request_children[route, method, status] = children
        requests, request_seconds = children
        requests.inc()
        request_seconds.observe(seconds)

    def count_kube_call(self, method: str, seconds: float) -> None:
        child = self._kube_children.get(method)
        if child is None:
            child = self._kube_children[method] = self._kube_seconds.labels(method)
        child.observe(seconds)

    def as_text(self) -> bytes:
        return generate_latest(self.registry)
