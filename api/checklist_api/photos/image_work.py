"""Processes one image in a separate process."""

import errno
import hashlib
import importlib
from pathlib import Path

from PIL import Image

from .exif_facts import facts_of
from .image_files import load
from .jobs import Job, Made, line_of_failure, line_of_made, line_of_refusal
from .pixels import encoding_of, normal_mode, small_copy, upright, write, write_thumbnail
from .refusals import ImageRefused, RefusalCode


def warm_up() -> None:
    """Preload what Pillow loads for the first image, so that forked processes need not."""
    Image.preinit()
    importlib.import_module("PIL.TiffImagePlugin")  # reads EXIF


def outcome_line(job: Job) -> bytes:
    """Process an image and return the outcome. Never raises: unexpected errors are failures of the job."""
    try:
        return line_of_made(make(job))
    except ImageRefused as refused:
        return line_of_refusal(refused)
    except MemoryError:
        return line_of_refusal(ImageRefused(RefusalCode.TOO_MUCH_MEMORY))
    except OSError as error:
        if error.errno == errno.EFBIG:
            return line_of_refusal(ImageRefused(RefusalCode.TOO_LARGE))
        return line_of_failure(errno.errorcode.get(error.errno or 0, "OSError"))
    except Exception as error:
        return line_of_failure(type(error).__name__)


def make(job: Job) -> Made:
    """Write the image and its thumbnail. Raises ImageRefused, MemoryError, OSError."""
    format_, image = load(job.upload)
    facts = facts_of(image)
    encoding = encoding_of(image, format_)
    picture = normal_mode(image)
    del image
    write_thumbnail(small_copy(picture, facts.orientation), job.thumbnail_path)
    picture = upright(picture, facts.orientation)
    served_as = format_.served_as
    path = job.image_path(served_as)
    write(picture, path, encoding)
    return Made(
        content_type=served_as,
        bytes=path.stat().st_size,
        sha256=_sha256(path),
        width=picture.width,
        height=picture.height,
        captured_at=facts.captured_at,
        zone_assumed=facts.zone_assumed,
        place=facts.place,
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
