"""What can be read in a PDF, for the tests of exports and receipts."""

import re
import zlib

import pypdfium2


def text_of(pdf: bytes) -> str:
    document = pypdfium2.PdfDocument(pdf)
    return "\n".join(page.get_textpage().get_text_range() for page in document).replace("\r\n", "\n")


def actual_texts(pdf: bytes) -> list[str]:
    """What the document says of letters that their glyphs do not identify (ActualText)."""
    contents = b"".join(_inflated(stream) for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL))
    return [
        bytes.fromhex(text.decode()).decode("utf-16") for text in re.findall(rb"/ActualText <([0-9a-f]+)>", contents)
    ]


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def pictures(pdf: bytes) -> list[tuple[int, int]]:
    """Width and height in pixels of each picture, in order."""
    document = pypdfium2.PdfDocument(pdf)
    found = [each for page in document for each in page.get_objects([pypdfium2.raw.FPDF_PAGEOBJ_IMAGE])]
    return [each.get_px_size() for each in found]
