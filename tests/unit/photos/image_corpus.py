"""Images that a hostile, broken or merely odd phone could send, with the verdicts that they must get.

What is appended to an image, or hidden in it, bears `SECRET`, which must never be served.
"""

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pillow_heif
from PIL import Image

SECRET = b"<script>alert('4711-secret')</script>"

JPEG, PNG, WEBP, HEIC = "image/jpeg", "image/png", "image/webp", "image/heic"
MAX_SIDE = 16_384


def picture(width: int = 96, height: int = 64, mode: str = "RGB") -> Image.Image:
    image = Image.new("RGB", (width, height), "grey")
    half = (width + 1) // 2, (height + 1) // 2
    image.paste("red", (0, 0, *half))
    image.paste("lime", (half[0], 0, width, half[1]))
    image.paste("blue", (0, half[1], half[0], height))
    return image.convert(mode)


def encoded(image: Image.Image, format_: str, **options: Any) -> bytes:
    written = io.BytesIO()
    image.save(written, format_, **options)
    return written.getvalue()


def jpeg(**options: Any) -> bytes:
    return encoded(picture(), "JPEG", **options)


def png(**options: Any) -> bytes:
    return encoded(picture(), "PNG", **options)


def webp(**options: Any) -> bytes:
    return encoded(picture(), "WEBP", **options)


def heic(image: Image.Image | None = None, **options: Any) -> bytes:
    written = io.BytesIO()
    pillow_heif.from_pillow(image or picture()).save(written, format="HEIF", **options)
    return written.getvalue()


def animated(format_: str) -> bytes:
    frames = [picture(), picture().rotate(180), picture().rotate(90)]
    return encoded(frames[0], format_, save_all=True, append_images=frames[1:], duration=50)


Tags = dict[int, Any]


def exif(orientation: int | None = None, details: Tags | None = None, gps: Tags | None = None) -> bytes:
    tags = Image.Exif()
    tags[0x010F] = SECRET.decode()  # the maker of the camera
    if orientation is not None:
        tags[0x0112] = orientation
    if details is not None:
        tags.get_ifd(0x8769).update(details)
    if gps is not None:
        tags.get_ifd(0x8825).update(gps)
    return tags.tobytes()


def display_p3_profile(description: bytes = b"Display P3") -> bytes:
    def fixed(*values: float) -> bytes:
        return struct.pack(f">{len(values)}i", *(round(value * 65536) for value in values))

    text = description + b"\0"
    tags = {
        b"desc": b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + b"\0" * 78,
        b"wtpt": b"XYZ \0\0\0\0" + fixed(0.9642, 1.0, 0.8249),
        b"rXYZ": b"XYZ \0\0\0\0" + fixed(0.5151, 0.2412, -0.0011),
        b"gXYZ": b"XYZ \0\0\0\0" + fixed(0.2919, 0.6922, 0.0419),
        b"bXYZ": b"XYZ \0\0\0\0" + fixed(0.1572, 0.0666, 0.7841),
    }
    curve = b"curv\0\0\0\0\0\0\0\x01" + struct.pack(">H", round(2.2 * 256)) + b"\0\0"
    tags |= {b"rTRC": curve, b"gTRC": curve, b"bTRC": curve}
    table, body, at = b"", b"", 128 + 4 + 12 * len(tags)
    for name, data in tags.items():
        padded = data + b"\0" * (-len(data) % 4)
        table += name + struct.pack(">II", at + len(body), len(data))
        body += padded
    size = at + len(body)
    head = struct.pack(">I4sI4s4s4s", size, b"lcms", 0x02100000, b"mntr", b"RGB ", b"XYZ ")
    head += struct.pack(">6H", 2026, 1, 1, 0, 0, 0) + b"acsp" + b"\0" * 28 + fixed(0.9642, 1.0, 0.8249)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


def jpeg_segment(marker: int, body: bytes) -> bytes:
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(body) + 2) + body


def with_jpeg_segment(marker: int, body: bytes) -> bytes:
    whole = jpeg()
    return whole[:2] + jpeg_segment(marker, body) + whole[2:]


def flat_jpeg(
    width: int, height: int, *, colours: int = 3, progressive: bool = False, orientation: int = 0, scans: int = 1
) -> bytes:
    """A JPEG of any size and one colour, a bit or two for each block: all that a decoder needs to fill gigabytes."""
    components = range(1, colours + 1)
    one_symbol = b"\x01" + b"\0" * 15 + b"\0"
    parts = [b"\xff\xd8"]
    if orientation:
        tag = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
        parts.append(jpeg_segment(0xE1, b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + tag + b"\0\0\0\0"))
    parts.append(jpeg_segment(0xDB, b"\0" + b"\x08" * 64))
    frame = struct.pack(">BHHB", 8, height, width, colours) + b"".join(bytes([c, 0x11, 0]) for c in components)
    parts.append(jpeg_segment(0xC2 if progressive else 0xC0, frame))
    parts.append(jpeg_segment(0xC4, b"\x00" + one_symbol + b"\x10" + one_symbol))
    chosen = bytes([colours]) + b"".join(bytes([c, 0]) for c in components)
    blocks = -(-width // 8) * -(-height // 8) * colours
    parts.append(jpeg_segment(0xDA, chosen + (b"\0\0\0" if progressive else b"\0\x3f\0")))
    parts.append(b"\0" * (blocks * (1 if progressive else 2) // 8 + 1))
    # Each further scan has no bits for its blocks, so it costs a few bytes, and the decoder all the blocks again.
    parts += [jpeg_segment(0xDA, b"\x01\x01\0\x01\x3f\0")] * (scans - 1)
    return b"".join([*parts, b"\xff\xd9"])


def without_tables() -> bytes:
    whole = jpeg()
    return b"\xff\xd8" + whole[whole.index(b"\xff\xc0") :].replace(b"\xff\xc4", b"\xff\xfe")


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def flat_png(
    width: int, height: int, *, bits: int = 8, colour: int = 2, rows: int | None = None, extra: bytes = b""
) -> bytes:
    """A black PNG, really compressed row by row. With `rows` it has fewer of them than it says."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    row = bytes(1 + (width * channels * bits + 7) // 8) if rows != 0 else b""
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(row) for _ in range(height if rows is None else rows)) + packer.flush()
    head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    palette = png_chunk(b"PLTE", b"\x10\x20\x30" * 2) if colour == 3 else b""
    return b"\x89PNG\r\n\x1a\n" + head + extra + palette + png_chunk(b"IDAT", packed) + png_chunk(b"IEND", b"")


def with_png_chunk(kind: bytes, body: bytes) -> bytes:
    return flat_png(8, 8, extra=png_chunk(kind, body))


def expanding(size: int) -> bytes:
    """zlib data that becomes `size` bytes."""
    return zlib.compress(bytes(size), 9)


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    parts = (kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def webp_canvas(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return riff((b"VP8X", b"\0\0\0\0" + size), (b"VP8L", webp(lossless=True)[20:]))


def heic_claim(width: int, height: int) -> bytes:
    """A real HEIC whose property of spatial extents lies."""
    whole = bytearray(heic())
    at = whole.index(b"ispe") + 8
    while at >= 8:
        whole[at : at + 8] = struct.pack(">II", width, height)
        at = whole.find(b"ispe", at) + 8
    return bytes(whole)


def patched(whole: bytes, find: bytes, offset: int, replacement: bytes) -> bytes:
    at = whole.index(find) + offset
    return whole[:at] + replacement + whole[at + len(replacement) :]


def archive() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as file:
        file.writestr("index.html", SECRET)
    return written.getvalue()


def noise(size: int) -> bytes:
    return random.Random(4).randbytes(size)


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], bytes] = field(repr=False)
    codes: frozenset[str] = frozenset()
    """The refusals that are right; none when the image must be taken."""
    content_type: str = ""
    size: tuple[int, int] | None = None


def _refused(codes: str, *cases: tuple[str, Callable[[], bytes]]) -> Iterable[Case]:
    return (Case(name, make, frozenset(codes.split())) for name, make in cases)


def _taken(content_type: str, *cases: tuple[str, Callable[[], bytes]], size: tuple[int, int] = (96, 64)) -> list[Case]:
    return [Case(name, make, frozenset(), content_type, size) for name, make in cases]


HTML = b"<!DOCTYPE html><html><body>" + SECRET + b"</body></html>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg">' + SECRET + b"</svg>"
CIRCULAR_EXIF = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x87\x69\0\x04\0\0\0\x01\0\0\0\x08\0\0\0\x08"
PDF = b"%PDF-1.7\n1 0 obj <<>> endobj\n" + SECRET + b"\n%%EOF"

REFUSED: list[Case] = [
    *_refused(
        "not_an_image",
        ("nothing", lambda: b""),
        ("noise", lambda: noise(5000)),
        ("a PNG that was sent as text", lambda: png().replace(b"\r\n", b"\n", 1)),
        ("a JPEG behind a line of HTML comment", lambda: b"\n//--\n" + jpeg()),
    ),
    *_refused(
        "unsupported_format",
        ("HTML, then a JPEG", lambda: HTML + jpeg()),
        ("SVG with a prolog", lambda: b"\xef\xbb\xbf<?xml version='1.0'?>\n" + SVG),
        ("PDF, then a JPEG", lambda: PDF + jpeg()),
        ("a GIF that is JavaScript", lambda: b"GIF89a/*" + bytes(20) + b"*/=1;alert(1);//" + SECRET),
    ),
    *_refused(
        "too_many_pixels",
        ("a JPEG that is 30,000 x 30,000", lambda: flat_jpeg(30000, 30000, colours=1)),
        ("a PNG that is 30,000 x 30,000", lambda: flat_png(30000, 30000, bits=1, colour=0, rows=1)),
        ("a PNG that claims 2,000,000,000 x 1", lambda: flat_png(2 * 10**9, 1, rows=0)),
        ("a PNG just larger than allowed", lambda: flat_png(8000, 6501, bits=1, colour=0, rows=1)),
        ("a WebP that claims 30,000 x 30,000", lambda: webp_canvas(30000, 30000)),
        ("a HEIC that claims 30,000 x 30,000", lambda: heic_claim(30000, 30000)),
    ),
    *_refused(
        "truncated",
        ("a JPEG of which half came", lambda: (whole := jpeg())[: len(whole) // 2]),
        ("a PNG of which half came", lambda: (whole := png())[: len(whole) // 2]),
        ("a WebP of which half came", lambda: (whole := webp())[: len(whole) // 2]),
        ("a HEIC of which half came", lambda: (whole := heic())[: len(whole) // 2]),
        ("a HEIC that lacks an end", lambda: heic()[:-8]),
    ),
    *_refused(
        "truncated damaged",
        ("a HEIC whose picture was overwritten", lambda: patched(heic(), b"mdat", 4, noise(200))),
        ("a PNG without pixels", lambda: png()[:33] + png_chunk(b"IEND", b"")),
    ),
    *_refused(
        "damaged",
        ("a PNG with a wrong checksum", lambda: patched(png(), b"IHDR", 17, b"\0\0\0\0")),
        ("a PNG of width 0", lambda: flat_png(0, 5)),
        ("a JPEG without tables", without_tables),
        ("a JPEG of height 0", lambda: patched(jpeg(), b"\xff\xc0", 5, b"\0\0")),
        ("a JPEG of twelve bits", lambda: patched(jpeg(), b"\xff\xc0", 4, b"\x0c")),
        ("a lossless JPEG", lambda: patched(jpeg(), b"\xff\xc0", 1, b"\xc3")),
        ("a WebP without an image", lambda: riff((b"VP8X", bytes(10)))),
        ("a HEIC that is larger than it says", lambda: heic_claim(8, 8)),
        ("a HEIC whose boxes were overwritten", lambda: patched(heic(), b"meta", 4, noise(200))),
        ("a PNG with 10 MB of text in 10 kB", lambda: with_png_chunk(b"zTXt", b"Comment\0\0" + expanding(10**7))),
        ("a PNG with a colour profile of 10 MB", lambda: with_png_chunk(b"iCCP", b"sRGB\0\0" + expanding(10**7))),
    ),
]

ODD: list[Case] = [
    *_taken(
        JPEG,
        ("a JPEG", jpeg),
        ("a progressive JPEG", lambda: jpeg(progressive=True)),
        ("a JPEG in grey", lambda: encoded(picture(mode="L"), "JPEG")),
        ("a JPEG in CMYK", lambda: encoded(picture(mode="CMYK"), "JPEG")),
        ("a JPEG that is HTML too", lambda: jpeg() + HTML),
        ("a JPEG with a PDF in its comment", lambda: with_jpeg_segment(0xFE, PDF)),
        ("a JPEG with a second picture and a film behind it", lambda: jpeg() + jpeg() + b"MotionPhoto" + SECRET),
        ("a JPEG with XMP", lambda: with_jpeg_segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + SECRET)),
        ("a JPEG with EXIF that ends early", lambda: with_jpeg_segment(0xE1, b"Exif\0\0MM\0*\0\0\0\x08\0\x05\x01")),
        ("a JPEG with EXIF that runs in a circle", lambda: with_jpeg_segment(0xE1, CIRCULAR_EXIF)),
        ("a HEIC", heic),
        ("a HEIC with transparency", lambda: heic(picture(mode="RGBA"))),
        ("a HEIC in tiles", lambda: heic(picture(96, 64), tile_size=64)),
    ),
    *_taken(
        PNG,
        ("a PNG", png),
        ("a PNG with a transparent palette", lambda: encoded(picture(mode="P"), "PNG", transparency=3)),
        ("a PNG with one transparent colour", lambda: png(transparency=(255, 0, 0))),
        ("a PNG with sixteen bits of grey", lambda: flat_png(96, 64, bits=16, colour=0)),
        ("a PNG with sixteen bits and transparency", lambda: flat_png(96, 64, bits=16, colour=6)),
        ("a PNG with fewer rows than it says", lambda: flat_png(96, 64, rows=5)),
        ("a PNG that moves", lambda: animated("PNG")),
        ("a PNG with a script in its text", lambda: flat_png(96, 64, extra=png_chunk(b"tEXt", b"Title\0" + SECRET))),
    ),
    *_taken(
        WEBP,
        ("a WebP", webp),
        ("a WebP without loss", lambda: webp(lossless=True)),
        ("a WebP with transparency", lambda: encoded(picture(mode="RGBA"), "WEBP")),
        ("a WebP that moves", lambda: animated("WEBP")),
        ("a WebP with XMP", lambda: webp(xmp=SECRET)),
    ),
    *_taken(JPEG, ("a JPEG of one pixel", lambda: encoded(picture(1, 1), "JPEG")), size=(1, 1)),
    *_taken(PNG, ("a PNG as wide as allowed", lambda: flat_png(MAX_SIDE, 1)), size=(MAX_SIDE, 1)),
    *_taken(JPEG, ("a JPEG as high as allowed", lambda: flat_jpeg(1, MAX_SIDE)), size=(1, MAX_SIDE)),
    *_taken(PNG, ("a PNG as wide as a hair", lambda: flat_png(1, 9000, colour=6)), size=(1, 9000)),
]
