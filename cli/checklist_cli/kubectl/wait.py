"""`kubectl checklists wait`: waits for the end of a run by a watch of its object."""

import asyncio
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ..client.run_commands import add_output_option, print_json
from ..console.command import Command, ExitStatus
from ..console.values import duration
from .cluster import add_cluster_options, cluster_of
from .runs import add_run_argument, document_of, exit_status, interrupted, rest_status, wait_for_end

if TYPE_CHECKING:
    from checklist_crds.resources.run import Run


def _configure(parser: ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("--timeout", type=duration, metavar="TIME", help="maximum wait, as 90s, 30m, 4h or 2d")
    add_output_option(parser, "json: one line with the run and its answers")
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    try:
        run = asyncio.run(_wait(options))
    except KeyboardInterrupt:
        interrupted(options.run, options)
        raise
    return report(run, options)


async def _wait(options: Namespace) -> "Run":
    async with cluster_of(options) as cluster:
        return await wait_for_end(cluster, options.run, options.timeout)


def report(run: "Run", options: Namespace) -> ExitStatus:
    """Print how the run ended, or that it is open."""
    if options.output == "json":
        print_json(document_of(run))
    else:
        print(f"{run.name} {rest_status(run)}")
    return exit_status(run, if_open=ExitStatus.TIMEOUT)


COMMAND = Command(
    name="wait",
    summary="wait for the end of a run",
    description="""\
Wait until a run is completed, cancelled or expired, and print how it ended. Progress goes to standard error.

  kubectl checklists wait opening-x7k2p --timeout 1h && echo done
  kubectl checklists wait "$(kubectl create -f run.yaml -o name)" -o json

It watches the object (rights: get and watch runs), and survives outages of the Kubernetes API of up to ten minutes.
Ctrl-C leaves the run open.

Exit status: 0 completed, 2 an error, 3 cancelled, 4 expired, 5 still open after --timeout, 130 interrupted.
""",
    configure=_configure,
    run=_run,
)
