"""Runs long commands with progress reports."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PROGRESS_EVERY_S = 10.0

Report = Callable[[str], None]


def run_with_progress(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], what: str, report: Report, *, total: int | None = None
) -> tuple[int, list[str]]:
    """Run `command`; returns its exit code and the lines of its output.

    Every PROGRESS_EVERY_S seconds it reports the seconds so far, the number of lines (counted as `what`) and the last
    line.
    """
    process = subprocess.Popen(
        command, cwd=cwd, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    started = time.monotonic()
    lines: list[str] = []

    def read() -> None:
        assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
        lines.extend(line for line in map(str.rstrip, process.stdout) if line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while reader.is_alive():
            reader.join(PROGRESS_EVERY_S)
            if reader.is_alive():
                latest = f", {lines[-1].strip()[:80]}" if lines else ""
                count = f"{len(lines)} of {total} {what}" if total else f"{len(lines)} {what}"
                report(f"  {time.monotonic() - started:4.0f} s, {count}{latest}")
        return process.wait(), lines
    except BaseException:
        process.terminate()  # they end their own children and remove their temporary files
        process.wait()
        raise


def last_word(code: int, lines: Sequence[str]) -> str:
    """The last line of the output, else the exit code."""
    return lines[-1].strip() if lines else f"exit code {code}"
