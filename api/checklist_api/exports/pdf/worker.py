"""`python -m checklist_api.exports.pdf.worker <parent> <folder>`: draws one PDF and exits.

Reads JSON lines and answers each with one: first the content, then the images one by one (each is scaled down at once,
to limit disk and memory use), then the order to draw. The process has resource limits and no access to the service.
"""

import json
import os
import resource
import sys
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageOps

from ...photos.confinement import die_with, limit
from .content import PdfContent
from .drawing import Pixels, draw

MEMORY_MIB: Final = 1024
SECONDS: Final = 120
"""CPU time limit."""
MAX_PDF_BYTES: Final = 64 * 1024 * 1024
SIDE: Final = 1000
"""Longer side of a printed image in pixels: 300 dpi at its printed size."""
_NICE: Final = 10
_QUALITY: Final = 80


def main() -> None:
    parent, folder = int(sys.argv[1]), Path(sys.argv[2])
    die_with(parent)
    os.nice(_NICE)
    limit(resource.RLIMIT_AS, MEMORY_MIB * 1024 * 1024)
    limit(resource.RLIMIT_CPU, SECONDS)
    limit(resource.RLIMIT_FSIZE, MAX_PDF_BYTES)
    limit(resource.RLIMIT_CORE, 0)
    requests = (json.loads(line) for line in sys.stdin.buffer)
    content = PdfContent.parse(next(requests)["content"])
    images: dict[str, Pixels] = {}
    _answer(ready=True)
    for request in requests:
        if "image" in request:
            _answer(taken=_take(request, images))
        else:
            pdf = draw(content, images, folder)
            (folder / request["draw"]).write_bytes(pdf)
            _answer(bytes=len(pdf))
            return


def _take(request: dict[str, str], images: dict[str, Pixels]) -> bool:
    """Load an image; False if the file is not one."""
    try:
        images[request["image"]] = small(Path(request["file"]))
    except (OSError, ValueError, Image.DecompressionBombError):
        return False
    return True


def small(file: Path) -> Pixels:
    """Scale an image to at most SIDE pixels: upright, without metadata, on white. Raises OSError, ValueError."""
    with Image.open(file) as opened:
        opened.draft("RGB", (SIDE, SIDE))
        upright = ImageOps.exif_transpose(opened)
        upright.thumbnail((SIDE, SIDE))
        if upright.mode in ("RGBA", "LA", "PA", "P"):
            upright = upright.convert("RGBA")
            on_white = Image.new("RGB", upright.size, "white")
            on_white.paste(upright, mask=upright.getchannel("A"))
            upright = on_white
        made = BytesIO()
        upright.convert("RGB").save(made, "JPEG", quality=_QUALITY, optimize=True)
        return made.getvalue(), upright.width, upright.height


def _answer(**answer: Any) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
