"""Reads files of secrets and certificates again while a program runs, so that a change needs no restart.

Files are polled every few seconds and compared by content: Kubernetes updates a mounted Secret by swapping a link
(`..data`), editors rename files, others write in place. A change counts when two polls in a row read the same, so that
incomplete files are never used. An unusable file is reported once, in the log and by `on_state`, and the old value
stays in use.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .renewable import Renewable

logger = logging.getLogger(__name__)

EVERY_S: Final = 2.0
LARGEST: Final = 2 * 1024 * 1024
"""In bytes: a bundle of all public authorities has a quarter of a MiB."""


class UnreadableFile(ValueError):
    """The text names the file and the reason, without its content."""


def content(path: Path) -> str:
    """Returns the text of a file. Raises UnreadableFile."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise UnreadableFile(f"{path} is larger than {LARGEST} bytes")
        text = raw.decode("utf-8")
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path} holds no text") from None
    if not text.strip():
        raise UnreadableFile(f"{path} is empty")
    return text


@dataclass(slots=True)
class HeldFile:
    """A file, the value made from it, and a digest of what was last read."""

    variable: str
    """The setting that names it."""
    path: Path
    value: Renewable
    taken: bytes
    seen: bytes = b""
    problem: str = ""

    @classmethod
    def of(cls, variable: str, path: Path, text: str, value: Renewable) -> "HeldFile":
        return cls(variable, path, value, taken=_digest(text))


class Rotation:
    """Polls the files of one program. `on_state(variable, stale)`: whether an old value stays in use."""

    def __init__(self, files: Iterable[HeldFile], on_state: Callable[[str, bool], None] = lambda _, __: None) -> None:
        self._files = tuple(files)
        self._on_state = on_state
        for file in self._files:
            on_state(file.variable, False)

    @property
    def notes(self) -> list[str]:
        """Returns notes on unusable files for /readyz, without paths, since it is public."""
        return [
            f"{file.variable}: the file cannot be used; its previous value is" for file in self._files if file.problem
        ]

    async def run(self, every_s: float = EVERY_S) -> None:
        """Runs until cancelled."""
        while self._files:
            await asyncio.sleep(every_s)
            self.poll()

    def poll(self) -> None:
        """Polls each file once."""
        for file in self._files:
            try:
                self._poll_file(file)
            except Exception:
                logger.exception("the file of a setting could not be polled: %s", file.variable)

    def _poll_file(self, file: HeldFile) -> None:
        try:
            text = content(file.path)
        except UnreadableFile as error:
            self._wrong(file, b"", str(error))
            return
        now, before = _digest(text), file.seen
        file.seen = now
        if now == file.taken:
            self._record_recovery(file)
            return
        if now != before:
            return
        try:
            file.value.renew(text)
        except ValueError as error:
            self._wrong(file, now, f"{file.path} {error}")
            return
        file.taken = now
        logger.info("settings.file_taken: %s has changed and is in use", file.variable)
        self._record_recovery(file, say=False)

    def _wrong(self, file: HeldFile, seen: bytes, why: str) -> None:
        """Reports an unusable file once, at its second poll."""
        lasts = file.problem or (not seen and file.seen == b"unreadable") or seen
        file.seen = seen or b"unreadable"
        if not lasts or file.problem == why:
            return
        file.problem = why
        self._on_state(file.variable, True)
        logger.warning("settings.file_refused: %s: %s; the previous value stays in use", file.variable, why)

    def _record_recovery(self, file: HeldFile, *, say: bool = True) -> None:
        if not file.problem:
            return
        file.problem = ""
        self._on_state(file.variable, False)
        if say:
            logger.info("settings.file_valid_again: %s has the value in use", file.variable)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
