"""Logs of both programs: one JSON object a line on standard error, with the same fields (docs/operations.md, "Logs").

`ts`, `level`, `logger` and `event`, what happened; then the ids that it happened to, and where it belongs: `request_id`
of the request, `trace_id` where traces are on. A line is about objects, given as `extra=about(run_id=..., reason=...)`.
Nothing else of a record is printed, so that no library can put an object's content (answers, secrets) into the log by
way of a record's attributes.
"""

import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

_FIELD: Final = "about"
_encode: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode

_context: ContextVar[Mapping[str, Any]] = ContextVar("log_context", default=MappingProxyType({}))


def about(**facts: Any) -> dict[str, Any]:
    """The `extra` of a log line: ids, numbers and short words, never content."""
    return {_FIELD: facts}


def in_context(**facts: Any) -> None:
    """What all lines from here on belong to, in this task and in those that it starts; nothing else any more."""
    _context.set(facts)


def also_in_context(**facts: Any) -> None:
    """The same, beside what they belong to already."""
    _context.set({**_context.get(), **facts})


class JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "ts": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **_context.get(),
            **self.facts_of(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line)

    def facts_of(self, record: logging.LogRecord) -> Mapping[str, Any]:
        facts = getattr(record, _FIELD, None)
        return facts if isinstance(facts, dict) else {}
