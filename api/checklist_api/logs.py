"""The API's log: JSON lines (`checklist_crds.platform.log_lines`)."""

import logging
import sys
from collections.abc import Mapping
from typing import Any, Final

from checklist_crds.platform import log_lines

_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "about"}


class JsonLines(log_lines.JsonLines):
    """What is passed as `extra` becomes a member."""

    def facts_of(self, record: logging.LogRecord) -> Mapping[str, Any]:
        own = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
        return {**own, **super().facts_of(record)}


def log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    # Nobody reads them here, and they cost time with every line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # What its configuration loader warns of is in the error that follows.
    logging.getLogger("kubernetes").setLevel(logging.ERROR)
    # They tell of every request to a language model, at DEBUG with the headers of its server: not ours to log.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
