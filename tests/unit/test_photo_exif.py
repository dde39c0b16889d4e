"""What is believed of a photo's metadata: time only with its zone, place only with its side, nothing that is broken."""

from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.TiffImagePlugin import IFDRational
from tests.unit.image_corpus import encoded, exif, picture

from checklist_api.photos.exif_facts import ExifFacts, facts_of

TAKEN, FILE_ZONE, ZONE, SCAN_ZONE, FRACTION = 0x9003, 0x9010, 0x9011, 0x9012, 0x9291
LATITUDE_SIDE, LATITUDE, LONGITUDE_SIDE, LONGITUDE, CLOCK, STATUS, DAY = 1, 2, 3, 4, 7, 9, 29
BERLIN = {LATITUDE_SIDE: "N", LATITUDE: (52.0, 31.0, 12.0), LONGITUDE_SIDE: "E", LONGITUDE: (13.0, 24.0, 18.0)}


def facts(raw: bytes) -> ExifFacts:
    with Image.open(BytesIO(encoded(picture(8, 8), "JPEG", exif=raw))) as image:
        image.load()
        return facts_of(image)


def captured(**tags: Any) -> datetime | None:
    names = {"taken": TAKEN, "zone": ZONE, "fraction": FRACTION, "scan_zone": SCAN_ZONE, "file_zone": FILE_ZONE}
    return facts(exif(details={names[name]: value for name, value in tags.items()})).captured_at


def satellite_time(day: Any, clock: Any) -> datetime | None:
    return facts(exif(gps={DAY: day, CLOCK: clock})).captured_at


def place(**changes: Any) -> tuple[float, float] | None:
    tags = BERLIN | {int(name[1:]): value for name, value in changes.items()}
    return facts(exif(gps={tag: value for tag, value in tags.items() if value is not None})).place


@pytest.mark.parametrize(
    ("taken", "zone", "expected"),
    [
        ("2026:11:21 13:50:00", "+01:00", "2026-11-21T12:50Z"),
        ("2026:11:21 13:50:00", "-03:30", "2026-11-21T17:20Z"),
        ("2026:01:01 00:10:00", "+05:45", "2025-12-31T18:25Z"),
        ("2026:11:21 13:50:00", "+00:00", "2026-11-21T13:50Z"),
        ("2026:11:21 13:50:00", "Z", "2026-11-21T13:50Z"),
        ("2026:11:21 13:50:00\0", "+01:00\0", "2026-11-21T12:50Z"),
    ],
)
def test_the_time_of_the_camera_is_turned_into_utc_by_its_zone(taken: str, zone: str, expected: str) -> None:
    moment = captured(taken=taken, zone=zone)
    assert moment == datetime.fromisoformat(expected)
    assert moment is not None
    assert moment.tzinfo is UTC
    with_fraction = captured(taken=taken, zone=zone, fraction="123456")
    assert with_fraction == moment + timedelta(milliseconds=123)


@pytest.mark.parametrize(
    "zones",
    [
        {"zone": "+01:00", "scan_zone": "+02:00", "file_zone": "+03:00"},
        {"scan_zone": "+01:00", "file_zone": "+03:00"},
        {"zone": "   :  ", "file_zone": "+01:00"},
        {"file_zone": "+01:00"},
    ],
)
def test_the_zone_is_that_of_the_shot_and_else_another_of_the_same_clock(zones: dict[str, str]) -> None:
    assert captured(taken="2026:11:21 13:50:00", **zones) == datetime(2026, 11, 21, 12, 50, tzinfo=UTC)


@pytest.mark.parametrize(
    "tags",
    [
        {"taken": "0000:00:00 00:00:00", "zone": "+01:00"},
        {"taken": "    :  :     :  :  ", "zone": "+01:00"},
        {"taken": "2026:02:30 13:50:00", "zone": "+01:00"},
        {"taken": "1970:01:01 00:00:00", "zone": "+00:00"},
        {"taken": "9999:12:31 23:59:59", "zone": "-12:00"},
        {"taken": "0001:01:01 00:00:00", "zone": "+12:00"},
        {"zone": "+01:00"},
    ],
)
def test_without_a_time_that_can_be_told_there_is_none(tags: dict[str, str]) -> None:
    assert captured(**tags) is None


def test_the_time_of_the_satellites_stands_in_when_the_camera_names_no_zone() -> None:
    raw = exif(details={TAKEN: "2026:11:21 13:50:00"}, gps={DAY: "2026:11:21", CLOCK: (12.0, 50.0, 1.5)})
    found = facts(raw)
    assert found.captured_at == datetime(2026, 11, 21, 12, 50, 1, 500000, tzinfo=UTC)
    assert not found.zone_assumed


@pytest.mark.parametrize("zone", [None, "   :  ", "+99:00", "CET"])
def test_a_clock_whose_zone_nothing_tells_is_taken_for_utc_and_that_is_told(zone: str | None) -> None:
    found = facts(exif(details={TAKEN: "2026:11:21 13:50:00"} | ({ZONE: zone} if zone else {})))
    assert found.captured_at == datetime(2026, 11, 21, 13, 50, tzinfo=UTC)
    assert found.zone_assumed


def test_a_zone_that_the_file_names_is_not_assumed() -> None:
    assert not facts(exif(details={TAKEN: "2026:11:21 13:50:00", ZONE: "+01:00"})).zone_assumed
    assert not facts(b"").zone_assumed


@pytest.mark.parametrize(
    ("day", "clock"),
    [
        ("2026:11:21", (IFDRational(1, 0), 0.0, 0.0)),
        ("2026:11:21", (25.0, 0.0, 0.0)),
        ("2026:11:21", (12.0, 0.0)),
        ("today", (12.0, 0.0, 0.0)),
    ],
)
def test_a_broken_time_of_the_satellites_is_none(day: str, clock: Any) -> None:
    assert satellite_time(day, clock) is None


def test_a_place_is_given_in_degrees_and_south_and_west_are_negative() -> None:
    assert place() == (52.52, 13.405)
    assert place(_1="S", _3="W") == (-52.52, -13.405)


@pytest.mark.parametrize(
    "changes",
    [
        {"_1": None},
        {"_3": "X"},
        {"_2": (91.0, 0.0, 0.0)},
        {"_4": (180.0, 0.0, 0.1)},
        {"_2": (IFDRational(0, 0), 0.0, 0.0)},
        {"_2": (52.0, 31.0)},
        {"_9": "V"},
        {"_2": (0.0, 0.0, 0.0), "_4": (0.0, 0.0, 0.0)},
    ],
    ids=["no side", "a wrong side", "beyond the pole", "beyond the date line", "0/0", "two numbers", "no fix", "0, 0"],
)
def test_a_place_that_cannot_be_is_none(changes: dict[str, Any]) -> None:
    assert place(**changes) is None


@pytest.mark.parametrize("orientation", [0, 9, 65_535])
def test_an_orientation_that_does_not_exist_is_the_usual_one(orientation: int) -> None:
    assert facts(exif(orientation)).orientation == 1


def test_an_image_without_metadata_has_no_facts() -> None:
    assert facts_of(picture()) == ExifFacts()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_metadata_with_overwritten_bytes_never_raises_and_stays_in_its_bounds(data: st.DataObject) -> None:
    raw = bytearray(exif(6, {TAKEN: "2026:11:21 13:50:00", ZONE: "+01:00"}, BERLIN))
    for at, value in data.draw(st.dictionaries(st.integers(6, len(raw) - 1), st.integers(0, 255), max_size=12)).items():
        raw[at] = value
    image = picture(2, 2)
    image.info["exif"] = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    found = facts_of(image)
    assert 1 <= found.orientation <= 8
    assert found.captured_at is None or found.captured_at.tzinfo is UTC
    assert found.place is None or (abs(found.place[0]) <= 90 and abs(found.place[1]) <= 180)
