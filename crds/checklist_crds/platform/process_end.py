"""The end of a process that has used an object store.

The threads of obstore's runtime may ask for the interpreter after the last result has been handed over. When the
interpreter is being torn down by then, Python 3.11 ends such a thread in a way that Rust answers with abort(): the
process has done its work and ends with SIGABRT, without a word (https://github.com/rust-lang/rust/issues/135929).
"""

import atexit
import logging
import os
import sys
from contextlib import suppress
from typing import NoReturn


def end_process(status: int) -> NoReturn:
    """Ends the process as `sys.exit(status)` does, joining its threads, but does not tear the interpreter down.

    Functions registered with atexit before are not called.
    """
    atexit.register(_leave, status)
    sys.exit(status)


def _leave(status: int) -> NoReturn:
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            stream.flush()
    os._exit(status)
