"""Starts a worker process when it is needed, and kills it when it misbehaves."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path
from typing import Final

from .jobs import READY, Job, Made, WorkerFailed, outcome_of

logger = logging.getLogger(__name__)

_STARTS_WITHIN_S: Final = 30.0
_GRACE_S: Final = 2.0
"""The process of a job has its own timer; only one that does not heed it lets the API process wait so much longer."""
_PASSED_ON: Final = ("PYTHONPATH", "LD_LIBRARY_PATH", "TZ")


class WorkerProcess:
    """Does one job at a time. Between jobs it may be dead; the next job starts it again."""

    def __init__(self, *, memory_mib: int, seconds: float, wall_seconds: float, folder: Path) -> None:
        self._memory_mib = memory_mib
        self._seconds = seconds
        self._wall_seconds = wall_seconds
        self._folder = folder
        self._process: Process | None = None
        self._ended = False

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Does nothing when it runs. Raises WorkerFailed when it cannot be started."""
        if self.pid is not None:
            return
        if self._ended:
            raise WorkerFailed("it was ended")
        try:
            limits = (str(self._memory_mib), str(self._seconds), str(self._wall_seconds))
            self._process = await started("checklist_api.photos.worker", *limits, str(os.getpid()), folder=self._folder)
            if self._ended or await self._answer(_STARTS_WITHIN_S) != READY:
                raise WorkerFailed("it did not start")
        except OSError as error:
            raise WorkerFailed(f"it could not be started: {error.strerror}") from error
        except BaseException:
            await self.kill()
            raise

    async def do(self, job: Job) -> Made:
        """Raises ImageRefused; WorkerFailed when it died, hung or could not be started.

        A job that is cancelled takes the worker with it: its outcome would be read as that of the next one.
        """
        await self.start()
        try:
            line = await self._ask(job.line())
        except BaseException:
            await self.kill()
            raise
        return outcome_of(line, job)

    async def end(self) -> None:
        """As `kill`, and it will not be started again."""
        self._ended = True
        await self.kill()

    async def kill(self) -> None:
        """The worker and what it forked. May be called at any time, and again."""
        process, self._process = self._process, None
        if process is not None:
            await killed(process)

    async def _ask(self, line: bytes) -> bytes:
        process = self._process
        if process is None or process.stdin is None:
            raise WorkerFailed("it is gone")
        try:
            process.stdin.write(line)
            await process.stdin.drain()
        except (ConnectionError, RuntimeError):
            raise WorkerFailed("it died") from None
        return await self._answer(self._wall_seconds + _GRACE_S)

    async def _answer(self, within_s: float) -> bytes:
        process = self._process
        if process is None or process.stdout is None:
            raise WorkerFailed("it is gone")
        try:
            async with asyncio.timeout(within_s):
                line = await process.stdout.readline()
        except TimeoutError:
            raise WorkerFailed("it hung") from None
        except ValueError:
            raise WorkerFailed("it says too much") from None
        if not line.endswith(b"\n"):
            raise WorkerFailed("it died")
        return line


async def started(module: str, *arguments: str, folder: Path, stderr: int | None = DEVNULL) -> Process:
    """A worker in `folder`, in a session of its own. Raises OSError.

    `stderr`: by default none, since decoders print what files make them print.
    """
    # Nothing of the service's: a worker has no business with its keys.
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # Every further arena of the allocator would reserve 64 MiB of the address space that a worker may have.
    environment |= {"TMPDIR": str(folder), "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-s", "-m", module, *arguments),
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )


async def killed(process: Process) -> None:
    """The process and what it forked."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    await asyncio.shield(process.wait())
