"""Traces of both programs, from the dispatch of a run through every attempt to deliver its events.

Tracing is off unless CHECKLISTS_OTLP_ENDPOINT names a collector, and then costs nothing: `NO_TRACES` creates no spans,
and `otel_tracing`, which needs the packages of OpenTelemetry, is not imported.

A caller's `traceparent` (W3C Trace Context) is stored with the run, in an annotation, whether or not this service sends
traces: with traces of both sides, the run's events appear in the trace of the request that created it.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Self

from ..resources.base import GROUP
from .log_lines import also_in_context

TRACEPARENT_ANNOTATION: Final = f"{GROUP}/traceparent"
TRACEPARENT_HEADER: Final = "traceparent"
_FORM: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

_carried: ContextVar[str | None] = ContextVar("traceparent", default=None)
_current: ContextVar["Span | None"] = ContextVar("span", default=None)


class SpanKind(StrEnum):
    SERVER = "server"
    CLIENT = "client"
    INTERNAL = "internal"


def valid_traceparent(text: str | None) -> str | None:
    """Returns it as version 00; None if the recommendation says to ignore it."""
    found = _FORM.fullmatch(text) if text is not None and len(text) <= 512 else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not trace.strip("0") or not span.strip("0"):
        return None
    return f"00-{trace}-{span}-{flags}"


def carry(traceparent: str | None, span: "Span | None" = None) -> None:
    """Sets the trace context of this task; `span` is the span itself if this program created it."""
    _carried.set(traceparent)
    _current.set(span)


def carried() -> str | None:
    return _carried.get()


def link_current(traceparent: str | None) -> None:
    """Links the current span of this task to that one, unless both are in one trace."""
    span = _current.get()
    if span is not None and traceparent is not None and trace_id_of(traceparent) != span.trace_id:
        span.link(traceparent)


def trace_id_of(traceparent: str) -> str:
    return traceparent.split("-")[1]


def traceparent_of(body: Mapping[str, Any]) -> str | None:
    """Returns the traceparent in the annotations of an object, which may contain anything."""
    text = (body["metadata"].get("annotations") or {}).get(TRACEPARENT_ANNOTATION)
    return valid_traceparent(text) if isinstance(text, str) else None


class Span:
    """A span that is not recorded. A context manager, which ends it."""

    traceparent: str | None = None
    trace_id: str | None = None

    def note(self, **attributes: str | int | bool | None) -> None:
        """Adds ids, numbers and short words, never content; ignores None."""

    def failed(self, reason: str) -> None:
        """Marks the span as failed."""

    def link(self, traceparent: str | None) -> None:
        """Links to a related span, once; ignores None."""

    def end(self, at: datetime | None = None) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.failed(type(error).__name__)
        self.end()


class Tracing:
    """Tracing that records nothing."""

    is_on = False

    def span(
        self,
        name: str,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: str | None = None,
        since: datetime | None = None,
    ) -> Span:
        """Starts a span now or at `since`. `parent` is a valid traceparent; None starts a trace."""
        return _NO_SPAN

    def bind_logs(self, body: Mapping[str, Any]) -> None:
        """Adds the trace id of an object to later log lines of this task."""
        parent = traceparent_of(body) if self.is_on else None
        if parent is not None:
            also_in_context(trace_id=trace_id_of(parent))

    def close(self) -> None:
        """Sends outstanding spans; blocks for some seconds at most."""


_NO_SPAN: Final = Span()
NO_TRACES: Final = Tracing()


def tracing_to(endpoint: str | None, *, service: str) -> Tracing:
    """Returns tracing of `service` to the OTLP/HTTP collector at `endpoint`."""
    if endpoint is None:
        return NO_TRACES
    from .otel_tracing import OtelTracing  # its packages are optional

    return OtelTracing(endpoint, service=service)
