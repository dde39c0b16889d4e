"""What a developer tool says when it cannot go on: one clear line, an exit code, and no traceback."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType


class Failure(Exception):
    """The tool cannot do what it was asked; the message is one line that says what to do about it."""


def say(line: str) -> None:
    """One line of progress, on standard error, so that standard output stays for results."""
    print(line, file=sys.stderr, flush=True)


def end_on_signals() -> None:
    """Turn the first SIGINT, SIGTERM or SIGHUP into a KeyboardInterrupt; later ones do not disturb the clean-up."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in numbers:
        signal.signal(number, end)


def run_tool(main: Callable[[], int], leave: Callable[[int], object] = sys.exit) -> None:
    """Run the `main` of a tool and `leave` the process with its exit code (1 for a `Failure`, 130 for Ctrl-C)."""
    try:
        code = main()
    except Failure as failure:
        say(f"error: {failure}")
        code = 1
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # The reader of our output (`| head`) has left: nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    leave(code)
