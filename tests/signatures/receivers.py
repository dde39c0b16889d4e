"""The example receivers as programs of their own, each started in its own way."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from checklist_dev.programs.verifiers import Programs
from checklist_dev.repository import ROOT

EXAMPLES = ROOT / "examples" / "receivers"
NAMES = ("python", "aiohttp", "node", "express", "go")
SECRET = "a secret of sixteen"
# Long enough for a start on a machine that is busy with other things; nothing waits for it when all is well.
TIMEOUT_S = 60
WORKED_ON = "worked on: "


class Running:
    """A program that runs. What it says about deliveries and about the work on them comes from different threads."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.url = ""
        self._process = process
        self._said: asyncio.Queue[str] = asyncio.Queue()
        self._worked_on: asyncio.Queue[str] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read())

    async def line(self) -> str:
        """The next line about a delivery; "" when the program has ended."""
        return await asyncio.wait_for(self._said.get(), TIMEOUT_S)

    async def worked_on(self) -> str:
        """The event_id whose work came to its end next."""
        return await asyncio.wait_for(self._worked_on.get(), TIMEOUT_S)

    async def kill(self) -> None:
        """SIGKILL: it has no chance to put anything in order."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._reader

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := (await self._process.stdout.readline()).decode().strip():
            if line.startswith(WORKED_ON):
                self._worked_on.put_nowait(line.removeprefix(WORKED_ON))
            else:
                self._said.put_nowait(line)
        self._said.put_nowait("")


@asynccontextmanager
async def running(
    name: str, programs: Programs, inbox: Path, *, work_s: int = 0, url: str | None = None
) -> AsyncIterator[Running]:
    """Started, and listening when the block begins; killed at its end."""
    settings = {"WEBHOOK_SECRET": SECRET, "PORT": "0", "INBOX": str(inbox), "WORK_SECONDS": str(work_s)}
    settings |= {"WEBHOOK_URL": url} if url else {}
    process = await asyncio.create_subprocess_exec(
        *_command(name, programs, settings),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **settings},
    )
    receiver = Running(process)
    try:
        receiver.url = (await receiver.line()).removeprefix("listening: ")
        assert receiver.url.startswith("http"), receiver.url
        yield receiver
    finally:
        await receiver.kill()


def _command(name: str, programs: Programs, settings: dict[str, str]) -> Sequence[str]:
    match name:
        case "python":
            names = {"port": "PORT", "inbox": "INBOX", "work": "WORK_SECONDS"}
            names |= {"url": "WEBHOOK_URL"} if "WEBHOOK_URL" in settings else {}
            options = [word for option, setting in names.items() for word in (f"--{option}", settings[setting])]
            return sys.executable, str(EXAMPLES / "receiver.py"), *options
        case "aiohttp":
            return sys.executable, str(EXAMPLES / "aiohttp_receiver.py")
        case "node":
            return programs.node_receiver
        case "express":
            return programs.express_receiver
        case _:
            return programs.go_receiver
