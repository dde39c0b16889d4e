"""Error handling of developer tools: one clear line, an exit code, no traceback."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType


class Failure(Exception):
    """The tool cannot do its work; the message is one line with advice."""


def say(line: str) -> None:
    """Print a line of progress to standard error; standard output is for results."""
    print(line, file=sys.stderr, flush=True)


def end_on_signals() -> None:
    """Turn the first SIGINT, SIGTERM or SIGHUP into a KeyboardInterrupt, and ignore later ones during the clean-up."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in numbers:
        signal.signal(number, end)


def run_tool(main: Callable[[], int], leave: Callable[[int], object] = sys.exit) -> None:
    """Run `main` and end the process with its exit code (1 for a `Failure`, 130 for Ctrl-C)."""
    try:
        code = main()
    except Failure as failure:
        say(f"error: {failure}")
        code = 1
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # The reader of the output (`| head`) has ended: nothing to report.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    leave(code)
