"""`checklist-dispatch mcp`: serves the Model Context Protocol over standard input and output."""

import asyncio
import logging
import signal
import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from ..client.api_key import read_api_key
from ..client.connection import add_service_options, async_client_of, required_server
from ..client.runs import ANSWER_WITHIN_S
from ..console.command import Command, CommandFailed, ExitStatus

_MISSING: Final = "needs the extra mcp: pip install 'checklist-dispatch[mcp]'"


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--with-link",
        action="store_true",
        help="return the link of a dispatched run to the agent, which can then answer in the person's place",
    )
    add_service_options(parser)


def _run(options: Namespace) -> ExitStatus:
    server, key = required_server(options), read_api_key(options.key_file)
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError as missing:
        if missing.name != "mcp":
            raise
        raise CommandFailed(_MISSING) from None
    # The reader of standard input blocks in a thread, so an interruption must end the process as it is.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="checklist-dispatch mcp: %(message)s")
    asyncio.run(_serve(server, key, with_link=options.with_link))
    return ExitStatus.YES


async def _serve(server: str, key: str, *, with_link: bool) -> None:
    from ..mcp_server.server import serve
    from ..mcp_server.service import Service

    async with async_client_of(server, key, next_byte_within_s=ANSWER_WITHIN_S) as client:
        await serve(Service(client), with_link=with_link)


COMMAND = Command(
    name="mcp",
    summary="serve the Model Context Protocol, for agents",
    description="""\
Serve the Model Context Protocol over standard input and output: an agent can list, generate and save templates,
dispatch a run, wait for it, read its answers and cancel it. A client starts this command; it ends with the client.

  checklist-dispatch mcp --server https://checklists.example --key-file key.txt

By default the agent does not get the link of a run: anyone who holds it can answer in the person's place. Needs the
extra mcp of the package: pip install 'checklist-dispatch[mcp]'. Logs go to standard error.

Exit status: 0 the client has ended, 2 an error.
""",
    configure=_configure,
    run=_run,
)
