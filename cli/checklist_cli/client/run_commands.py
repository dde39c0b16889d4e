"""What the commands on runs have in common: options, output, exit status, interruption. `runs.py` has the requests."""

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
    parser.add_argument("--timeout", type=duration, metavar="TIME", help="maximum wait, as 90s, 30m, 4h or 2d")
    parser.add_argument(
        "--cancel-on-interrupt",
        action="store_true",
        help="cancel the run on Ctrl-C or SIGTERM (default: leave it open)",
    )


def add_output_option(parser: ArgumentParser, text: str) -> None:
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help=text)


def exit_status_of(run: Run, *, if_open: ExitStatus) -> ExitStatus:
    return _STATUSES.get(run["status"], if_open)


def wait_and_print(runs: Runs, run_id: str, options: Namespace) -> ExitStatus:
    """Wait for the end, and print the run. Raises CommandFailed, and KeyboardInterrupt when interrupted."""
    try:
        with _sigterm_as_interrupt(options.cancel_on_interrupt):
            run = runs.wait(run_id, options.timeout)
    except KeyboardInterrupt:
        if options.cancel_on_interrupt:
            runs.cancel(run_id)
            print(f"cancelled {run_id}", file=sys.stderr)
        else:
            print(f"{run_id} is still open; to wait again: checklist-dispatch wait {run_id}", file=sys.stderr)
        raise
    if options.output == "json":
        print_json(run)
    else:
        print(f"{run_id} {run['status']}")
    return exit_status_of(run, if_open=ExitStatus.TIMEOUT)


def print_json(document: Any) -> None:
    """Print one line of ASCII, which cannot control a terminal."""
    print(json.dumps(document), flush=True)


@contextlib.contextmanager
def _sigterm_as_interrupt(enabled: bool) -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C inside the block."""
    if not enabled:
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
