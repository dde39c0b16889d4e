"""`checklist-dispatch link`: the link of an open run."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from ..client.api_key import KEY_VARIABLE, read_api_key
from ..client.export_download import client_of
from ..client.read_json import Refused, read_json
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import plain
from ..console.values import run_id
from .ready import url

_SERVER_VARIABLE: Final = "CHECKLISTS_BASE_URL"
_WITHOUT_LINK: Final = frozenset({"run_closed", "run_expired", "run_not_admitted"})


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN_ID", type=run_id, help="the run, r-<uuid>")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="text: the link alone (default: text)"
    )
    service = parser.add_argument_group("the service")
    service.add_argument(
        "--server",
        metavar="URL",
        type=url,
        default=os.environ.get(_SERVER_VARIABLE) or None,
        help=f"its base address (default: {_SERVER_VARIABLE})",
    )
    service.add_argument("--key-file", type=Path, metavar="FILE", help=f"the API key's file (default: ${KEY_VARIABLE})")


def _run(options: Namespace) -> ExitStatus:
    if options.server is None:
        raise CommandFailed(f"which service? Give --server, or set {_SERVER_VARIABLE}")
    key = read_api_key(options.key_file)
    with client_of(options.server, key) as client:
        try:
            answer = read_json(client, f"/v1/runs/{options.run}/link")
        except Refused as refused:
            if refused.code not in _WITHOUT_LINK:
                raise
            print(f"checklist-dispatch link: {refused.message}", file=sys.stderr)
            return ExitStatus.NO
    link, expires_at = answer.get("link"), answer.get("expires_at")
    if not isinstance(link, str):
        raise CommandFailed("the service answers with no link")
    if options.output == "json":
        print(json.dumps({"run_id": options.run, "link": link, "expires_at": expires_at}))
    else:
        print(plain(link))
    return ExitStatus.YES


COMMAND = Command(
    name="link",
    summary="the link of an open run, from a service with an API key",
    description="""\
Print the link of an open run, with an API key of its organization. The holder of the link can answer the run: give it
to the person alone, and keep it out of logs.

  checklist-dispatch link r-... --server https://checklists.example --key-file key.txt
  checklist-dispatch link r-... -o json | jq -r .expires_at

Also for runs made with kubectl, once they are admitted.

Exit status: 0 printed; 1 the run has no link: it has ended, or it is not admitted (standard error says why); 2 it could
not be done.
""",
    configure=_configure,
    run=_run,
)
