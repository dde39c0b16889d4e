"""What a worker says is not believed where it can be checked: it has read a hostile file."""

import json
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


def test_a_job_and_its_outcome_survive_their_lines(job: Job) -> None:
    odd = Job(Path('/tmp/a\nb/ü "quoted"'), Path("/tmp/with spaces"))
    assert odd.line().count(b"\n") == 1
    assert Job.parse(odd.line()) == odd
    made = outcome_of(outcome_line(job), job)
    assert (made.content_type, made.width, made.height) == (ImageFormat.PNG, 96, 64)


@pytest.mark.parametrize("code", RefusalCode)
def test_every_refusal_has_its_sentence_and_survives_its_line(code: RefusalCode, job: Job) -> None:
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
    with pytest.raises(ImageRefused, match="ZIP is not taken"):
        format_of(archive())


@pytest.mark.parametrize(
    "content",
    [webp(), webp(lossless=True), animated("WEBP"), webp(xmp=b"x"), encoded(picture(mode="RGBA"), "WEBP")],
    ids=["lossy", "lossless", "animated", "extended", "transparent"],
)
def test_the_size_of_a_webp_is_known_before_it_is_decoded(content: bytes) -> None:
    assert webp_size(content[:HEAD_BYTES]) == (96, 64)
    for length in range(30):
        assert webp_size(content[:length]) in {None, (96, 64)}, length
