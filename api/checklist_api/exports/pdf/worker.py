"""`python -m checklist_api.exports.pdf.worker <parent> <folder>`: draw one PDF, and end.

It reads JSON lines and answers each with one: first the paper; then one image after the other, which is made small at
once, so that neither disk nor memory ever has them all; then the order to draw. What it may use is limited by the
operating system, and it knows nothing of the service but what is printed.
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
from .drawing import Pixels, draw
from .paper import Paper

MEMORY_MIB: Final = 1024
SECONDS: Final = 120
"""Of the processor's time, for all of it."""
MAX_PDF_BYTES: Final = 64 * 1024 * 1024
SIDE: Final = 1000
"""Pixels of the longer side of a printed image: 300 to the inch, at the size they are printed in."""
_NICE: Final = 10
"""Requests come first; but somebody waits for the PDF, too."""
_QUALITY: Final = 80


def main() -> None:
    parent, folder = int(sys.argv[1]), Path(sys.argv[2])
    die_with(parent)
    os.nice(_NICE)
    limit(resource.RLIMIT_AS, MEMORY_MIB * 1024 * 1024)
    limit(resource.RLIMIT_CPU, SECONDS)
    limit(resource.RLIMIT_FSIZE, MAX_PDF_BYTES)
    limit(resource.RLIMIT_CORE, 0)
    orders = (json.loads(line) for line in sys.stdin.buffer)
    paper = Paper.parse(next(orders)["paper"])
    images: dict[str, Pixels] = {}
    _answer(ready=True)
    for order in orders:
        if "image" in order:
            _answer(taken=_take(order, images))
        else:
            pdf = draw(paper, images, folder)
            (folder / order["draw"]).write_bytes(pdf)
            _answer(bytes=len(pdf))
            return


def _take(order: dict[str, str], images: dict[str, Pixels]) -> bool:
    """False for a file that is no image any more; the PDF says so."""
    try:
        images[order["image"]] = small(Path(order["file"]))
    except (OSError, ValueError, Image.DecompressionBombError):
        return False
    return True


def small(file: Path) -> Pixels:
    """The image upright, at most SIDE pixels long, without metadata, on white. Raises OSError, ValueError."""
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


def _answer(**told: Any) -> None:
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
