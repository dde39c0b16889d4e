"""Logs of both programs: one JSON object per line on standard error (docs/operations.md, "Logs").

Fields: `ts`, `level`, `logger`, `event`, ids of the objects concerned, `request_id` of the request, and `trace_id` if
tracing is on. Pass objects as `extra=about(run_id=..., reason=...)`. Other attributes of a record are not printed, so
that no library can log an object's content (answers, secrets).
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
    """Returns the `extra` of a log line: ids, numbers and short words, never content."""
    return {_FIELD: facts}


def in_context(**facts: Any) -> None:
    """Sets the context of later log lines in this task and those that it starts; replaces the earlier context."""
    _context.set(facts)


def also_in_context(**facts: Any) -> None:
    """Adds to the context of later log lines."""
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
