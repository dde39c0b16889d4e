"""The API's log: JSON lines (`checklist_crds.platform.log_lines`)."""

import logging
import sys
from collections.abc import Mapping
from typing import Any, Final

from checklist_crds.platform import log_lines

_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "about"}


class JsonLines(log_lines.JsonLines):
    """Writes fields of `extra` as members."""

    def facts_of(self, record: logging.LogRecord) -> Mapping[str, Any]:
        own = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
        return {**own, **super().facts_of(record)}


def log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    # Not used, and they cost time.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # Warnings of its configuration loader are part of the error that follows.
    logging.getLogger("kubernetes").setLevel(logging.ERROR)
    # They log requests to the language model, at DEBUG including headers.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
