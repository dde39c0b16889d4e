"""Traces with OpenTelemetry over OTLP/HTTP. Imported only if tracing is on: its packages are optional.

A thread sends spans in batches from a bounded queue: a slow or unavailable collector costs spans, but no request or
delivery. The standard variables (OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS) apply.
"""

import logging
import threading
from datetime import datetime
from importlib.metadata import version
from typing import Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .tracing import TRACEPARENT_HEADER, Span, SpanKind, Tracing

_SEND_WITHIN_S: Final = 5
_KINDS: Final = {
    SpanKind.SERVER: trace.SpanKind.SERVER,
    SpanKind.CLIENT: trace.SpanKind.CLIENT,
    SpanKind.INTERNAL: trace.SpanKind.INTERNAL,
}


class _Recorded(Span):
    def __init__(self, span: trace.Span) -> None:
        self._span = span
        context = span.get_span_context()
        self.trace_id = f"{context.trace_id:032x}"
        self.traceparent = f"00-{self.trace_id}-{context.span_id:016x}-{int(context.trace_flags):02x}"
        self._links: set[str] = set()

    def note(self, **attributes: str | int | bool | None) -> None:
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(name.replace("__", "."), value)

    def failed(self, reason: str) -> None:
        self._span.set_status(trace.StatusCode.ERROR, reason)

    def link(self, traceparent: str | None) -> None:
        if traceparent is None or traceparent in self._links:
            return
        self._links.add(traceparent)
        _, trace_id, span_id, flags = traceparent.split("-")
        self._span.add_link(
            trace.SpanContext(
                int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(int(flags, 16))
            )
        )

    def end(self, at: datetime | None = None) -> None:
        self._span.end(end_time=None if at is None else _nanoseconds(at))


class OtelTracing(Tracing):
    is_on = True

    def __init__(self, endpoint: str, *, service: str) -> None:
        # Its warnings would repeat with every batch while the collector is unavailable.
        logging.getLogger("opentelemetry").addFilter(_Once())
        resource = Resource.create({"service.name": service, "service.version": version("checklist-dispatch")})
        exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=_SEND_WITHIN_S)
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("checklist_dispatch")
        self._propagator = TraceContextTextMapPropagator()

    def span(
        self,
        name: str,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: str | None = None,
        since: datetime | None = None,
    ) -> Span:
        context = self._propagator.extract({} if parent is None else {TRACEPARENT_HEADER: parent})
        start = None if since is None else _nanoseconds(since)
        return _Recorded(self._tracer.start_span(name, context=context, kind=_KINDS[kind], start_time=start))

    def close(self) -> None:
        # In a thread, since a hanging collector must not delay the end of the process.
        ending = threading.Thread(target=self._provider.shutdown, name="send the last spans", daemon=True)
        ending.start()
        ending.join(_SEND_WITHIN_S)


class _Once(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        is_new = record.msg not in self._seen
        self._seen.add(str(record.msg))
        return is_new


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000) * 1_000_000
