"""The log of the operator: JSON lines as of both programs (`platform.log_lines`), and what is an error in them."""

import logging
import sys

from checklist_crds.platform.log_lines import JsonLines, about

__all__ = ["JsonLines", "about", "configure_logging"]


def _retries_are_no_errors(record: logging.LogRecord) -> bool:
    """Kopf calls a request that it will send again an error; nobody needs to be woken for that."""
    if record.name.startswith("kopf.") and "will retry" in str(record.msg):
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


def _late_bytes_are_no_errors(record: logging.LogRecord) -> bool:
    """uvloop calls it fatal when something arrives over TLS for a connection that we have just closed, as watches do at
    an end (https://github.com/MagicStack/uvloop/issues/506). Nothing is lost by it."""
    error = record.exc_info[1] if record.exc_info else None
    if record.name == "asyncio" and isinstance(error, RuntimeError) and str(error).endswith("the handler is closed"):
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True


def configure_logging(level: str) -> None:
    """Everything to standard error. Kopf speaks up only when something is wrong: its own narration would be a line for
    every event of every object."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_retries_are_no_errors)
    handler.addFilter(_late_bytes_are_no_errors)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("kopf").setLevel(max(logging.WARNING, root.level))
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # it misses the signals, which are ours
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    logging.captureWarnings(True)
