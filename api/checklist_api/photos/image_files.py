"""Decodes a file of a known format, with all limits that can be checked before decoding.

Runs in a worker only. Decoders are called by class, because `Image.open` would try unsupported formats and parse data
appended to a JPEG (a phone's second picture or video).
"""

from pathlib import Path
from typing import Final

import pillow_heif
from PIL import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile
from pillow_heif import HeifImageFile

from .image_formats import HEAD_BYTES, ImageFormat, format_of, promised_length, webp_size
from .limits import MAX_PIXELS, MAX_SIDE, MAX_WEBP_PIXELS
from .refusals import ImageRefused, RefusalCode

ImageFile.LOAD_TRUNCATED_IMAGES = False
# Skip other content of HEIC files. Threads would use address space.
pillow_heif.options.THUMBNAILS = False
pillow_heif.options.DEPTH_IMAGES = False
pillow_heif.options.AUX_IMAGES = False
pillow_heif.options.DECODE_THREADS = 1

_DECODERS: Final[dict[ImageFormat, type[ImageFile.ImageFile]]] = {
    ImageFormat.JPEG: JpegImageFile,
    ImageFormat.PNG: PngImageFile,
    ImageFormat.WEBP: WebPImageFile,
    ImageFormat.HEIC: HeifImageFile,
}
_BOXES: Final = frozenset({b"ftyp", b"meta", b"mdat", b"moov", b"free", b"skip", b"uuid"})
_TRUNCATION_MESSAGES: Final = ("truncated", "unexpected end", "end of file", "premature end", "not enough data")


def load(upload: Path) -> tuple[ImageFormat, ImageFile.ImageFile]:
    """Return the format and the first decoded picture.

    Raises ImageRefused; MemoryError at the address space limit; OSError with an `errno` if the file is unreadable.
    """
    size = upload.stat().st_size
    with upload.open("rb") as file:
        head = file.read(HEAD_BYTES)
    format_ = format_of(head)
    promised = promised_length(format_, head)
    if promised is not None and size + 1 < promised:  # some writers omit a padding byte at the end
        raise ImageRefused(RefusalCode.TRUNCATED)
    if format_ is ImageFormat.WEBP:
        _check_size(webp_size(head) or (0, 0), MAX_WEBP_PIXELS)
    if format_ is ImageFormat.HEIC:
        _check_boxes(upload, size)
    try:
        image = _DECODERS[format_](upload)
        _check_size(image.size, MAX_PIXELS)
        image.load()
        # A HEIC image may be larger than declared.
        _check_size(image.size, MAX_PIXELS)
    except (ImageRefused, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise
        raise _refusal(error) from error
    except Exception as error:
        # Decoders raise SyntaxError, ValueError, struct.error, EOFError and more for invalid files.
        raise _refusal(error) from error
    return format_, image


def _check_size(size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise ImageRefused(RefusalCode.DAMAGED)
    if width > MAX_SIDE or height > MAX_SIDE or width * height > max_pixels:
        message = f"The image has {width:,} x {height:,} pixels; the limit is {max_pixels // 1_000_000} million "
        raise ImageRefused(RefusalCode.TOO_MANY_PIXELS, f"{message}and {MAX_SIDE:,} on one side.")


def _check_boxes(upload: Path, size: int) -> None:
    """Raises ImageRefused if a top-level box (ISO/IEC 14496-12 section 4.2) exceeds the file.

    libheif reports a generic error, but "truncated" is more helpful to the user.
    """
    at = 0
    with upload.open("rb") as file:
        while at < size:
            file.seek(at)
            header = file.read(16)
            length = int.from_bytes(header[:4], "big")
            if length == 1:
                length = int.from_bytes(header[8:16], "big")
            if length == 0:
                return  # extends to the end of the file
            if length < 8 or header[4:8] not in _BOXES:
                return  # not needed for a picture
            if at + length > size:
                raise ImageRefused(RefusalCode.TRUNCATED)
            at += length


def _refusal(error: Exception) -> ImageRefused:
    text = str(error).lower()
    cut = isinstance(error, EOFError) or any(sign in text for sign in _TRUNCATION_MESSAGES)
    return ImageRefused(RefusalCode.TRUNCATED if cut else RefusalCode.DAMAGED)
