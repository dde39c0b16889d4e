"""Configures the operator's log: JSON lines as in both programs (`platform.log_lines`), and severities."""

import logging
import sys

from checklist_crds.platform.log_lines import JsonLines, about

__all__ = ["JsonLines", "about", "configure_logging"]


def _downgrade_retries(record: logging.LogRecord) -> bool:
    """Downgrades errors of requests that Kopf will retry."""
    if record.name.startswith("kopf.") and "will retry" in str(record.msg):
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


def _downgrade_late_bytes(record: logging.LogRecord) -> bool:
    """Downgrades uvloop's error for TLS data on a connection that was just closed, as happens when watches end
    (https://github.com/MagicStack/uvloop/issues/506). Nothing is lost."""
    error = record.exc_info[1] if record.exc_info else None
    if record.name == "asyncio" and isinstance(error, RuntimeError) and str(error).endswith("the handler is closed"):
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True


def configure_logging(level: str) -> None:
    """Logs to standard error. Kopf logs only warnings and errors: otherwise a line for every event of every object."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_downgrade_retries)
    handler.addFilter(_downgrade_late_bytes)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("kopf").setLevel(max(logging.WARNING, root.level))
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # warns that it cannot set signal handlers
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    logging.captureWarnings(True)
