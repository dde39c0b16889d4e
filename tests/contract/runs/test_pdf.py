"""A run as a PDF: everything is in it, in every writing system; no other request waits for it."""

import asyncio
import hashlib
import json
from itertools import pairwise
from pathlib import Path

import httpx
import pypdfium2
import pytest
from fpdf import bidi
from fpdf.enums import TextDirection
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.conftest import Api
from tests.contract.dashboard_client import at_desk
from tests.contract.executor_client import answered, error_of, step
from tests.contract.pdf_reading import actual_texts, pictures, text_of
from tests.contract.pictures import picture
from tests.waiting import until_the_next_second

from checklist_api.exports.pdf import worker
from checklist_api.exports.pdf.content import Entry, Group, Image, PdfContent
from checklist_api.exports.pdf.directions import LinearRun
from checklist_api.exports.pdf.drawing import draw
from checklist_api.exports.pdf.fonts import FontCase

ARABIC = "هل الثلاجة نظيفة؟"
HEBREW = "האם המקרר נקי?"
READ_FROM_THE_LEFT = ["Is it clean? naïve – “café”", "Είναι καθαρό το ψυγείο;", "Холодильник чистый? Щётка", "ภาษาไทย"]
READ_FROM_THE_LEFT += [
    "冷蔵庫の温度は何度ですか？",
    "冰箱干净吗？请检查温度。",
    "冰箱乾淨嗎？請檢查溫度。",
    "냉장고가 깨끗합니까?",
]
READ_FROM_THE_LEFT += ["हिन्दी में प्रश्न"]


async def pdf_of(client: httpx.AsyncClient, run_id: str) -> bytes:
    # On a busy machine the process that draws starts late.
    response = await client.get(f"/v1/runs/{run_id}/export", params={"format": "pdf"}, timeout=120)
    assert response.status_code == 200, response.text
    assert response.headers["Content-Type"] == "application/pdf"
    assert response.headers["Content-Disposition"] == f'attachment; filename="run-{run_id[2:]}.pdf"'
    return response.content


def content(*entries: Entry) -> PdfContent:
    return PdfContent(
        run_id="r-0b7c3c4e-6a52-4a5b-8d5e-0c8f6d1c2a11",
        title="Opening check",
        sender="Test organization",
        status="Completed",
        facts=[["Reference", "order 7"]],
        groups=[Group("Kitchen", list(entries))],
        digests=[["Document digest", "SHA-256 00"]],
        explained="Explained.",
        last_changed="2026-11-21T13:50:00+00:00",
    )


async def test_everything_of_a_run_is_printed(api: Api) -> None:
    why = step("why", "text", label="Why?", condition={"when": {"step": "s-clean", "op": "eq", "value": True}})
    person = await answered(api, step("arabic", "text", label=ARABIC), why, arabic="نعم")
    pdf = await pdf_of(api.http, person.run_id)
    text = text_of(pdf)
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    completed_at = run["completed_at"][:19].replace("T", " ") + " UTC"
    facts = ("Checklist", "Test organization", "Completed", person.run_id, "order 7", "Zoë Ångström, zoe@example.com")
    steps = ("Is it clean?\nDirty", "Fridge\n-18.5 °C", "-33.856800, 151.215300, within 8 m", "Photo 1 of 1")
    steps += ("Later\nSkipped", "Why?\nDoes not apply", "Signed by\nZoë Å.")
    for said in (*facts, *steps, completed_at, run["receipt"]["digest"], "Page 1 of "):
        assert said in text, said
    assert actual_texts(pdf) == [ARABIC, "نعم"]
    assert len(pictures(pdf)) == 2  # the photo and the signature
    assert b"https://www.openstreetmap.org/?mlat=-33.856800" in pdf

    # The digest of the run as JSON, which is that of the export of many.
    response = await api.http.get(f"/v1/runs/{person.run_id}/export", params={"format": "json"})
    assert response.status_code == 200
    assert f"SHA-256 {hashlib.sha256(response.content).hexdigest()}" in text
    [line] = (await api.http.get("/v1/exports", params={"format": "jsonl"})).text.splitlines()
    assert response.json() == json.loads(line)
    # The same run gives the same bytes, to a member too, and others are served meanwhile.
    await until_the_next_second()  # a time of printing would tell
    desk = await at_desk(api, "viewer")
    path = desk.path(f"/runs/{person.run_id}/export")
    printing = asyncio.create_task(desk.http.get(path, params={"format": "pdf"}, headers=desk.headers, timeout=120))
    served = 0
    while not printing.done():
        assert (await api.http.get("/v1/usage")).status_code == 200
        served += 1
    assert (await printing).content == pdf
    assert served > 5


async def test_what_is_not_there_or_not_known_is_refused(api: Api) -> None:
    run_id = await api.account.new_run()
    other = await api.make_account()
    path = f"/v1/runs/{run_id}/export"
    assert error_of(await other.http.get(path, params={"format": "pdf"})) == (404, "run_not_found")
    assert error_of(await api.http.get(path)) == (400, "invalid_parameter")
    assert error_of(await api.http.get(path, params={"format": "csv"})) == (400, "invalid_parameter")
    assert error_of(await api.anonymous.get(path, params={"format": "pdf"})) == (401, "unauthorized")
    head = await api.http.head(path, params={"format": "pdf"})
    assert (head.status_code, head.headers["Content-Type"]) == (200, "application/pdf")


async def test_dead_or_busy_workers_are_retryable(api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_id = await api.account.new_run()
    for name, value in (("sys.executable", "/bin/false"), ("checklist_api.exports.pdf.printer._WAITING", 0)):
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", "/nowhere")
            patch.setattr(name, value)
            response = await api.http.get(f"/v1/runs/{run_id}/export", params={"format": "pdf"})
        assert error_of(response) == (503, "service_unavailable")
        assert int(response.headers["Retry-After"]) >= 1
        assert not list(tmp_path.glob("pdf-*"))
    await pdf_of(api.http, run_id)
    assert not list(tmp_path.glob("pdf-*"))


def test_each_writing_system_can_be_read_back_and_what_is_missing_is_named(tmp_path: Path) -> None:
    entries = [Entry(text, value=text) for text in READ_FROM_THE_LEFT]
    entries += [Entry("Sign", value="before 𓀀 after"), Entry("Shelf", images=[Image("gone", "Photo 1 of 1")])]
    text = text_of(draw(content(*entries), {}, tmp_path))
    for written in READ_FROM_THE_LEFT:
        assert text.count(written) == 2, written
    for said in ("before \ufffd after", "U+13000", "This image is no longer stored."):
        assert said in text


def inked_columns(pdf: bytes, left: float, right: float) -> list[int]:
    """The columns with ink between two parts of the first page's width, at 4 pixels a point, without the foot."""
    image = pypdfium2.PdfDocument(pdf)[0].render(scale=4).to_pil().convert("L")
    part = image.crop((int(image.width * left), 0, int(image.width * right), image.height * 3 // 4))
    return [x for x in range(part.width) if part.crop((x, 0, x + 1, part.height)).getextrema()[0] < 128]


def test_right_to_left_text_is_right_aligned_and_extracted_in_its_own_order(tmp_path: Path) -> None:
    made = draw(content(Entry(ARABIC, value=HEBREW)), {}, tmp_path)
    assert actual_texts(made) == [ARABIC, HEBREW]
    columns = inked_columns(made, 0.5, 1)
    margin = (210 / 2 - 18) / 25.4 * 72 * 4
    assert margin - 8 < columns[-1] <= margin


@pytest.mark.parametrize("between", ["." * 1000, "\n" * 1000, "\t" * 1000, "#" * 3900, "]" * 3900])
def test_many_characters_without_a_direction_are_printed(tmp_path: Path, between: str) -> None:
    entries = [Entry("Before", note=f"{start}{between}y") for start in ("x", "א")]
    made = draw(content(*entries, Entry("After")), {}, tmp_path)
    assert "After" in text_of(made)


MIXED = "aאا1٢.,+%#()[]\u2329\u3009 \t\n\u0301\u200b\u2066\u2067\u2068\u2069\u202a\u202b\u202c\u202d\u202e"


@given(st.text(MIXED, min_size=1, max_size=40), st.sampled_from([TextDirection.LTR, TextDirection.RTL]))
def test_directions_are_those_of_the_library(text: str, direction: TextDirection) -> None:
    def levels(run: type[bidi.IsolatingRun]) -> list[tuple[str, int]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bidi, "IsolatingRun", run)
            paragraph = bidi.BidiParagraph(text, direction, preserve_bn_chars=True)
        return [(one.bidi_class, one.embedding_level) for one in paragraph.characters]

    assert levels(LinearRun) == levels(LinearRun.__base__)


def test_arabic_letters_are_joined(tmp_path: Path) -> None:
    def pieces(text: str) -> int:
        columns = inked_columns(draw(content(Entry("x", value=text)), {}, tmp_path), 0.6, 1)
        return 1 + sum(after - before > 1 for before, after in pairwise(columns))

    assert (pieces("ب\u200cب\u200cب"), pieces("ببب")) == (3, 1)


def test_each_region_has_its_own_form_of_a_shared_character(tmp_path: Path) -> None:
    texts = ["直はひらがな", "这直", "這直體"]
    case = FontCase.of(texts)
    faces = [next(name for name in case.order(text) if name.startswith("CJK")) for text in texts]
    assert faces == ["CJKJP", "CJKSC", "CJKTC"]


def test_the_largest_run_fits_within_the_bounds(tmp_path: Path) -> None:
    """500 steps with 200 photos, which are as small as they are printed, and fewer than a worker may hold."""
    file = tmp_path / "photo.jpg"
    file.write_bytes(picture(size=(3000, 2000)))
    small = worker.small(file)
    assert max(small[1:]) == worker.SIDE
    entries = [
        Entry(f"Step {number}", value="word " * 10, images=[Image("key", "A caption")] * (number < 200))
        for number in range(500)
    ]
    pdf = draw(content(*entries), {"key": small}, tmp_path)
    document = pypdfium2.PdfDocument(pdf)
    assert f"Page {len(document)} of {len(document)}" in document[len(document) - 1].get_textpage().get_text_range()
    assert "Step 499" in text_of(pdf)
