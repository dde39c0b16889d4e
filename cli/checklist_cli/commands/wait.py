"""`checklist-dispatch wait`: waits for the end of a run."""

from argparse import ArgumentParser, Namespace

from ..client.connection import add_service_options
from ..client.run_commands import add_output_option, add_wait_options, wait_and_print
from ..client.runs import connected_runs
from ..console.command import Command, ExitStatus
from ..console.values import run_id


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID", type=run_id, help="the run, r-<uuid>")
    add_wait_options(parser)
    add_output_option(parser, "json: one line with the run and its answers, as GET /v1/runs/{run_id} returns it")
    add_service_options(parser)


def _run(options: Namespace) -> ExitStatus:
    with connected_runs(options) as runs:
        return wait_and_print(runs, options.run_id, options)


COMMAND = Command(
    name="wait",
    summary="wait for the end of a run",
    description="""\
Wait until a run is completed, cancelled or expired, and print how it ended.

  checklist-dispatch wait r-... --timeout 1h && echo done
  checklist-dispatch wait r-... -o json | jq .answers

Progress goes to standard error. The wait survives outages of the service of up to ten minutes. Ctrl-C leaves the run
open; with --cancel-on-interrupt it cancels the run.

Exit status: 0 completed, 2 an error, 3 cancelled, 4 expired, 5 still open after --timeout, 130 interrupted.
""",
    configure=_configure,
    run=_run,
)
