"""What the operator's log calls an error: only what somebody has to look at."""

import contextlib
import io
import json
import logging
from collections.abc import Iterator

import pytest

from checklist_operator.json_logging import configure_logging

CLOSED = "unable to perform operation on <TCPTransport closed=True reading=False 0x1>; the handler is closed"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the log writes, once it is configured as the operator does it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    with contextlib.redirect_stderr(stream):
        configure_logging("INFO")
    yield stream
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)


@pytest.mark.parametrize(
    ("logger", "message", "error", "level"),
    [
        ("asyncio", "Fatal error on SSL protocol", RuntimeError(CLOSED), "info"),
        ("asyncio", "Fatal error on SSL protocol", RuntimeError("something else"), "error"),
        ("asyncio", "Task exception was never retrieved", ValueError("the handler is closed"), "error"),
        ("checklist_operator", "unexpected", RuntimeError(CLOSED), "error"),
        ("kopf._cogs", "Request attempt failed; will retry", ValueError("x"), "warning"),
        ("kopf._cogs", "Request attempt failed; escalating", ValueError("x"), "error"),
    ],
)
def test_an_error_is_what_somebody_has_to_look_at(
    written: io.StringIO, logger: str, message: str, error: Exception, level: str
) -> None:
    logging.getLogger(logger).error(message, exc_info=error)
    line = json.loads(written.getvalue())
    assert (line["level"], line["event"]) == (level, message)
    assert str(error) in line["exception"]
