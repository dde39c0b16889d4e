"""Protocol between the API process and a worker: one JSON line per job and per outcome.

A worker may be compromised by a hostile file, so its outcomes are validated like any untrusted input.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from .image_formats import ImageFormat
from .limits import MAX_PIXELS, MAX_SIDE, THUMBNAIL_BYTES
from .refusals import ImageRefused, RefusalCode

READY: Final = b'{"ready":true}\n'
THUMBNAIL_NAME: Final = "thumbnail.jpg"


@dataclass(frozen=True, slots=True)
class Job:
    upload: Path
    into: Path

    def line(self) -> bytes:
        return json.dumps({"upload": str(self.upload), "into": str(self.into)}).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> "Job":
        document = json.loads(line)
        return cls(Path(document["upload"]), Path(document["into"]))

    def image_path(self, format_: ImageFormat) -> Path:
        return self.into / f"photo{format_.suffix}"

    @property
    def thumbnail_path(self) -> Path:
        return self.into / THUMBNAIL_NAME

    def clear(self) -> None:
        """Remove output files."""
        for path in (self.thumbnail_path, *map(self.image_path, ImageFormat)):
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Made:
    """Outcome of a processed image, with its metadata."""

    content_type: ImageFormat
    bytes: int
    sha256: str
    width: int
    height: int
    captured_at: datetime | None
    zone_assumed: bool
    place: tuple[float, float] | None


class WorkerFailed(Exception):
    """The image was not judged (worker failure, full disk). A retry may succeed."""


def line_of_made(made: Made) -> bytes:
    return _line(
        made={
            "content_type": made.content_type.value,
            "bytes": made.bytes,
            "sha256": made.sha256,
            "width": made.width,
            "height": made.height,
            "captured_at": made.captured_at.isoformat() if made.captured_at else None,
            "zone_assumed": made.zone_assumed,
            "place": made.place,
        }
    )


def line_of_refusal(refused: ImageRefused) -> bytes:
    return _line(refused=refused.code.value, message=refused.message)


def line_of_failure(reason: str) -> bytes:
    return _line(failed=reason)


def _line(**document: Any) -> bytes:
    return json.dumps(document).encode() + b"\n"


def outcome_of(line: bytes, job: Job) -> Made:
    """Parse the outcome of `job`. Raises ImageRefused, WorkerFailed."""
    try:
        document = json.loads(line)
        if "refused" in document:
            raise ImageRefused(RefusalCode(document["refused"]), str(document["message"])[:300])
        if "failed" in document:
            raise WorkerFailed(str(document["failed"])[:300])
        made = _made(document["made"])
        _check(made, job)
    except (LookupError, TypeError, ValueError, AttributeError, OSError, RecursionError) as error:
        raise WorkerFailed(f"invalid outcome: {type(error).__name__}") from error
    return made


def _made(document: dict[str, Any]) -> Made:
    captured_at, place = document["captured_at"], document["place"]
    return Made(
        content_type=ImageFormat(document["content_type"]),
        bytes=int(document["bytes"]),
        sha256=bytes.fromhex(document["sha256"]).hex(),
        width=int(document["width"]),
        height=int(document["height"]),
        captured_at=datetime.fromisoformat(captured_at) if captured_at is not None else None,
        zone_assumed=bool(document["zone_assumed"]),
        place=(float(place[0]), float(place[1])) if place is not None else None,
    )


def _check(made: Made, job: Job) -> None:
    """Validate the outcome. Raises ValueError, OSError."""
    image, thumbnail = job.image_path(made.content_type).lstat(), job.thumbnail_path.lstat()
    sound = (
        made.content_type.served_as is made.content_type
        and len(made.sha256) == 64
        and 1 <= made.width <= MAX_SIDE
        and 1 <= made.height <= MAX_SIDE
        and made.width * made.height <= MAX_PIXELS
        and (made.captured_at is None or made.captured_at.tzinfo is not None)
        and (made.place is None or (abs(made.place[0]) <= 90 and abs(made.place[1]) <= 180))
        and image.st_size == made.bytes > 0
        and 0 < thumbnail.st_size <= THUMBNAIL_BYTES
    )
    if not sound:
        raise ValueError("inconsistent outcome")
