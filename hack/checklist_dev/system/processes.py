"""Child processes that end with this one, even if this one is killed."""

import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Self

from checklist_dev.failures import Failure

WATCH_INTERVAL_S = 0.1
TETHER = Path(__file__).with_name("tether.py")


class _Spawner:
    """The one thread that forks.

    The kernel ties a child to the thread that forked it. A worker of a pool or of `asyncio.to_thread` may end at any
    time, and its children with it.
    """

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Future[subprocess.Popen[bytes]], Callable[[], subprocess.Popen[bytes]]]]
        self._work = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._started_in: int | None = None

    def spawn(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._started_in != os.getpid():  # a forked copy of this process has the object, but not the thread
                self._started_in = os.getpid()
                self._work = queue.SimpleQueue()
                threading.Thread(target=self._serve, name="spawner", daemon=True).start()
        result: Future[subprocess.Popen[bytes]] = Future()
        self._work.put((result, start))
        return result.result()

    def _serve(self) -> None:
        while True:
            result, start = self._work.get()
            try:
                result.set_result(start())
            except OSError as error:
                result.set_exception(error)


_spawner = _Spawner()


class Child:
    """One program, which can be started, stopped and paused repeatedly; its output is appended to a log file.

    It has its own session: Ctrl-C reaches only this process, which ends its children in the right order.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.name = name
        self.command = [str(word) for word in command]
        self.log = log
        self._env = dict(env) if env is not None else None
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def reconfigure(self, *, cwd: Path, **env: str) -> None:
        """Change the folder and the environment of the next start."""
        self._cwd = cwd
        self._env = {**(os.environ if self._env is None else self._env), **env}

    @property
    def pid(self) -> int:
        if self._process is None:
            raise Failure(f"{self.name} is not running")
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code once it has ended (negative: the signal that ended it), None while it runs."""
        return self._process.poll() if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        if self.running:
            return
        self.log.parent.mkdir(parents=True, exist_ok=True)
        tethered = [sys.executable, "-I", "-S", str(TETHER), str(os.getpid()), *self.command]
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            self._process = _spawner.spawn(
                lambda: subprocess.Popen(
                    tethered,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self._env,
                    cwd=self._cwd,
                    start_new_session=True,
                )
            )

    def stop(self, *, grace_s: float = 10.0) -> None:
        """Send SIGTERM, and SIGKILL if it still runs after `grace_s` seconds."""
        if self._process is None:
            return
        if self.running:
            if grace_s:
                self.send_signal(signal.SIGTERM)
                self.resume()  # a paused process does not handle signals
            try:
                self._process.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end."""
        if self._process is not None:
            self.send_signal(signal.SIGKILL)
            self._process.wait()

    def wait(self) -> None:
        """Wait until it has ended."""
        if self._process is not None:
            self._process.wait()

    def pause(self) -> None:
        """Send SIGSTOP: connections stay open, without an answer."""
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.send_signal(signal.SIGCONT)

    def send_signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)  # does nothing when it has ended

    def output(self) -> str:
        """Output since the last start."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def last_words(self) -> str:
        """The end of its output in one line, for an error message."""
        lines = [line.strip() for line in self.output().splitlines() if line.strip()]
        return lines[-1][:400] if lines else "it wrote nothing"

    def epitaph(self) -> str:
        """How it ended, for a message: `ended with code 1: its last line`, or `was ended by SIGKILL`."""
        code = self.returncode
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with code {code}: {self.last_words()}"

    def wait_until(self, ready: Callable[[], bool], *, timeout_s: float, interval_s: float = 0.05) -> None:
        """Wait for `ready()`. Raises Failure when the program ends before, or after `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        # If the program could not get its port, another one may answer there.
        while not (ready() and self.running):
            if not self.running:
                raise Failure(f"{self.name} {self.epitaph()} (see {self.log})")
            if time.monotonic() > deadline:
                raise Failure(f"{self.name} was not ready after {timeout_s:.0f} s (see {self.log})")
            time.sleep(interval_s)


class Watched:
    """A process that is not a child: `wait()` returns when it has ended, even if it was not reaped yet.

    On Linux it uses a pidfd, which never refers to a later process with the same id. Construction (on Linux) and
    `send_signal` raise ProcessLookupError if there is no such process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor = os.pidfd_open(pid) if sys.platform == "linux" else -1

    def send_signal(self, number: signal.Signals) -> None:
        if sys.platform == "linux":
            signal.pidfd_send_signal(self._descriptor, number)
        else:
            os.kill(self._pid, number)

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended within `timeout_s` seconds."""
        if sys.platform == "linux":
            return bool(select.select([self._descriptor], [], [], timeout_s)[0])
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                os.kill(self._pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(WATCH_INTERVAL_S)
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
