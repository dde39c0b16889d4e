"""Traces of both programs: one from the dispatch of a run through every attempt to deliver its events.

They are off unless CHECKLISTS_OTLP_ENDPOINT names a collector, and cost nothing then: `NO_TRACES` makes no spans, and
`otel_tracing`, which needs the packages of OpenTelemetry, is not even read.

A caller's `traceparent` (W3C Trace Context) is kept with the run, in an annotation, whether or not this service sends
traces itself: who traces both sides finds the run's events in the trace of the request that made it.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Self

from ..resources.base import GROUP

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
    """As version 00, or None for what the recommendation says is to be passed over."""
    found = _FORM.fullmatch(text) if text is not None and len(text) <= 512 else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not trace.strip("0") or not span.strip("0"):
        return None
    return f"00-{trace}-{span}-{flags}"


def carry(traceparent: str | None, span: "Span | None" = None) -> None:
    """What this task does from here on belongs to that span, which is `span` where this program made it."""
    _carried.set(traceparent)
    _current.set(span)


def carried() -> str | None:
    return _carried.get()


def relate(traceparent: str | None) -> None:
    """What this task does has to do with that span, too: its own links to it, where that one is of another trace."""
    span = _current.get()
    if span is not None and traceparent is not None and trace_id_of(traceparent) != span.trace_id:
        span.link(traceparent)


def trace_id_of(traceparent: str) -> str:
    """Of a valid one."""
    return traceparent.split("-")[1]


def traceparent_of(body: Mapping[str, Any]) -> str | None:
    """Of an object from the cluster, whose annotations anybody with rights there may have written."""
    text = (body["metadata"].get("annotations") or {}).get(TRACEPARENT_ANNOTATION)
    return valid_traceparent(text) if isinstance(text, str) else None


class Span:
    """One that is not recorded. A context manager, which ends it."""

    traceparent: str | None = None
    trace_id: str | None = None

    def note(self, **attributes: str | int | bool | None) -> None:
        """Ids, numbers and short words, never content; None is left out."""

    def failed(self, reason: str) -> None:
        """What it stands for did not succeed."""

    def link(self, traceparent: str | None) -> None:
        """To a span that it has to do with, and that is not its parent. Once to each; None is passed over."""

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
    """No traces."""

    is_on = False

    def span(
        self,
        name: str,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: str | None = None,
        since: datetime | None = None,
    ) -> Span:
        """Begun now, or `since` then. `parent` is a traceparent that is valid; None begins a trace."""
        return _NO_SPAN

    def close(self) -> None:
        """Sends what is still to be sent; waits for that some seconds at most. It blocks."""


_NO_SPAN: Final = Span()
NO_TRACES: Final = Tracing()


def tracing_to(endpoint: str | None, *, service: str) -> Tracing:
    """Traces of `service`, to the OTLP/HTTP collector at `endpoint`."""
    if endpoint is None:
        return NO_TRACES
    from .otel_tracing import OtelTracing  # its packages are optional

    return OtelTracing(endpoint, service=service)
