"""An export of a service on its way into a file: whole, or not at all.

The service breaks the connection when it cannot go on, so an answer that came to its end is whole. It is written beside
the file that is wanted and takes its name only then; what broke off is begun anew, since what has been dispatched and
answered meanwhile belongs into it as a whole, or not.
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
from .connection import TryAgain, refusal

if TYPE_CHECKING:
    import httpx

ATTEMPTS: Final = 5
_PAUSE_S: Final = 2.0
_LONGEST_PAUSE_S: Final = 60.0
NEXT_BYTE_WITHIN_S: Final = 300.0
"""A PDF may take some minutes, and before it others."""
_CHUNK: Final = 64 * 1024
_SHOWN: Final = 40
"""Characters of the file's name that are in the name of its unfinished copy."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """`runs`: how many fitted when it began, where that is told. `incomplete`: why some of them are not in it."""

    size: int
    runs: int | None
    incomplete: str | None


Write = Callable[[bytes], object]


class Target(Protocol):
    """Where the bytes go. `attempt` may be entered again after it failed, unless `is_spoilt`."""

    is_spoilt: bool

    def attempt(self) -> contextlib.AbstractContextManager[Write]: ...


class File:
    """A file that has its name when it is whole, and the content of before until then."""

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
    """What was printed cannot be taken back: after the first byte there is no other attempt."""

    def __init__(self) -> None:
        self.is_spoilt = False

    @contextlib.contextmanager
    def attempt(self) -> Iterator[Write]:
        yield self._write

    def _write(self, content: bytes) -> None:
        self.is_spoilt = True
        sys.stdout.buffer.write(content)


class Download:
    """`run` asks until the answer was whole. `pause` sleeps so many seconds."""

    def __init__(self, client: "httpx.Client", progress: Progress, *, pause: Callable[[float], None] = time.sleep):
        self._client = client
        self._progress = progress
        self._pause = pause

    def run(self, path: str, query: Mapping[str, str], target: Target) -> Downloaded:
        """Raises CommandFailed: refused, or never whole."""
        for number in range(1, ATTEMPTS + 1):
            try:
                return self._attempt(path, query, target)
            except TryAgain as again:
                if number == ATTEMPTS or target.is_spoilt:
                    raise CommandFailed(f"{again}{_SPOILT if target.is_spoilt else ''}") from None
                pause_s = min(again.after_s or _PAUSE_S * 2 ** (number - 1), _LONGEST_PAUSE_S)
                self._progress.line(f"{again}; again in {pause_s:g} s")
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
            raise TryAgain(f"the service does not answer: {type(error).__name__}") from None
        except httpx.HTTPError as error:
            raise TryAgain(f"it broke off: {type(error).__name__}") from None
        except httpx.InvalidURL:
            raise CommandFailed("the server's address is none") from None

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
    """`total`: runs that there are, `lines`: those that have come; None where that is not known."""

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


_SPOILT: Final = "; what was printed is not whole"
