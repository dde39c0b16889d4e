"""EXIF metadata that is kept: time, location and orientation. All of it may be forged.

Invalid metadata is ignored and never causes a refusal.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

from PIL import Image
from PIL.ExifTags import GPS, IFD, Base

_FIRST_DIGITAL_CAMERA: Final = 1975
_LAST_YEAR: Final = 2200


@dataclass(frozen=True, slots=True)
class ExifFacts:
    orientation: int = 1
    """1 to 8 (EXIF tag 0x0112). Always 1 for HEIC, which its decoder rotates."""
    captured_at: datetime | None = None
    """In UTC."""
    zone_assumed: bool = False
    """Neither a time zone nor GPS time is known: `captured_at` is the camera's local time as UTC, wrong by up to
    fourteen hours."""
    place: tuple[float, float] | None = None
    """Latitude and longitude in degrees (WGS 84)."""


def facts_of(image: Image.Image) -> ExifFacts:
    """Extract the facts of a loaded image."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exif = image.getexif()
            orientation = exif.get(Base.Orientation)
            details = _directory(exif, IFD.Exif)
            position = _directory(exif, IFD.GPSInfo)
    except Exception:
        # Pillow raises nearly any exception for broken directories.
        return ExifFacts()
    known_at = _clock_time(details) or _satellite_time(position)
    captured_at = known_at or _clock_time(details, without_zone=UTC)
    return ExifFacts(
        orientation=orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1,
        captured_at=captured_at,
        zone_assumed=captured_at is not None and known_at is None,
        place=_place(position),
    )


def _directory(exif: Image.Exif, which: IFD) -> Mapping[int, Any]:
    try:
        return exif.get_ifd(which)
    except Exception:  # as above; other directories may be valid
        return {}


def _clock_time(details: Mapping[int, Any], *, without_zone: timezone | None = None) -> datetime | None:
    # Cameras may write any of the three zone tags.
    zones = (details.get(tag) for tag in (Base.OffsetTimeOriginal, Base.OffsetTimeDigitized, Base.OffsetTime))
    zone = next((zone for zone in map(_zone, zones) if zone is not None), without_zone)
    local = _date_and_time(details.get(Base.DateTimeOriginal))
    if zone is None or local is None:
        return None
    return _believable(local.replace(microsecond=_fraction(details.get(Base.SubsecTimeOriginal)), tzinfo=zone))


def _satellite_time(position: Mapping[int, Any]) -> datetime | None:
    """GPS time is UTC (EXIF 2.32 section 4.6.6)."""
    day, clock = position.get(GPS.GPSDateStamp), _numbers(position.get(GPS.GPSTimeStamp))
    if not isinstance(day, str) or clock is None:
        return None
    midnight = _date_and_time(f"{day.strip()[:10].replace('-', ':')} 00:00:00")
    seconds = clock[0] * 3600 + clock[1] * 60 + clock[2]
    if midnight is None or not 0 <= seconds < 86_401:
        return None
    return _believable(midnight.replace(tzinfo=UTC) + timedelta(seconds=seconds))


def _place(position: Mapping[int, Any]) -> tuple[float, float] | None:
    latitude = _degrees(position.get(GPS.GPSLatitude), position.get(GPS.GPSLatitudeRef), "N", "S", 90)
    longitude = _degrees(position.get(GPS.GPSLongitude), position.get(GPS.GPSLongitudeRef), "E", "W", 180)
    # "V" means no fix; 0, 0 is written by cameras without a fix.
    if latitude is None or longitude is None or position.get(GPS.GPSStatus) == "V" or latitude == longitude == 0:
        return None
    return latitude, longitude


def _degrees(value: Any, side: Any, positive: str, negative: str, limit: int) -> float | None:
    parts = _numbers(value)
    side = side.strip("\x00 ").upper() if isinstance(side, str) else None
    if parts is None or side not in {positive, negative}:
        return None
    degrees = parts[0] + parts[1] / 60 + parts[2] / 3600
    if min(parts) < 0 or degrees > limit:
        return None
    return round(degrees if side == positive else -degrees, 7)


def _numbers(value: Any) -> tuple[float, float, float] | None:
    """Convert an EXIF triple (angle, time of day) to finite numbers; None if invalid."""
    try:
        first, second, third = (float(part) for part in value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return (first, second, third) if all(map(math.isfinite, (first, second, third))) else None


def _date_and_time(text: Any) -> datetime | None:
    try:
        return datetime.strptime(text.strip("\x00 "), "%Y:%m:%d %H:%M:%S")  # noqa: DTZ007 - the zone is another tag
    except (AttributeError, TypeError, ValueError):
        return None


def _zone(text: Any) -> timezone | None:
    try:
        text = text.strip("\x00 ")
        moment = datetime.strptime(text, "%z")
    except (AttributeError, TypeError, ValueError):
        return None
    offset = moment.utcoffset()
    return None if offset is None or abs(offset) > timedelta(hours=14) else timezone(offset)


def _fraction(text: Any) -> int:
    """Convert the digits after the decimal point to microseconds, with millisecond resolution."""
    digits = text.strip("\x00 ") if isinstance(text, str) else ""
    return int(digits[:3].ljust(3, "0")) * 1000 if digits.isascii() and digits.isdigit() else 0


def _believable(moment: datetime) -> datetime | None:
    if not _FIRST_DIGITAL_CAMERA <= moment.year <= _LAST_YEAR:
        return None
    return moment.astimezone(UTC)
