"""Logs as JSON lines on stderr: an event's name, the ids it is about, never a secret."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

from aiohttp.http_exceptions import HttpProcessingError

_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}

_encode: Final = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":")).encode


class JsonLines(logging.Formatter):
    """One JSON object per record; what is passed as `extra` becomes a member."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line)


class _WithoutWireData(logging.Filter):
    """aiohttp logs what it could not parse with a traceback that quotes it: an Authorization header, say."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            record.msg, record.args, record.exc_info = "http.malformed", (), None
            record.levelno, record.levelname = logging.INFO, "INFO"
        return True


def log_to_stderr(level: int = logging.INFO) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    # Nobody reads them here, and they cost time with every line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("aiohttp.server").addFilter(_WithoutWireData())
    # What its configuration loader warns of is in the error that follows.
    logging.getLogger("kubernetes").setLevel(logging.ERROR)
