"""Where `listen --save` keeps what it got: one JSON file a request, in order of arrival, for `verify`."""

import os
import re
from pathlib import Path
from typing import Final

from . import capture_formats
from .listener import Received

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


class CaptureFolder:
    """Writes `0001-run.completed-attempt-1.json`; never over a file that is there, and readable by its owner only."""

    def __init__(self, folder: Path, *, url: str) -> None:
        self._folder = folder
        self._url = url
        self._number = 0

    def prepare(self) -> None:
        """Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def save(self, received: Received) -> Path:
        """The file that was written. Raises OSError."""
        text = capture_formats.to_json(received.request, url=self._url)
        while True:
            self._number += 1
            path = self._folder / f"{self._number:04}-{_about(received)}.json"
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            return path


def _about(received: Received) -> str:
    event = received.envelope
    if event is None or not received.report.is_genuine:
        return "refused"
    return _UNFIT.sub("_", f"{event['event']}-attempt-{event['delivery_attempt']}")[:64]
