"""Sends an attempt while the lease is ours: transmission, trace, standing of the receiver, metrics."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from attrs import define, field

from checklist_crds.platform.log_lines import also_in_context
from checklist_crds.platform.tracing import NO_TRACES, SpanKind, Tracing, traceparent_of
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.webhook_url import host_of
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.transport.fairness import Permits
from checklist_operator.transport.outcome import Outcome
from checklist_operator.transport.sender import Sender

_REMEMBERED: Final = 10_000
"""Number of failed attempts that later attempts of their events link to."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Trace context of an attempt: `run` as in the cluster, and since when a first attempt has waited."""

    run: JsonObject
    event_id: str
    event: str
    waiting_since: datetime | None = None
    first_attempt: str | None = None
    """traceparent of the event's first attempt, from its delivery; None for the first attempt itself."""


@define(kw_only=True, eq=False, repr=False, slots=False)
class Transmitter:
    """Sends attempts while `leads` says that the lease is ours."""

    _sender: Sender
    _permits: Permits
    _metrics: Metrics
    _leads: Callable[[], bool]
    _tracing: Tracing = NO_TRACES
    _failed: TTLCache[str, str] = field(factory=lambda: TTLCache(_REMEMBERED), init=False)
    _starts: bool = field(default=True, init=False)
    _takes_answers: bool = field(default=True, init=False)

    def stop_sending(self) -> None:
        """Sends no more attempts: their answers would come too late."""
        self._starts = False

    def discard_responses(self) -> None:
        """Ignores answers from now on, since they could not be recorded."""
        self._takes_answers = False

    async def send(
        self, url: str, body: bytes, secret: bytes, run_id: str, *, attempt: int, origin: Origin | None = None
    ) -> Outcome:
        """Sends now; call it with a permit. Raises LocalFault; then the result is unknown."""
        if origin is None or not self._tracing.is_on:
            return await self._send(url, body, secret, run_id, attempt)
        parent = traceparent_of(origin.run)
        if origin.waiting_since is not None:
            with self._tracing.span("wait in the outbox", parent=parent, since=origin.waiting_since) as wait:
                wait.note(run_id=run_id, event_id=origin.event_id)
        with self._tracing.span(f"deliver {origin.event}", kind=SpanKind.CLIENT, parent=parent) as span:
            also_in_context(trace_id=span.trace_id)
            span.note(run_id=run_id, event_id=origin.event_id, attempt=attempt)
            span.link(self._failed.get(origin.event_id) or origin.first_attempt)
            outcome = await self._send(url, body, secret, run_id, attempt)
            span.note(outcome=outcome.outcome_class.value, http__response__status_code=outcome.http_status)
            self._failed.pop(origin.event_id)
            if not outcome.ok:
                span.failed(outcome.outcome_class.value)
                if span.traceparent is not None:
                    self._failed.put(origin.event_id, span.traceparent)
            return replace(outcome, traceparent=span.traceparent)

    async def _send(self, url: str, body: bytes, secret: bytes, run_id: str, attempt: int) -> Outcome:
        if not self._starts or not self._leads():
            # The term is about to end, or was suspended past its lease: another process sends the event.
            await asyncio.Event().wait()
        outcome = await self._sender.send(url, body, secret, run_id)
        if not self._takes_answers:
            await asyncio.Event().wait()
        self._permits.record(host_of(url), outcome.outcome_class, outcome.duration_ms / 1000)
        self._metrics.attempts.labels(outcome.outcome_class.value, str(attempt)).inc()
        self._metrics.attempt_seconds.labels(outcome.outcome_class.value).observe(outcome.duration_ms / 1000)
        return outcome
