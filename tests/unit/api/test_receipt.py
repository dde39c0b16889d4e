"""The receipt in five languages: its words are those of the app, its formats fit the language, Arabic is mirrored."""

import re
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pypdfium2
import pytest

from checklist_api.executor.page_texts import LANGUAGES
from checklist_api.executor.receipt.texts import RECEIPT_TEXTS, AnswerText, ReceiptTexts
from checklist_api.exports.pdf.content import Entry, Group, Image, PdfContent, Style
from checklist_api.exports.pdf.drawing import draw
from checklist_api.exports.pdf.fonts import FontCase
from checklist_crds.resources.template_definition import Step
from checklist_crds.templates.answers import display_value, expected_text
from checklist_dev.repository import ROOT

APP_TEXTS = {
    "receipt": "done.receipt",
    "sender": "checklist.sent_by",
    "submitted": "done.completed_at",
    "answers": "done.answers",
    "photos": "done.photos",
    "run_id": "done.run_id",
    "digest": "done.digest",
    "signature": "signature.title",
    "skipped": "checklist.skipped",
    "not_answered": "review.not_answered",
    "flagged": "flag.title",
    "expected": "flag.expected",
    "accuracy": "geo.accuracy",
    "accuracy_km": "geo.accuracy_km",
    "yes": "app.yes",
    "no": "app.no",
    "none": "app.none",
    "rating": "rating.value",
    "rating_labelled": "rating.value_labelled",
    "signed": "signature.signed_by",
    "between": "flag.range",
    "at_least": "number.at_least",
    "at_most": "number.at_most",
}
every_language = pytest.mark.parametrize("language", RECEIPT_TEXTS)


def app_texts(language: str) -> dict[str, str]:
    """The texts of the app's catalogue without plural forms."""
    source = (ROOT / f"api/web/kit/i18n/{language}.ts").read_text("utf-8")
    found = dict(re.findall(r'^  "([\w.]+)":\s*"((?:[^"\\]|\\.)*)",$', source, re.MULTILINE))
    return {key: re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text) for key, text in found.items()}


def texts_of(texts: ReceiptTexts) -> list[str]:
    values = [getattr(texts, member.name) for member in fields(texts)]
    forms = [form for value in values if isinstance(value, dict) for form in value.values()]
    return [value for value in values if isinstance(value, str)] + forms


def plain(text: str) -> str:
    """Without marks of direction, and with common spaces."""
    return text.replace("\u2068", "").replace("\u2069", "").replace("\u00a0", " ")


def words_of(language: str, zone: str = "UTC") -> AnswerText:
    return AnswerText(RECEIPT_TEXTS[language], ZoneInfo(zone))


def step_of(kind: str, **config: object) -> Step:
    return Step.model_validate({"id": "s-a", "type": kind, "label": "A", "config": config})


def test_there_is_one_for_each_language_of_the_page() -> None:
    assert list(RECEIPT_TEXTS) == list(LANGUAGES)
    assert [name for name, texts in RECEIPT_TEXTS.items() if texts.is_right_to_left] == ["ar"]


@every_language
def test_the_words_are_those_of_the_app_and_each_can_be_printed(language: str) -> None:
    texts, app = RECEIPT_TEXTS[language], app_texts(language)
    assert {name: plain(getattr(texts, name)) for name in APP_TEXTS} == {
        name: plain(app[key]) for name, key in APP_TEXTS.items()
    }
    case = FontCase.of(texts_of(texts))
    for text in texts_of(texts):
        case.clean(text)
    assert case.missing == set()
    assert texts.page.encode("latin-1")


@pytest.mark.parametrize(
    ("language", "number", "moment", "day", "rating"),
    [
        ("en", "-1,234.50 kg", "1 February 2026, 00:30 (UTC+1)", "7 March 2026", "5 of 5: Ω"),
        ("de", "-1.234,50 kg", "01.02.2026, 00:30 (UTC+1)", "07.03.2026", "5 von 5: Ω"),
        ("es", "-1234,50 kg", "01/02/2026, 00:30 (UTC+1)", "07/03/2026", "5 de 5: Ω"),
        ("fr", "-1\u202f234,50 kg", "01/02/2026, 00:30 (UTC+1)", "07/03/2026", "5 sur 5 : Ω"),
        ("ar", "-1,234.50 kg", "01/02/2026، 00:30 (UTC+1)", "07/03/2026", "5 من 5: Ω"),
    ],
)
def test_answers_have_the_formats_of_the_language(
    language: str, number: str, moment: str, day: str, rating: str
) -> None:
    words = words_of(language, "Europe/Berlin")
    assert display_value(step_of("number", unit="kg", decimal=2), -1234.5, words) == number
    assert display_value(step_of("datetime"), "2026-01-31T23:30:00.000Z", words) == moment
    assert display_value(step_of("date"), "2026-03-07", words) == day
    assert plain(display_value(step_of("rating", high_label="Ω"), 5, words)) == rating
    assert display_value(step_of("multi_choice", options=[{"id": "o-a", "label": "A"}]), [], words) == words.none
    assert display_value(step_of("boolean", false_label="Dirty"), False, words) == "Dirty"


@pytest.mark.parametrize(
    ("zone", "name"),
    [("UTC", "UTC"), ("Asia/Kolkata", "UTC+5:30"), ("America/St_Johns", "UTC-3:30"), ("Asia/Tokyo", "UTC+9")],
)
def test_a_time_names_its_zone(zone: str, name: str) -> None:
    assert words_of("en", zone).moment(datetime(2026, 1, 31, 12, tzinfo=UTC)).endswith(f" ({name})")


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_a_moment_at_the_end_of_the_calendar_is_printed_in_utc(moment: datetime) -> None:
    for zone in ("Asia/Tokyo", "America/New_York"):
        assert words_of("en", zone).moment(moment.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("language", "days", "text"),
    [
        (
            "en",
            {"not_before": -1, "not_after": 30},
            "not before 1 day before the answer, not after 30 days after the answer",
        ),
        ("de", {"not_before": 0}, "nicht vor dem Tag der Antwort"),
        ("ar", {"not_before": -2}, "ليس قبل يومين قبل الإجابة"),
        ("ar", {"not_after": 5}, "ليس بعد 5 أيام بعد الإجابة"),
        ("ar", {"not_after": 30}, "ليس بعد 30 يومًا بعد الإجابة"),
    ],
)
def test_expected_days_count_in_the_language(language: str, days: dict[str, int], text: str) -> None:
    assert plain(expected_text(step_of("date", expected=days), words_of(language))) == text


def test_a_name_of_the_other_direction_does_not_reorder_the_sentence() -> None:
    english, arabic = RECEIPT_TEXTS["en"], RECEIPT_TEXTS["ar"]
    assert english.insert(english.sender, sender="Ada") == "From Ada"
    assert english.insert(english.sender, sender="سارة") == "From \u2068سارة\u2069"
    assert arabic.insert(arabic.expected, expected="5 °C") == "المتوقع: \u20685 °C\u2069"


def page_of(folder: Path, *, mirrored: bool) -> pypdfium2.PdfPage:
    texts = RECEIPT_TEXTS["ar" if mirrored else "en"]
    style = Style(language=texts.language, is_right_to_left=mirrored, pictures_in_a_row=4, page=texts.page)
    entries = [Entry("Fridge", value="4.5", images=[Image("gone", "")])]
    content = PdfContent(
        run_id="r-0b7c3c4e-6a52-4a5b-8d5e-0c8f6d1c2a11",
        title="Check",
        sender="",
        status=texts.receipt,
        facts=[[texts.answers, "10"], [texts.run_id, "1 2"]],
        groups=[Group("All", entries)],
        digests=[],
        explained="",
        last_changed="2026-11-21T13:50:00+00:00",
        style=style,
    )
    return pypdfium2.PdfDocument(draw(content, {}, folder))[0]


def side_of(page: pypdfium2.PdfPage, text: str) -> str:
    """The half of the page in which the middle of the text is."""
    reader = page.get_textpage()
    found = reader.search(text).get_next()
    assert found is not None, text
    left, _, right, _ = reader.get_charbox(found[0])
    return "left" if (left + right) / 2 < page.get_width() / 2 else "right"


def test_an_arabic_receipt_is_mirrored_and_an_english_one_is_not(tmp_path: Path) -> None:
    for mirrored in (False, True):
        page = page_of(tmp_path, mirrored=mirrored)
        start, end = ("right", "left") if mirrored else ("left", "right")
        for text in ("Check", "All", "Fridge", "4.5", "10"):
            assert side_of(page, text) == start, (mirrored, text)
        foot = "1 / 1" if mirrored else "Page 1 of 1"
        assert side_of(page, foot) == end


def test_a_value_after_arabic_words_has_its_own_size(tmp_path: Path) -> None:
    """It was printed in the size of an earlier text, so that its letters overlapped."""
    page = page_of(tmp_path, mirrored=True)
    objects = page.get_objects([pypdfium2.raw.FPDF_PAGEOBJ_TEXT], textpage=page.get_textpage())
    assert [each.get_font_size() for each in objects if each.extract().strip() == "10"] == [9]
