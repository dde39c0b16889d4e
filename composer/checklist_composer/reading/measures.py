"""Steps that take a number: measured, counted, read off."""

from typing import Final

from rapidfuzz.fuzz import partial_ratio

from checklist_crds.template_types import StepType

from ..draft import DraftStep
from ..language import fold
from ..naming import label_of
from .asks import Ask, subject_of
from .quantities import Bounds, bounds_in, unit_at
from .tasks import task_at
from .words import Span

_BOUNDED: Final = ("below", "above", "at_least", "at_most", "between")
_MEASURED: Final = frozenset({"measure", "count", "how_much"})
_SEEN: Final = frozenset({"check", "confirm", "measure", "record", ""})
_FEW_WORDS: Final = 6
_WRITTEN_UNITS: Final = frozenset(
    {"kg", "km", "cm", "mm", "bar", "ppm", "mbar", "psi", "mg", "ml", "kwh", "rpm", "db", "hpa", "kpa"}
)
"""Signs of units that are no word of any language."""
_LIKE: Final = 85
_COUNTED_UNITS: Final = frozenset({"length", "volume", "weight", "energy"})
_SO: Final = ("participle", "state", "recorded")
_CELSIUS: Final = ("celsius", "°c", "º c", "ºc", "centigrade", "deg c", "grados c")
_SYMBOLS: Final = frozenset({"km", "kg", "kwh", "ml"})
_SPELLED_OUT: Final = 4
"""Letters of a unit that is a word."""


def number_step(ask: Ask) -> DraftStep | None:
    """The number that a clause asks for, with unit and bounds, or None."""
    span = ask.span
    if span.at("question") and (not span.has(*_BOUNDED) or _asks_whether(span)):
        return None
    if ask.task == "act" and not span.has(*_BOUNDED, "number_noun", "count", "how_much"):
        return None
    if span.at("what_time"):
        return None
    counted = (ask.task == "count" or span.has("count", "how_much")) and not _names_number(span)
    asks = counted or span.has("number_noun") or ask.task in _MEASURED
    bounds = bounds_in(span)
    if bounds is not None and _is_size(ask, bounds, asks=asks):
        return _with_bounds(ask, bounds)
    mention = _unit_mention(span)
    if mention is not None:
        head, unit, kind = mention
        return ask.step(StepType.NUMBER, _label(ask, head, kind), unit=unit, subject=subject_of(head).text)
    if ask.task in {"record", "measure", "count", ""} and (noun := _unit_noun(span) or _unit_said(span)) is not None:
        return ask.step(StepType.NUMBER, unit=noun, minimum=0.0)
    if ask.task in {"", "act"} and span.at("counted", len(span) - 1) and len(span) > 1:
        return ask.step(StepType.NUMBER, minimum=0.0, decimal=0)  # `chairs counted`
    if counted and ask.task not in {"check", "confirm", "act"}:
        whole = span.has("count")
        return ask.step(StepType.NUMBER, minimum=0.0, decimal=0 if whole else None)
    if (ask.task == "measure" and not _is_noted(span)) or _asks_number(ask):
        return ask.step(StepType.NUMBER)
    return None


def _is_noted(span: Span) -> bool:
    """`relever la parcelle`: a verb for both reading off and writing down, of something that is no number."""
    return span.at("record") == span.at("measure") > 0 and not span.has("number_noun")


def _asks_whether(span: Span) -> bool:
    """`Does the door close within 10 seconds?` asks for yes or no; `is the fridge below 5 °C?` is read off."""
    bounds = bounds_in(span)
    return bounds is not None and bounds.kind == "duration" and not span.has("how_much", "duration_noun")


def _names_number(span: Span) -> bool:
    """`número de lote`: what one writes down, not how many there are."""
    found = span.find("count")
    return found is not None and any(
        span.at(role, position) > found[1] - position
        for role in ("name_noun", "serial_noun")
        for position in range(found[0], found[1])
    )


def _is_size(ask: Ask, bounds: Bounds, *, asks: bool) -> bool:
    """Whether the number is what is asked for, and not said by the way."""
    span = ask.span
    bounded = bounds.minimum is not None or bounds.maximum is not None
    if span.sub(0, bounds.start).at("not") and not asks:
        return False  # `no people within 50 m`
    if bounds.unit is None:
        asks = asks or _unit_mention(span.without(bounds.start, bounds.end)) is not None
        tail = span.sub(bounds.end).stripped(")] .,")
        if bounded and bounds.start and not len(tail) and ask.task in _SEEN:
            return True  # `satellites at least 10`
        both = bounds.minimum is not None and bounds.maximum is not None
        if both and not asks and tail.has("be", "state", "good", "bad", "participle"):
            return False  # `doors 1-4 open and close`
        return asks or (both and ask.task != "act" and bounds.maximum != bounds.minimum)
    if bounds.kind in {"duration", "data", "money", "length", "area"}:
        return asks or (bounded and ask.task in _SEEN) or (ask.task == "" and span.at("duration_noun") > 0)
    enclosed = bounds.start > 0 and span[bounds.start - 1].text == "("
    return asks or bounded or (ask.task in _SEEN and not (enclosed and len(span) > _FEW_WORDS))


def _asks_number(ask: Ask) -> bool:
    span = ask.span
    noun = span.find("number_noun")
    if noun is None or span.at("question") or ask.task not in _SEEN:
        return False
    if span.has("be") or span.has("good", "bad"):
        return span.has("recorded")
    return ask.task in {"measure", "record"} or len(span) <= _FEW_WORDS


def _unit_mention(span: Span) -> tuple[Span, str, str] | None:
    """As `_mention`; the degrees of an angle are those of a circle."""
    found = _mention(span)
    if found is None or found[1] != "°C" or not span.has("angle_noun"):
        return found
    said = fold(span.text)
    return found if any(name in said for name in _CELSIUS) else (found[0], "°", "angle")


def _mention(span: Span) -> tuple[Span, str, str] | None:
    """`temperature in °C`, `pressure (bar)`, `till (amount in €)`, `pressure: ___ mbar`."""
    for position in span.units(1):
        unit = unit_at(span, position)
        if unit is None:
            continue
        end = unit[2]
        if span[position - 1].text in "([" and end < len(span) and span[end].text in ")]":
            return span.without(position - 1, end + 1), unit[0], unit[1]
        before = span.at("in_unit", position - 1)
        opening = next((i for i in range(position - 1, max(-1, position - 5), -1) if span[i].text in "(["), None)
        if before and opening is not None and end < len(span) and span[end].text in ")]":
            return span.without(opening, end + 1), unit[0], unit[1]
        if (
            before
            and (unit[1] != "duration" or span.sub(0, position).has("duration_noun"))
            and (end == len(span) or span[end].text in ",;(?")
            and not span[position].is_number
        ):
            return span.without(position - 1, end).stripped(), unit[0], unit[1]
        if end == len(span) and span[position - 1].text in ":=," and position > 1:
            return span.sub(0, position - 1), unit[0], unit[1]
        symbol = not span[position].is_word and not span[position].is_number
        if end == len(span) == position + 1 and span.has("number_noun") and span[position].key in _WRITTEN_UNITS:
            return span.sub(0, position), unit[0], unit[1]  # `gewicht kg`
        if end == len(span) and symbol and span[position - 1].is_word:
            return span.sub(0, position), unit[0], unit[1]  # `diesel %`
    return None


def _unit_noun(span: Span) -> str | None:
    """`note the litres of milk`, `hours`: the unit is the noun."""
    if span.has("time_noun", "time_type", "datetime_noun"):
        return None  # `la hora`
    length = task_at(span)[1]
    length += span.at("article", length)
    unit = unit_at(span, length)
    if unit is None or len(span.sub(length, unit[2]).text) < _SPELLED_OUT:
        return None
    return unit[0] if unit[2] == len(span) or span.at("of", unit[2]) else None


def _is_counted(span: Span) -> bool:
    """`Km parcourus`: a symbol, and one word about it."""
    return span.any_at(_SO, len(span) - 1) > 0 or (span[0].text.casefold() in _SYMBOLS and span[1].is_word)


def _unit_said(span: Span) -> str | None:
    """`km`, `Km parcourus`, `pump hours noted`: a unit alone, with how it came to be, or written down."""
    unit = unit_at(span, 0)
    behind = len(span) - unit[2] if unit is not None else 0
    if unit is not None and unit[1] in _COUNTED_UNITS and (not behind or (behind == 1 and _is_counted(span))):
        return unit[0]
    noted = span.find("recorded", 1)
    if noted is None or noted[1] != len(span):
        return None
    unit = unit_at(span, noted[0] - 1)
    return unit[0] if unit is not None and len(span[noted[0] - 1].text) >= _SPELLED_OUT else None


def _with_bounds(ask: Ask, bounds: Bounds) -> DraftStep:
    span = ask.span
    start, end = bounds.start, bounds.end
    if start and span[start - 1].text in "([" and end < len(span) and span[end].text in ")]":
        start, end = start - 1, end + 1
    rest = span.without(start, end).stripped(",.;:!–—-= ")
    unit, kind = bounds.unit, bounds.kind
    if unit is None and (mention := _unit_mention(rest)):
        rest, unit, kind = mention
    for position in range(len(rest) - 1, 0, -1):
        if rest[position].text in ")]" and rest[position - 1].text in ",;":
            rest = rest.without(position - 1, position)  # `(gap in mm, at most 3)`
    rest = rest.stripped(",.;:!–—-()[]= ")
    while len(rest) > 1 and (
        rest.any_at(("pronoun", "be", "modal", "allowed"), len(rest) - 1) == 1 or rest[len(rest) - 1].text in ",:"
    ):
        rest = rest.sub(0, len(rest) - 1)
    label = _label(ask, rest, kind) or label_of(span.text)
    step = ask.step(StepType.NUMBER, label, unit=unit, minimum=bounds.minimum, maximum=bounds.maximum)
    step.subject = subject_of(rest).text
    said = _without_should_be(span.sub(bounds.start, bounds.end))
    if bounds.minimum is None and bounds.maximum is None:
        step.hint = span.words.language.texts["expected"].format(bounds=said)
    else:
        step.hint = said[:1].upper() + said[1:]
    ends = [bound for bound in (bounds.minimum, bounds.maximum) if bound is not None]
    if span.has("count") and unit is None and all(map(float.is_integer, ends)):
        step.decimal = 0
        step.minimum = 0.0 if step.minimum is None else step.minimum
    return step


def _without_should_be(span: Span) -> str:
    while len(span) > 1 and (length := span.at("should_be")) and not span.any_at(("at_least", "at_most", "not")):
        span = span.sub(length)
    return span.text


def _is_said(noun: str, text: str) -> bool:
    """Whether the noun is in the text, typing errors included."""
    return partial_ratio(noun.casefold(), text.casefold()) >= _LIKE


def _label(ask: Ask, span: Span, kind: str | None) -> str:
    """The words; where they do not say what is measured, with the noun of the quantity: `Fridge temperature`."""
    language = span.words.language
    noun = language.quantities.get(kind or "", "")
    if span.has("number_noun", "count", "how_much") or not noun or _is_said(noun, span.text):
        return ask.label(span)
    subject = subject_of(span)
    if not len(subject) or subject.at("pronoun") == len(subject):
        return label_of(noun)
    if ask.task == "act":
        return ask.label(span)
    return label_of(language.texts["kind_of"].format(subject=subject.text, kind=noun))
