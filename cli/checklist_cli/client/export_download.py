"""Downloads an export into a file, completely or not at all.

The service closes the connection on a failure, so a response that ends regularly is complete. It is written to a
temporary file, which is renamed when it is complete. After a failure the export starts again, because it must be
consistent in itself.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from ..console.command import CommandFailed
from ..console.progress import Progress
from .connection import Retryable, refusal

if TYPE_CHECKING:
    import httpx

ATTEMPTS: Final = 5
_PAUSE_S: Final = 2.0
_LONGEST_PAUSE_S: Final = 60.0
NEXT_BYTE_WITHIN_S: Final = 300.0
"""A PDF can take minutes, and wait for others before that."""
_CHUNK: Final = 64 * 1024
_SHOWN: Final = 40
"""Characters of the file's name in the name of its temporary file."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """`runs`: matching runs at the start, if known. `incomplete`: why some runs are missing."""

    size: int
    runs: int | None
    incomplete: str | None


Write = Callable[[bytes], object]


class Target(Protocol):
    """Receives the bytes. `attempt` may be entered again after a failure, unless `is_spoilt`."""

    is_spoilt: bool

    def attempt(self) -> contextlib.AbstractContextManager[Write]: ...


class File:
    """A file that keeps its old content until the new one is complete."""

    def __init__(self, path: Path) -> None:
        self.is_spoilt = False
        self._path = path

    @contextlib.contextmanager
    def attempt(self) -> Iterator[Write]:
        """Raises CommandFailed."""
        try:
            prefix = f".{self._path.name[:_SHOWN]}."
            handle, name = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=self._path.parent)
        except OSError as error:
            raise CommandFailed(f"{self._path} cannot be written: {error.strerror}") from None
        try:
            with os.fdopen(handle, "wb") as part:
                yield part.write
                part.flush()
                os.fsync(part.fileno())
            Path(name).replace(self._path)
        except OSError as error:
            raise CommandFailed(f"{self._path} cannot be written: {error.strerror}") from None
        finally:
            Path(name).unlink(missing_ok=True)


class StandardOutput:
    """Output cannot be taken back: after the first byte there is no further attempt."""

    def __init__(self) -> None:
        self.is_spoilt = False

    @contextlib.contextmanager
    def attempt(self) -> Iterator[Write]:
        yield self._write

    def _write(self, content: bytes) -> None:
        self.is_spoilt = True
        sys.stdout.buffer.write(content)


class Download:
    """`run` retries until the response is complete. `pause` sleeps for the given seconds."""

    def __init__(self, client: "httpx.Client", progress: Progress, *, pause: Callable[[float], None] = time.sleep):
        self._client = client
        self._progress = progress
        self._pause = pause

    def run(self, path: str, query: Mapping[str, str], target: Target) -> Downloaded:
        """Raises CommandFailed if refused, or never complete."""
        for number in range(1, ATTEMPTS + 1):
            try:
                return self._attempt(path, query, target)
            except Retryable as again:
                if number == ATTEMPTS or target.is_spoilt:
                    raise CommandFailed(f"{again}{_SPOILT if target.is_spoilt else ''}") from None
                pause_s = min(again.after_s or _PAUSE_S * 2 ** (number - 1), _LONGEST_PAUSE_S)
                self._progress.line(f"{again}; next attempt in {pause_s:g} s")
                self._pause(pause_s)
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, path: str, query: Mapping[str, str], target: Target) -> Downloaded:
        import httpx

        try:
            with self._client.stream("GET", path, params=dict(query)) as response:
                if response.status_code != 200:
                    raise refusal(response)
                return self._take(response, target)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Retryable(f"the service does not answer: {type(error).__name__}") from None
        except httpx.HTTPError as error:
            raise Retryable(f"the download was interrupted: {type(error).__name__}") from None
        except httpx.InvalidURL:
            raise CommandFailed("the server's address is not a valid URL") from None

    def _take(self, response: "httpx.Response", target: Target) -> Downloaded:
        runs = response.headers.get("Export-Runs", "")
        total = int(runs) if runs.isdecimal() else None
        counts_lines = response.headers.get("Content-Type", "").startswith("application/jsonl")
        so_far = _SoFar(total, 0 if counts_lines else None)
        with target.attempt() as write:
            for chunk in response.iter_bytes(_CHUNK):
                write(chunk)
                so_far.add(chunk)
                self._progress.now_and_then(so_far.text)
        return Downloaded(so_far.size, total, response.headers.get("Export-Incomplete"))


@dataclass(slots=True)
class _SoFar:
    """`total`: all runs, `lines`: received ones; None if unknown."""

    total: int | None
    lines: int | None
    size: int = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.lines is not None:
            self.lines += chunk.count(b"\n")

    def text(self) -> str:
        size = f"{self.size / 1e6:,.1f} MB"
        if self.total is None:
            return size
        return (
            f"{size}, of {self.total:,} runs"
            if self.lines is None
            else f"{size}, {self.lines:,} of {self.total:,} runs"
        )


_SPOILT: Final = "; the output is incomplete"
