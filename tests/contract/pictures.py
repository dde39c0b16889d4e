"""Small pictures for the tests of photos."""

from fractions import Fraction
from io import BytesIO
from typing import Any

from PIL import Image
from PIL.ExifTags import GPS, IFD, Base

ORANGE = (240, 120, 10)


def picture(kind: str = "JPEG", size: tuple[int, int] = (640, 480), color: Any = ORANGE, **options: Any) -> bytes:
    """The bytes of a picture in one color."""
    made = BytesIO()
    Image.new("RGB", size, color).save(made, kind, **options)
    return made.getvalue()


def photo_of_a_camera(*, lat: float = 52.5, lng: float = 13.4, time: str = "2026:11:21 14:30:00") -> bytes:
    """A JPEG that lies on its side and says when (UTC+2) and where it was taken, and with what."""
    exif = Image.Exif()
    exif[Base.Make] = "Camera Works"
    exif[Base.Orientation] = 6
    details = exif.get_ifd(IFD.Exif)
    details[Base.DateTimeOriginal] = time
    details[Base.OffsetTimeOriginal] = "+02:00"
    exif[IFD.Exif] = details
    exif[IFD.GPSInfo] = {
        GPS.GPSLatitudeRef: "N" if lat >= 0 else "S",
        GPS.GPSLatitude: _degrees(abs(lat)),
        GPS.GPSLongitudeRef: "E" if lng >= 0 else "W",
        GPS.GPSLongitude: _degrees(abs(lng)),
    }
    return picture(exif=exif)


def drawing() -> bytes:
    """As a signature pad makes it: black on nothing."""
    made = BytesIO()
    image = Image.new("RGBA", (300, 100), (0, 0, 0, 0))
    for x in range(20, 280):
        image.putpixel((x, 50), (0, 0, 0, 255))
    image.save(made, "PNG")
    return made.getvalue()


def _degrees(value: float) -> tuple[Fraction, Fraction, Fraction]:
    return Fraction(int(value)), Fraction(int(value * 60 % 60)), Fraction(round(value * 3600 % 60 * 100), 100)
