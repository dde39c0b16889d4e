"""Texts of the receipt in one language, read from `texts.yaml`, and the formats of answers in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import date as calendar_date
from typing import Final

from checklist_crds.step_types.display_text import DisplayText

from ..page_texts import plural_category, read_texts

_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_RIGHT_TO_LEFT: Final = (("\u0590", "\u08ff"), ("\ufb1d", "\ufdff"), ("\ufe70", "\ufeff"))
"""Blocks of right-to-left scripts."""


@dataclass(frozen=True, slots=True)
class ReceiptTexts:
    """The texts of one language; `texts.yaml` describes the members."""

    language: str
    receipt: str
    sender: str
    submitted: str
    answered_by: str
    answers: str
    photos: str
    run_id: str
    digest: str
    explained: str
    signature: str
    signed_by: str
    skipped: str
    not_answered: str
    flagged: str
    expected: str
    note: str
    photo: str
    accuracy: str
    accuracy_km: str
    more_images: Mapping[str, str]
    page: str
    missing_image: str
    missing_characters: str
    yes: str
    no: str
    none: str
    comma: str
    rating: str
    rating_labelled: str
    signed: str
    between: str
    at_least: str
    at_most: str
    not_before: str
    not_after: str
    day_of_answer: str
    before_answer: Mapping[str, str]
    after_answer: Mapping[str, str]
    decimal: str
    group: str
    grouped_from: int
    date: str
    moment: str
    is_right_to_left: bool = False

    def insert(self, text: str, **parameters: str) -> str:
        """Insert names and labels. One of the other direction is isolated, so that it does not reorder the sentence."""
        return text.format(**{name: self.isolated(value) for name, value in parameters.items()})

    def counted(self, forms: Mapping[str, str], count: int) -> str:
        return forms[plural_category(self.language, count)].format(count=count)

    def isolated(self, text: str) -> str:
        """Mark a text that may have another direction than its surroundings."""
        needs_it = self.is_right_to_left or any(low <= each <= high for each in text for low, high in _RIGHT_TO_LEFT)
        return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}" if needs_it else text


class AnswerText(DisplayText):
    """Formats answers in the person's language and time zone."""

    def __init__(self, texts: ReceiptTexts, zone: tzinfo = UTC) -> None:
        self.texts = texts
        self.yes, self.no, self.none = texts.yes, texts.no, texts.none
        self._zone = zone

    def number(self, plain: str) -> str:
        sign = "-" if plain.startswith("-") else ""
        whole, _, decimals = plain.removeprefix("-").partition(".")
        if whole.isdigit() and len(whole) >= self.texts.grouped_from:
            whole = f"{int(whole):,}".replace(",", self.texts.group)
        return f"{sign}{whole}{self.texts.decimal}{decimals}" if decimals else f"{sign}{whole}"

    def items(self, items: Sequence[str]) -> str:
        return self.texts.comma.join(self.texts.isolated(item) for item in items)

    def rating(self, value: int, highest: int, label: str | None) -> str:
        text = self.texts.rating_labelled if label else self.texts.rating
        return self.texts.insert(text, value=self.number(str(value)), max=self.number(str(highest)), label=label or "")

    def date(self, text: str) -> str:
        try:
            return self.day(calendar_date.fromisoformat(text))
        except ValueError:
            return text

    def day(self, day: calendar_date) -> str:
        return day.strftime(self.texts.date).replace("{day}", str(day.day))

    def moment(self, moment: datetime) -> str:
        moment = self.local(moment)
        time, zone = moment.strftime("%H:%M"), _zone_name(moment.utcoffset() or timedelta())
        return self.texts.moment.format(date=self.day(moment.date()), time=time, zone=zone)

    def local(self, moment: datetime) -> datetime:
        try:
            return moment.astimezone(self._zone)
        except OverflowError:  # in the first or last year of the calendar
            return moment.astimezone(UTC)

    def signed_by(self, name: str) -> str:
        return self.texts.insert(self.texts.signed, name=name)

    def between(self, low: str, high: str) -> str:
        return self.texts.insert(self.texts.between, min=low, max=high)

    def at_least(self, low: str) -> str:
        return self.texts.insert(self.texts.at_least, min=low)

    def at_most(self, high: str) -> str:
        return self.texts.insert(self.texts.at_most, max=high)

    def not_before(self, days: int) -> str:
        return self.texts.not_before.format(day=self._days(days))

    def not_after(self, days: int) -> str:
        return self.texts.not_after.format(day=self._days(days))

    def _days(self, days: int) -> str:
        if days == 0:
            return self.texts.day_of_answer
        return self.texts.counted(self.texts.after_answer if days > 0 else self.texts.before_answer, abs(days))


def _zone_name(offset: timedelta) -> str:
    """`UTC`, `UTC+1`, `UTC-3:30`."""
    minutes = round(offset / timedelta(minutes=1))
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return "UTC" if minutes == 0 else f"UTC{sign}{hours}" + (f":{rest:02}" if rest else "")


RECEIPT_TEXTS: Final[Mapping[str, ReceiptTexts]] = read_texts(ReceiptTexts, __package__, "texts.yaml")
