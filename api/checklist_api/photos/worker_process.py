"""A worker process, started on demand and killed when it misbehaves."""

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

_START_TIMEOUT_S: Final = 30.0
_GRACE_S: Final = 2.0
"""Added to the job's own time limit, for jobs that ignore it."""
_PASSED_ENV: Final = ("PYTHONPATH", "LD_LIBRARY_PATH", "TZ")


class WorkerProcess:
    """Runs one job at a time; restarted by the next job after it ended."""

    def __init__(self, *, memory_mib: int, seconds: float, wall_seconds: float, folder: Path) -> None:
        self._memory_mib = memory_mib
        self._seconds = seconds
        self._wall_seconds = wall_seconds
        self._folder = folder
        self._process: Process | None = None
        self._ended = False

    @property
    def pid(self) -> int | None:
        """Process id; None if it does not run."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the process if it does not run. Raises WorkerFailed."""
        if self.pid is not None:
            return
        if self._ended:
            raise WorkerFailed("ended")
        try:
            limits = (str(self._memory_mib), str(self._seconds), str(self._wall_seconds))
            self._process = await start_worker(
                "checklist_api.photos.worker", *limits, str(os.getpid()), folder=self._folder
            )
            if self._ended or await self._answer(_START_TIMEOUT_S) != READY:
                raise WorkerFailed("did not start")
        except OSError as error:
            raise WorkerFailed(f"could not be started: {error.strerror}") from error
        except BaseException:
            await self.kill()
            raise

    async def do(self, job: Job) -> Made:
        """Run a job. Raises ImageRefused; WorkerFailed if the worker crashed, hung or could not be started.

        A cancelled job kills the worker, whose outcome would be read as that of the next job.
        """
        await self.start()
        try:
            line = await self._ask(job.line())
        except BaseException:
            await self.kill()
            raise
        return outcome_of(line, job)

    async def end(self) -> None:
        """Kill the process and prevent restarts."""
        self._ended = True
        await self.kill()

    async def kill(self) -> None:
        """Kill the process and its children. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            await kill_worker(process)

    async def _ask(self, line: bytes) -> bytes:
        process = self._process
        if process is None or process.stdin is None:
            raise WorkerFailed("not running")
        try:
            process.stdin.write(line)
            await process.stdin.drain()
        except (ConnectionError, RuntimeError):
            raise WorkerFailed("crashed") from None
        return await self._answer(self._wall_seconds + _GRACE_S)

    async def _answer(self, within_s: float) -> bytes:
        process = self._process
        if process is None or process.stdout is None:
            raise WorkerFailed("not running")
        try:
            async with asyncio.timeout(within_s):
                line = await process.stdout.readline()
        except TimeoutError:
            raise WorkerFailed("timeout") from None
        except ValueError:
            raise WorkerFailed("response too long") from None
        if not line.endswith(b"\n"):
            raise WorkerFailed("crashed")
        return line


async def start_worker(module: str, *arguments: str, folder: Path, stderr: int | None = DEVNULL) -> Process:
    """Start a worker in `folder`, in a new session. Raises OSError.

    `stderr`: discarded by default, since decoders print file content.
    """
    # A minimal environment, without the service's keys.
    environment = {name: os.environ[name] for name in _PASSED_ENV if name in os.environ}
    # Each further malloc arena would reserve 64 MiB of the limited address space.
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


async def kill_worker(process: Process) -> None:
    """Kill a process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    await asyncio.shield(process.wait())
