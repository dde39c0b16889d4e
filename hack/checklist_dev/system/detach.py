"""Runs a command in the background, in its own session, and waits until it reports that it is ready.

Its output during the start goes to a log file and the terminal. The ready message comes through a pipe and goes only
to the terminal, because it contains a key.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

POLL_S = 0.2


def run_detached(command: Sequence[str], *, log: Path) -> int:
    """Start `command --ready-descriptor N`; returns 0 once it called `announce_ready`, else its exit code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    with log.open("ab") as output, log.open("rb") as shown:
        shown.seek(0, os.SEEK_END)
        process = subprocess.Popen(
            [*command, "--ready-descriptor", str(writer)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[writer],
            start_new_session=True,
        )
        os.close(writer)
        try:
            message = _until_end(reader, shown)
        except BaseException:
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise
        finally:
            os.close(reader)
        if message:
            print(message.decode(), flush=True)
            return 0
        code = process.wait()
        _show(shown)
        return code or 1


def announce_ready(descriptor: int, message: str) -> None:
    """Send `message` to the process that waits in `run_detached`, which then returns."""
    try:
        with os.fdopen(descriptor, "wb") as pipe:
            pipe.write(message.encode())
    except BrokenPipeError:
        pass  # the waiting process has ended


def _until_end(reader: int, shown: BinaryIO) -> bytes:
    parts: list[bytes] = []
    while True:
        _show(shown)
        if select.select([reader], [], [], POLL_S)[0]:
            part = os.read(reader, 1 << 16)
            if not part:
                _show(shown)
                return b"".join(parts)
            parts.append(part)


def _show(shown: BinaryIO) -> None:
    sys.stderr.write(shown.read().decode(errors="replace"))
    sys.stderr.flush()
