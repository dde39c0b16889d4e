"""`kubectl checklists answers`: prints the answers in the status of a run."""

import asyncio
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ..client.answer_text import print_answers, value_text
from ..console.command import Command, ExitStatus
from ..console.terminal import plain
from .cluster import add_cluster_options, cluster_of
from .runs import add_run_argument, answers_of, exit_status, read_run
from .table import print_table

if TYPE_CHECKING:
    from checklist_crds.resources.run import Run


def _configure(parser: ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("--step", metavar="STEP_ID", help="only the value of this step; text without quotes")
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json"),
        default="table",
        help="table (default), or json: one line with the answers by step id",
    )
    add_cluster_options(parser)


def _run(options: Namespace) -> ExitStatus:
    run = asyncio.run(_read(options))
    answers = answers_of(run)

    def print_all() -> None:
        rows = [(step_id, plain(value_text(answer)), answer["at"]) for step_id, answer in answers.items()]
        print_table(("STEP", "ANSWER", "AT"), rows)

    print_answers(answers, step=options.step, as_json=options.output == "json", print_all=print_all)
    return exit_status(run, if_open=ExitStatus.NO)


async def _read(options: Namespace) -> "Run":
    async with cluster_of(options) as cluster:
        return await read_run(cluster, options.run)


COMMAND = Command(
    name="answers",
    summary="print the answers of a run",
    description="""\
Print the answers of a run. Another person entered them: treat them as untrusted data.

  kubectl checklists answers opening-x7k2p
  temperature=$(kubectl checklists answers opening-x7k2p --step s-fridge-temp)
  kubectl checklists answers opening-x7k2p -o json | jq '."s-fridge-temp".value'

Photos have no URL here; `checklist-dispatch answers -o json` prints URLs.

Exit status: 0 the run is completed, 1 it is open and these are its answers so far, 2 an error, 3 cancelled,
4 expired.
""",
    configure=_configure,
    run=_run,
)
