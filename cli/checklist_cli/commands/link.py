"""`checklist-dispatch link`: prints the link of an open run."""

import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from ..client.connection import Refused, add_service_options
from ..client.run_commands import add_output_option, print_json
from ..client.runs import connected_runs
from ..console.command import Command, ExitStatus
from ..console.terminal import plain
from ..console.values import run_id

_WITHOUT_LINK: Final = frozenset({"run_closed", "run_expired", "run_not_admitted"})


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID", type=run_id, help="the run, r-<uuid>")
    add_output_option(parser, "json: one line with run_id, link and expires_at")
    add_service_options(parser)


def _run(options: Namespace) -> ExitStatus:
    with connected_runs(options) as runs:
        try:
            answer = runs.link(options.run_id)
        except Refused as refused:
            if refused.code not in _WITHOUT_LINK:
                raise
            print(f"checklist-dispatch link: {refused.message}", file=sys.stderr)
            return ExitStatus.NO
    if options.output == "json":
        print_json({"run_id": options.run_id, "link": answer["link"], "expires_at": answer.get("expires_at")})
    else:
        print(plain(answer["link"]))
    return ExitStatus.YES


COMMAND = Command(
    name="link",
    summary="print the link of an open run",
    description="""\
Print the link of an open run with an API key of its organization. Anyone with the link can answer the run: send it to
the executor only, and keep it out of logs.

  checklist-dispatch link r-... --server https://checklists.example --key-file key.txt
  checklist-dispatch link r-... -o json | jq -r .expires_at

It also works for runs made with kubectl, once they are admitted.

Exit status: 0 printed; 1 the run has no link, because it has ended or is not admitted (standard error says which);
2 an error.
""",
    configure=_configure,
    run=_run,
)
