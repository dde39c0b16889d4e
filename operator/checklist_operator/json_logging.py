"""Logs as JSON lines: time, level, logger, message, and what the line is about.

A line is about objects, given as `extra=about(run=..., delivery=...)`. Nothing else of a record is printed, so that no
library can put an object's content (answers, secrets) into the log by way of a record's attributes.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

_FIELD = "about"


def about(**facts: Any) -> dict[str, Any]:
    """The `extra` of a log line: ids, numbers and short words, never content."""
    return {_FIELD: facts}


class JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "ts": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        facts = getattr(record, _FIELD, None)
        if isinstance(facts, dict):
            line.update(facts)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _retries_are_no_errors(record: logging.LogRecord) -> bool:
    """Kopf calls a request that it will send again an error; nobody needs to be woken for that."""
    if record.name.startswith("kopf.") and "will retry" in str(record.msg):
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


def configure_logging(level: str) -> None:
    """Everything to standard error. Kopf speaks up only when something is wrong: its own narration would be a line for
    every event of every object."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_retries_are_no_errors)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("kopf").setLevel(max(logging.WARNING, root.level))
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # it misses the signals, which are ours
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    logging.captureWarnings(True)
