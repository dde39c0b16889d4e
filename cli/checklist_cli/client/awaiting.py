"""Waits for the end of a run on the command line: exit status by the end, and what an interruption does."""

import contextlib
import json
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, Final

from ..console.command import ExitStatus
from ..console.values import duration
from .runs import Run, Runs

_STATUSES: Final = {
    "completed": ExitStatus.YES,
    "cancelled": ExitStatus.CANCELLED,
    "expired": ExitStatus.EXPIRED,
}


def add_wait_options(parser: ArgumentParser) -> None:
    """--timeout and --cancel-on-interrupt."""
    parser.add_argument("--timeout", type=duration, metavar="TIME", help="wait so long at most, as 90s, 30m, 4h or 2d")
    parser.add_argument(
        "--cancel-on-interrupt",
        action="store_true",
        help="cancel the run on Ctrl-C or SIGTERM (default: it goes on, and can be waited for again)",
    )


def add_output_option(parser: ArgumentParser, text: str) -> None:
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help=text)


def status_of(run: Run, *, still_open: ExitStatus) -> ExitStatus:
    return _STATUSES.get(run["status"], still_open)


def wait_for_end(runs: Runs, run_id: str, options: Namespace) -> ExitStatus:
    """Waits, and prints the run. Raises CommandFailed, and KeyboardInterrupt when it is interrupted."""
    try:
        with _terminable(options.cancel_on_interrupt):
            run = runs.until_ended(run_id, options.timeout)
    except KeyboardInterrupt:
        if options.cancel_on_interrupt:
            runs.cancel(run_id)
            print(f"{run_id} is cancelled", file=sys.stderr)
        else:
            print(f"{run_id} goes on; wait again: checklist-dispatch wait {run_id}", file=sys.stderr)
        raise
    if options.output == "json":
        print_json(run)
    else:
        print(f"{run_id} {run['status']}")
    return status_of(run, still_open=ExitStatus.TIMEOUT)


def print_json(document: Any) -> None:
    """One line, of ASCII alone: nothing in it moves the cursor of a terminal."""
    print(json.dumps(document), flush=True)


@contextlib.contextmanager
def _terminable(wanted: bool) -> Iterator[None]:
    """While the block runs, SIGTERM interrupts as Ctrl-C does, where that is `wanted`."""
    if not wanted:
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
