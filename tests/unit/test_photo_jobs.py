"""What a worker says is not believed where it can be checked: it has read a hostile file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.image_corpus import animated, archive, encoded, picture, png, webp

from checklist_api.photos.image_formats import HEAD_BYTES, ImageFormat, format_of, webp_size
from checklist_api.photos.image_work import outcome_line
from checklist_api.photos.jobs import Job, WorkerFailed, line_of_failure, line_of_refusal, outcome_of
from checklist_api.photos.limits import THUMBNAIL_BYTES
from checklist_api.photos.refusals import MESSAGES, ImageRefused, RefusalCode


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "upload").write_bytes(png())
    return Job(tmp_path / "upload", tmp_path)


def test_a_job_survives_its_line_whatever_its_paths_are_called() -> None:
    job = Job(Path('/tmp/a\nb/ü "quoted"'), Path("/tmp/with spaces"))
    assert job.line().count(b"\n") == 1
    assert Job.parse(job.line()) == job


def test_an_honest_outcome_is_read_as_it_was_meant(job: Job) -> None:
    made = outcome_of(outcome_line(job), job)
    assert (made.content_type, made.width, made.height) == (ImageFormat.PNG, 96, 64)


@pytest.mark.parametrize("code", RefusalCode)
def test_every_refusal_has_its_sentence_and_survives_its_line(code: RefusalCode, job: Job) -> None:
    with pytest.raises(ImageRefused) as caught:
        outcome_of(line_of_refusal(ImageRefused(code)), job)
    assert (caught.value.code, caught.value.message) == (code, MESSAGES[code])


@pytest.mark.parametrize(
    "lie",
    [
        {"content_type": "text/html"},
        {"content_type": "image/heic"},
        {"content_type": "image/webp"},
        {"bytes": 5},
        {"sha256": "short"},
        {"sha256": "ab"},
        {"width": 0},
        {"height": 16_385},
        {"width": 16_000, "height": 16_000},
        {"width": "many"},
        {"captured_at": "2026-11-21T13:50:00"},
        {"captured_at": "yesterday"},
        {"place": [91, 0]},
        {"place": [0, float("nan")]},
        {"place": [1]},
    ],
    ids=str,
)
def test_an_outcome_that_cannot_be_true_is_a_failure_of_the_worker(lie: dict[str, Any], job: Job) -> None:
    document = json.loads(outcome_line(job))
    document["made"] |= lie
    with pytest.raises(WorkerFailed):
        outcome_of(json.dumps(document).encode(), job)


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"[]\n", b"{}\n", b"null\n", b'{"made":null}\n', b'{"refused":"because"}\n', b"\xff\n"]
)
def test_an_outcome_that_is_none_is_a_failure_of_the_worker(line: bytes, job: Job) -> None:
    with pytest.raises(WorkerFailed):
        outcome_of(line, job)


@pytest.mark.parametrize(
    "spoil",
    [Job.clear, lambda job: job.thumbnail_path.write_bytes(bytes(THUMBNAIL_BYTES + 1))],
    ids=["no files", "a thumbnail that is too large for an event"],
)
def test_an_outcome_whose_files_are_not_right_is_a_failure_of_the_worker(
    spoil: Callable[[Job], object], job: Job
) -> None:
    line = outcome_line(job)
    spoil(job)
    with pytest.raises(WorkerFailed):
        outcome_of(line, job)


def test_a_file_or_folder_that_cannot_be_used_is_no_verdict_on_the_image_and_says_why(job: Job, tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="ENOSPC"):
        outcome_of(line_of_failure("ENOSPC"), job)
    for unusable in (Job(job.upload, tmp_path / "nowhere"), Job(tmp_path / "no-upload", tmp_path)):
        with pytest.raises(WorkerFailed, match="ENOENT"):
            outcome_of(outcome_line(unusable), unusable)


def test_a_heic_is_known_by_any_of_its_brands_and_other_files_are_refused_by_name() -> None:
    for head in (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", b"\0\0\0\x14ftypheix\0\0\0\0mif1"):
        assert format_of(head) is ImageFormat.HEIC
    for head in (b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif", b"\0\0\0\x14ftypqt  \0\0\0\0heic"[:16]):
        with pytest.raises(ImageRefused) as caught:
            format_of(head)
        assert caught.value.code is RefusalCode.UNSUPPORTED_FORMAT
    with pytest.raises(ImageRefused, match="ZIP is not taken"):
        format_of(archive())


@pytest.mark.parametrize(
    "content",
    [webp(), webp(lossless=True), animated("WEBP"), webp(xmp=b"x"), encoded(picture(mode="RGBA"), "WEBP")],
    ids=["lossy", "lossless", "animated", "extended", "transparent"],
)
def test_the_size_of_a_webp_is_known_before_it_is_decoded(content: bytes) -> None:
    assert webp_size(content[:HEAD_BYTES]) == (96, 64)


def test_a_webp_that_ends_in_its_head_has_no_size_or_the_right_one() -> None:
    for length in range(30):
        assert webp_size(webp(lossless=True)[:length]) in {None, (96, 64)}, length
