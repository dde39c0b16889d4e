"""`checklist-dispatch ready`: checks whether API and operator are ready."""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from ..console.command import Command, ExitStatus
from ..console.values import number_to, url

if TYPE_CHECKING:
    import aiohttp

_PAUSE_S: Final = 0.5
_ANSWER_WITHIN_S: Final = 5.0


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("urls", metavar="URL", nargs="+", type=url, help="base URL of an API or operator")
    parser.add_argument(
        "--within",
        metavar="SECONDS",
        type=number_to(3600),
        default=0.0,
        help="how long to wait for all of them (default: 0)",
    )


def _run(options: Namespace) -> ExitStatus:
    return asyncio.run(_ask_all(options.urls, options.within))


async def _ask_all(urls: list[str], within_s: float) -> ExitStatus:
    import aiohttp  # slow to import, and other commands do not need it

    until = time.monotonic() + within_s
    status = ExitStatus.YES
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_ANSWER_WITHIN_S)) as session:
        for url in urls:
            answer = await _ask(session, url)
            while answer != "ready" and time.monotonic() < until:
                await asyncio.sleep(_PAUSE_S)
                answer = await _ask(session, url)
            print(f"{url}: {answer}", file=sys.stdout if answer == "ready" else sys.stderr)
            if answer != "ready":
                status = ExitStatus.NO
    return status


async def _ask(session: "aiohttp.ClientSession", url: str) -> str:
    from aiohttp import ClientError

    try:
        async with session.get(f"{url}/readyz", allow_redirects=False) as response:
            return "ready" if response.status == 200 else f"not ready (status {response.status})"
    except (ClientError, TimeoutError, OSError) as error:
        return f"no answer ({type(error).__name__})"


COMMAND = Command(
    name="ready",
    summary="check whether API and operator are ready",
    description="""\
Check /readyz of API and operator, and wait until all are ready. `helm test` runs it.

Exit status: 0 all are ready, 1 one of them is not.
""",
    configure=_configure,
    run=_run,
)
