"""What a worker says is not believed where it can be checked, and a photo's metadata only where it is whole."""

import json
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.TiffImagePlugin import IFDRational
from tests.unit.photos.image_corpus import animated, archive, encoded, exif, picture, png, webp

from checklist_api.photos.exif_facts import ExifFacts, facts_of
from checklist_api.photos.image_formats import HEAD_BYTES, ImageFormat, format_of, webp_size
from checklist_api.photos.image_work import outcome_line
from checklist_api.photos.jobs import Job, WorkerFailed, line_of_failure, line_of_refusal, outcome_of
from checklist_api.photos.limits import THUMBNAIL_BYTES
from checklist_api.photos.refusals import MESSAGES, ImageRefused, RefusalCode


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "upload").write_bytes(png())
    return Job(tmp_path / "upload", tmp_path)


def test_a_job_and_its_outcome_survive_their_lines(job: Job) -> None:
    odd = Job(Path('/tmp/a\nb/ü "quoted"'), Path("/tmp/with spaces"))
    assert odd.line().count(b"\n") == 1
    assert Job.parse(odd.line()) == odd
    made = outcome_of(outcome_line(job), job)
    assert (made.content_type, made.width, made.height) == (ImageFormat.PNG, 96, 64)
    for code in RefusalCode:
        with pytest.raises(ImageRefused) as caught:
            outcome_of(line_of_refusal(ImageRefused(code)), job)
        assert (caught.value.code, caught.value.message) == (code, MESSAGES[code])


LIES: list[dict[str, Any]] = [
    *({"content_type": kind} for kind in ("text/html", "image/heic", "image/webp")),
    *({"bytes": 5}, {"sha256": "short"}, {"sha256": "ab"}),
    *({"width": 0}, {"height": 16_385}, {"width": 16_000, "height": 16_000}, {"width": "many"}),
    *({"captured_at": "2026-11-21T13:50:00"}, {"captured_at": "yesterday"}),
    *({"place": [91, 0]}, {"place": [0, float("nan")]}, {"place": [1]}),
]


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_an_outcome_that_cannot_be_true_is_a_failure_of_the_worker(lie: dict[str, Any], job: Job) -> None:
    document = json.loads(outcome_line(job))
    document["made"] |= lie
    with pytest.raises(WorkerFailed):
        outcome_of(json.dumps(document).encode(), job)


def test_an_outcome_without_a_result_or_its_files_is_a_failure_of_the_worker(job: Job, tmp_path: Path) -> None:
    for none in (b"", b"\n", b"[]\n", b"{}\n", b"null\n", b'{"made":null}\n', b'{"refused":"because"}\n', b"\xff\n"):
        with pytest.raises(WorkerFailed):
            outcome_of(none, job)
    with pytest.raises(WorkerFailed, match="ENOSPC"):
        outcome_of(line_of_failure("ENOSPC"), job)
    for unusable in (Job(job.upload, tmp_path / "nowhere"), Job(tmp_path / "no-upload", tmp_path)):
        with pytest.raises(WorkerFailed, match="ENOENT"):
            outcome_of(outcome_line(unusable), unusable)
    line = outcome_line(job)
    job.thumbnail_path.write_bytes(bytes(THUMBNAIL_BYTES + 1))  # too large for an event
    with pytest.raises(WorkerFailed):
        outcome_of(line, job)
    job.clear()
    with pytest.raises(WorkerFailed):
        outcome_of(line, job)


def test_a_heic_is_known_by_any_of_its_brands_and_other_files_are_refused_by_name() -> None:
    for head in (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", b"\0\0\0\x14ftypheix\0\0\0\0mif1"):
        assert format_of(head) is ImageFormat.HEIC
    for head in (b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif", b"\0\0\0\x14ftypqt  \0\0\0\0heic"[:16]):
        with pytest.raises(ImageRefused) as caught:
            format_of(head)
        assert caught.value.code is RefusalCode.UNSUPPORTED_FORMAT
    with pytest.raises(ImageRefused, match="ZIP is not supported"):
        format_of(archive())


def test_the_size_of_a_webp_is_known_before_it_is_decoded() -> None:
    """Lossy, lossless, animated, extended, transparent."""
    contents = [webp(), webp(lossless=True), animated("WEBP"), webp(xmp=b"x"), encoded(picture(mode="RGBA"), "WEBP")]
    for number, content in enumerate(contents):
        assert webp_size(content[:HEAD_BYTES]) == (96, 64), number
        for length in range(30):
            assert webp_size(content[:length]) in {None, (96, 64)}, (number, length)


NAMES = {"taken": 0x9003, "file_zone": 0x9010, "zone": 0x9011, "scan_zone": 0x9012, "fraction": 0x9291}
TAKEN = "2026:11:21 13:50:00"
LATITUDE_SIDE, LATITUDE, LONGITUDE_SIDE, LONGITUDE, CLOCK, STATUS, DAY = 1, 2, 3, 4, 7, 9, 29
BERLIN = {LATITUDE_SIDE: "N", LATITUDE: (52.0, 31.0, 12.0), LONGITUDE_SIDE: "E", LONGITUDE: (13.0, 24.0, 18.0)}


def facts(raw: bytes) -> ExifFacts:
    with Image.open(BytesIO(encoded(picture(8, 8), "JPEG", exif=raw))) as image:
        image.load()
        return facts_of(image)


def captured(**tags: str) -> Any:
    return facts(exif(details={NAMES[name]: value for name, value in tags.items()})).captured_at


def place(**changes: Any) -> tuple[float, float] | None:
    tags = BERLIN | {int(name[1:]): value for name, value in changes.items()}
    return facts(exif(gps={tag: value for tag, value in tags.items() if value is not None})).place


def test_the_time_of_the_camera_is_turned_into_utc_by_its_zone() -> None:
    for taken, zone, expected in (
        ("2026:11:21 13:50:00", "-03:30", "2026-11-21T17:20Z"),
        ("2026:01:01 00:10:00", "+05:45", "2025-12-31T18:25Z"),
        ("2026:11:21 13:50:00", "Z", "2026-11-21T13:50Z"),
        ("2026:11:21 13:50:00\0", "+01:00\0", "2026-11-21T12:50Z"),
    ):
        moment = captured(taken=taken, zone=zone)
        assert moment == datetime.fromisoformat(expected), zone
        assert moment.tzinfo is UTC
        assert captured(taken=taken, zone=zone, fraction="123456") == moment + timedelta(milliseconds=123)


def test_the_zone_is_that_of_the_shot_and_else_another_of_the_same_clock() -> None:
    for zones in (
        {"zone": "+01:00", "scan_zone": "+02:00", "file_zone": "+03:00"},
        {"scan_zone": "+01:00", "file_zone": "+03:00"},
        {"zone": "   :  ", "file_zone": "+01:00"},
        {"file_zone": "+01:00"},
    ):
        found = facts(exif(details={NAMES["taken"]: TAKEN} | {NAMES[name]: zone for name, zone in zones.items()}))
        assert (found.captured_at, found.zone_assumed) == (datetime(2026, 11, 21, 12, 50, tzinfo=UTC), False)


@pytest.mark.parametrize("zone", [None, "   :  ", "+99:00", "CET"])
def test_a_clock_without_a_known_zone_is_taken_for_utc_and_marked(zone: str | None) -> None:
    found = facts(exif(details={NAMES["taken"]: TAKEN} | ({NAMES["zone"]: zone} if zone else {})))
    assert (found.captured_at, found.zone_assumed) == (datetime(2026, 11, 21, 13, 50, tzinfo=UTC), True)


def test_a_time_that_cannot_be_is_none() -> None:
    for taken, zone in {
        "0000:00:00 00:00:00": "+01:00",
        "    :  :     :  :  ": "+01:00",
        "2026:02:30 13:50:00": "+01:00",
        "1970:01:01 00:00:00": "+00:00",
        "9999:12:31 23:59:59": "-12:00",
        "0001:01:01 00:00:00": "+12:00",
    }.items():
        assert captured(taken=taken, zone=zone) is None, taken
    assert captured(zone="+01:00") is None
    for day, clock in (
        ("2026:11:21", (IFDRational(1, 0), 0.0, 0.0)),
        ("2026:11:21", (25.0, 0.0, 0.0)),
        ("2026:11:21", (12.0, 0.0)),
        ("today", (12.0, 0.0, 0.0)),
    ):
        assert facts(exif(gps={DAY: day, CLOCK: clock})).captured_at is None


def test_the_time_of_the_satellites_stands_in_when_the_camera_names_no_zone() -> None:
    found = facts(exif(details={NAMES["taken"]: TAKEN}, gps={DAY: "2026:11:21", CLOCK: (12.0, 50.0, 1.5)}))
    assert found.captured_at == datetime(2026, 11, 21, 12, 50, 1, 500000, tzinfo=UTC)
    assert not found.zone_assumed


def test_a_place_is_given_in_degrees_and_south_and_west_are_negative() -> None:
    assert place() == (52.52, 13.405)
    assert place(_1="S", _3="W") == (-52.52, -13.405)


def test_a_place_that_cannot_be_is_none() -> None:
    cases: dict[str, dict[str, Any]] = {
        "no side": {"_1": None},
        "a wrong side": {"_3": "X"},
        "beyond the pole": {"_2": (91.0, 0.0, 0.0)},
        "beyond the date line": {"_4": (180.0, 0.0, 0.1)},
        "0/0": {"_2": (IFDRational(0, 0), 0.0, 0.0)},
        "two numbers": {"_2": (52.0, 31.0)},
        "no fix": {"_9": "V"},
        "0, 0": {"_2": (0.0, 0.0, 0.0), "_4": (0.0, 0.0, 0.0)},
    }
    assert [case for case, changes in cases.items() if place(**changes) is not None] == []


def test_without_usable_metadata_there_are_no_facts() -> None:
    assert [facts(exif(orientation)).orientation for orientation in (0, 9, 65_535)] == [1, 1, 1]
    assert facts_of(picture()) == ExifFacts()
    assert not facts(b"").zone_assumed


@settings(max_examples=50)
@given(st.data())
def test_metadata_with_overwritten_bytes_never_raises_and_stays_in_its_bounds(data: st.DataObject) -> None:
    raw = bytearray(exif(6, {NAMES["taken"]: TAKEN, NAMES["zone"]: "+01:00"}, BERLIN))
    for at, value in data.draw(st.dictionaries(st.integers(6, len(raw) - 1), st.integers(0, 255), max_size=12)).items():
        raw[at] = value
    image = picture(2, 2)
    image.info["exif"] = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    found = facts_of(image)
    assert 1 <= found.orientation <= 8
    assert found.captured_at is None or found.captured_at.tzinfo is UTC
    assert found.place is None or (abs(found.place[0]) <= 90 and abs(found.place[1]) <= 180)
