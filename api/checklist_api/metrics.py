"""Prometheus metrics of the API. Label values are bounded: routes by their pattern, never by an id."""

from enum import StrEnum
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_DISPATCH_STATUSES: Final = ("201", "500", "503")
"""Statuses of POST /v1/runs exported from 0, because the first failure of a new series is invisible to `rate`."""
_MODEL_SECONDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0)
_PHOTO_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0)


class UploadResult(StrEnum):
    """Result of an upload of a photo or drawing."""

    KEPT = "kept"
    REPEATED = "replayed"
    """Repeated op_id."""
    NO_PHOTO = "no_photo"
    """Not a supported image."""
    REFUSED = "refused"
    """Refused by the run, the step or request validation."""
    UNAVAILABLE = "unavailable"
    """Temporary: queue full, or disk, store or cluster unavailable."""
    BROKEN_OFF = "broken_off"
    FAILED = "failed"


class ArchiveFailure(StrEnum):
    """Why archived runs could not be read."""

    STORE = "store"
    """The object store is unavailable."""
    DAMAGED = "damaged"
    """A part does not match its manifest."""
    DISK = "disk"
    """No disk space for the list of archived runs."""


class Metrics:
    """The metrics of one API process, with their registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        self._requests = counter("checklists_http_requests_total", "Requests.", ("route", "method", "status"))
        self._request_seconds = histogram("checklists_http_request_seconds", "Response time.", ("route",))
        self._kube_seconds = histogram(
            "checklists_kube_call_seconds", "Time of calls of the Kubernetes API.", ("method",)
        )
        self.kube_failures = counter("checklists_kube_call_failures_total", "Failed calls.")
        self._stale_settings = gauge(
            "checklists_setting_stale",
            "1 while the file of a setting is invalid and its former value stays in use.",
            ("setting",),
        )
        self.kube_up = gauge("checklists_kube_up", "1 while the Kubernetes API is up.")
        self.overloaded = counter(
            "checklists_overload_refusals_total",
            "Requests refused because they would have waited too long for the Kubernetes API.",
        )
        self.calls_waiting = gauge("checklists_kube_calls_waiting", "Queued calls.")
        self.dispatched = counter("checklists_runs_dispatched_total", "Runs dispatched.")
        self.quota_refusals = counter("checklists_quota_refusals_total", "Dispatches refused over quota.")
        self.rate_limited = counter("checklists_rate_limited_total", "Requests refused by a rate limit.")
        self.shared_limits = gauge(
            "checklists_rate_limits_shared",
            "1 while rate limits are shared between replicas, 0 while they are local.",
        )
        self.shared_limits_lost = counter(
            "checklists_rate_limits_fallbacks_total",
            "Fallbacks to local rate limits because Redis was down.",
        )
        self.change_readers = gauge("checklists_change_readers", "Open pages of runs that wait for changes.")
        self.live_viewers = gauge("checklists_live_viewers", "Open event streams of the dashboard.")
        self.live_ended = counter("checklists_live_streams_ended_total", "Ended event streams.", ("reason",))
        self.run_waits = gauge("checklists_run_waits", "Requests waiting for the end of a run.")
        self._uploads = counter("checklists_photo_uploads_total", "Uploads of photos and drawings.", ("result",))
        for result in UploadResult:
            self._uploads.labels(result.value)
        self._photo_bytes = counter("checklists_photo_bytes_total", "Bytes of stored photos and drawings.")
        self.photo_seconds = histogram(
            "checklists_photo_processing_seconds",
            "Time from a received file to its photo or refusal, including queueing.",
            buckets=_PHOTO_SECONDS,
        )
        self._templates = counter("checklists_templates_generated_total", "Templates generated from prompts.", ("by",))
        for maker in ("composer", "model"):
            self._templates.labels(maker)
        self._model_prompts = counter(
            "checklists_model_prompts_total",
            "Prompts for the language model, by outcome.",
            ("outcome",),
        )
        self._model_seconds = histogram(
            "checklists_model_prompt_seconds",
            "Time of the language model for a prompt, including corrections.",
            buckets=_MODEL_SECONDS,
        )
        self._model_tokens = counter(
            "checklists_model_tokens_total", "Tokens read and written by the language model.", ("kind",)
        )
        self._model_cost = counter("checklists_model_cost_total", "Cost of the tokens at the configured prices.")
        self.archived_runs = gauge("checklists_archived_runs", "Archived runs in lists of all organizations.")
        self.archive_look_age = gauge(
            "checklists_archive_look_age_seconds", "Seconds since the last full refresh of the archive index."
        )
        self._archive_failures = counter(
            "checklists_archive_read_failures_total", "Failed reads of the archive.", ("reason",)
        )
        for failure in ArchiveFailure:
            self._archive_failures.labels(failure.value)

        # Cached, because finding a child by its labels takes longer than counting.
        self._request_children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        for status in _DISPATCH_STATUSES:
            self._requests.labels("/v1/runs", "POST", status)
        self._kube_children: dict[str, Histogram] = {}

    def setting_is_stale(self, name: str, stale: bool) -> None:
        """Set whether the file of a setting is invalid."""
        self._stale_settings.labels(name).set(stale)

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

    def count_upload(self, result: UploadResult, kept_bytes: int = 0) -> None:
        self._uploads.labels(result.value).inc()
        self._photo_bytes.inc(kept_bytes)

    def count_archive_failure(self, reason: ArchiveFailure) -> None:
        self._archive_failures.labels(reason.value).inc()

    def count_template(self, by: str) -> None:
        self._templates.labels(by).inc()

    def count_model_prompt(self, outcome: str, seconds: float) -> None:
        """Count a prompt. `outcome`: `template`, or the failure's reason."""
        self._model_prompts.labels(outcome).inc()
        self._model_seconds.observe(seconds)

    def count_model_tokens(self, sent: int, written: int, cost: float) -> None:
        self._model_tokens.labels("sent").inc(sent)
        self._model_tokens.labels("written").inc(written)
        self._model_cost.inc(cost)

    def as_text(self) -> bytes:
        return generate_latest(self.registry)
