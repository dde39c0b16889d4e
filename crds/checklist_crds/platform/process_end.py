"""Ends a process that has used an object store.

Threads of obstore's runtime may need the interpreter after the last result was returned. If the interpreter is being
finalized, Python 3.11 ends such a thread in a way that Rust answers with abort(): the process ends with SIGABRT,
without a message, after its work is done (https://github.com/rust-lang/rust/issues/135929).
"""

import atexit
import logging
import os
import sys
from contextlib import suppress
from typing import NoReturn


def end_process(status: int) -> NoReturn:
    """Ends the process like `sys.exit(status)`, joining its threads, but without finalizing the interpreter.

    Functions registered with atexit earlier are not called.
    """
    atexit.register(_leave, status)
    sys.exit(status)


def _leave(status: int) -> NoReturn:
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the other end, or the stream, is closed
            stream.flush()
    os._exit(status)
