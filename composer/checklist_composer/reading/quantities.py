"""Numbers in a sentence: with their unit, and with what is said about how large or small they may be."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ..language import Language, fold
from .words import Span, remembered

_MAX_UNIT_WORDS: Final = 4
_MAX_NUMBER_WORDS: Final = 4
_MAX_NUMBER: Final = 1e12
_OPPOSITE: Final[Mapping[str | None, str]] = {"above": "at_most", "below": "at_least"}
"""`no supera los 50 lux`, `n'excède pas`: what is not above is at most."""
_BY_CAPITALS: Final = {"kn": ("kn", "speed"), "kt": ("kn", "speed")}
"""Units that others differ from by their capitals only: knots, and kilonewtons."""
_DEGREES: Final = {"c": "°C", "f": "°F"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number and its unit, with the positions that they take in their span."""

    value: float
    unit: str | None
    kind: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a span says about a quantity; `start` and `end` are all that says it."""

    minimum: float | None
    maximum: float | None
    unit: str | None
    kind: str | None
    start: int
    end: int


def number_at(span: Span, position: int) -> tuple[float, int] | None:
    """The number that begins here, in digits or as a word, and the position behind it."""
    if not 0 <= position < len(span):
        return None
    token = span[position]
    sign = 1.0
    if token.text in "-−–" and position + 1 < len(span) and span[position + 1].is_number:
        before = span[position - 1] if position else None
        if (before is not None and before.is_number) or span[position + 1].start != token.end:
            return None
        sign, position, token = -1.0, position + 1, span[position + 1]
    if (length := span.at("minus", position)) and not _within_bound(span, position):
        position += length
        if position >= len(span) or not span[position].is_number:
            return None
        sign, token = -1.0, span[position]
    if token.is_number:
        value = _value(token.key, span.words.language)
        return None if value is None or value > _MAX_NUMBER else (sign * value, position + 1)
    return _number_word(span, position)


def _within_bound(span: Span, position: int) -> bool:
    """Whether the word belongs to `plus or minus`, `au moins`."""
    return any(
        span.at(role, position - back) > back
        for role in ("at_least", "at_most", "below", "above", "tolerance")
        for back in range(1, min(4, position) + 1)
    )


def _number_word(span: Span, position: int) -> tuple[float, int] | None:
    """A number in words: `three`, `one and a half`; an article (`an hour`) only in front of a unit."""
    if span.key(position) not in span.words.language.number_starts:
        return None
    place = span.index[position]
    if place not in span.words.spoken:
        span.words.spoken[place] = _spoken(span.words.span(), place)
    found = span.words.spoken[place]
    if found is None:
        return None
    value, length = found
    whole = position + length <= len(span) and span.index[position + length - 1] == place + length - 1
    return (value, position + length) if whole else None


def _spoken(span: Span, position: int) -> tuple[float, int] | None:
    """The number in words that begins at a word of the whole text, and how many words it has."""
    numbers = span.words.language.numbers
    for length in range(min(_MAX_NUMBER_WORDS, len(span) - position), 0, -1):
        words = " ".join([span.key(position + offset) for offset in range(length)])
        if words in numbers:
            if length == 1 and span.at("article", position) and not unit_at(span, position + 1):
                continue
            return numbers[words], length
    return None


def _value(text: str, language: Language) -> float | None:
    if ":" in text:
        return None
    comma, dot = text.rfind(","), text.rfind(".")
    if comma >= 0 and dot >= 0:
        decimal = "," if comma > dot else "."
    elif comma < 0 and dot < 0:
        decimal = "."
    else:
        mark = "," if comma >= 0 else "."
        tail = text.rpartition(mark)[2]
        thousands = (mark == ",") != language.decimal_comma and len(tail) == 3 and not text.startswith("0")
        decimal = "" if thousands or text.count(mark) > 1 else mark
    digits = "".join(
        "." if character == decimal else character
        for character in text
        if character == decimal or character not in ",."
    )
    try:
        return float(digits)
    except ValueError:
        return None


def unit_at(span: Span, position: int) -> tuple[str, str, int] | None:
    """The unit that begins here, its kind and the position behind it. Spellings of more words win."""
    if position < 0 or not span[position].may_measure:
        return None
    units = span.words.language.units
    for length in range(min(_MAX_UNIT_WORDS, len(span) - position), 0, -1):
        piece = span.sub(position, position + length)
        if piece.text in _BY_CAPITALS:
            return (*_BY_CAPITALS[piece.text], position + length)
        if found := units.get(fold(piece.text)):
            return (*found, position + length)
    return None


def amount_at(span: Span, position: int) -> Amount | None:
    """The number that begins here with its unit, if it has one."""
    number = number_at(span, position)
    if number is None:
        return None
    value, end = number
    unit = unit_at(span, end) if end < len(span) else None
    if (
        unit
        and unit[0] in {"in", "s", "t", "g", "m", "h", "K", "N", "A", "W", "V", "l"}
        and not _is_unit_letter(span, end)
    ):
        unit = None
    if unit is None:
        if end < len(span) and span.key(end) in _DEGREES and _is_degree(span, end):
            return Amount(value, _DEGREES[span.key(end)], "temperature", position, end + 1)  # 121c
        return Amount(value, None, None, position, end)
    return Amount(value, unit[0], unit[1], position, unit[2])


def _is_degree(span: Span, position: int) -> bool:
    """`121c`, `max 5 C`: the letter is written to the number, or a capital behind which nothing is said."""
    if span[position].start == span[position - 1].end:
        return True
    return span[position].text.isupper() and not span[position + 1].is_word and not span[position + 1].is_number


def _is_unit_letter(span: Span, position: int) -> bool:
    # `2 in the kitchen` is no length, `5 a day` no current; full words are.
    text = span[position].text
    if text == "in":
        following = span.sub(position + 1, position + 2)
        return not len(following) or not following[0].is_word
    return len(text) > 1 or text in "sgmhlLKNAWVt"


@remembered
def refers_to_steps(span: Span, position: int) -> bool:
    """`repeat steps 3 to 5`: a number behind `steps`, in a sentence with something to do, counts nothing."""
    if "step_word" not in span.words.where or not span.has("again"):
        return False
    if position >= 2 and span[position - 1].text != "," and span.any_at(("to", "and"), position - 1):
        position -= 2
    return position > 0 and span.at("step_word", position - 1) == 1


def bounds_in(span: Span, start: int = 0) -> Bounds | None:
    """The first quantity of a span with all that is said about its size; a number without word or unit is none."""
    return _bounds_in(span, start) if span.words.counting else None


@remembered
def _bounds_in(span: Span, start: int) -> Bounds | None:
    for position in span.counting(start):
        amount = amount_at(span, position)
        if amount is None or refers_to_steps(span, position):
            continue
        found = _bounds_around(span, amount)
        if found is not None:
            return _with_last_word(span, found)
    return None


def _with_last_word(span: Span, bounds: Bounds) -> Bounds:
    """`muss unter 5 °C sein`, `wenn sie über 8 °C liegt`: where verbs come last, one belongs to the quantity."""
    end = bounds.end
    while span.words.language.verb_last and end < len(span) and (length := span.at("be", end)):
        end += length
    return replace(bounds, end=end)


def _bounds_around(span: Span, amount: Amount) -> Bounds | None:
    if found := _range(span, amount):
        return found
    start, word = _word_before(span, amount.start)
    end, value = amount.end, amount.value
    minimum = maximum = None
    if word == "tolerance":
        return None
    if word in {"at_least", "above"}:
        minimum = value
    elif word in {"at_most", "below"}:
        maximum = value
    elif length := span.at("tolerance", amount.end):
        spread = amount_at(span, amount.end + length)
        if spread is not None:
            unit, kind = (amount.unit, amount.kind) if amount.unit else (spread.unit, spread.kind)
            width = spread.value
            if spread.unit == "%" and amount.unit not in {None, "%"}:
                width = abs(value) * spread.value / 100  # `230 V ± 10 %`
            low, high = _rounded(value - width), _rounded(value + width)
            return Bounds(low, high, unit, kind, start, spread.end)
    following = span.at("after_number_least", end) or span.at("after_number_most", end)
    if following and number_at(span, end + following):
        pass  # `fridge 1 max 5 °C`: the word belongs to the next number
    elif length := span.at("after_number_least", end):
        minimum, maximum, end = value, None, end + length
    elif length := span.at("after_number_most", end):
        minimum, maximum, end = None, value, end + length
    if minimum is None and maximum is None and amount.unit is None:
        return None
    return _second(span, Bounds(minimum, maximum, amount.unit, amount.kind, start, end))


def _second(span: Span, first: Bounds) -> Bounds:
    """`at least 2 and at most 5`: the other end."""
    position = first.end
    while position < len(span) and (span.at("and", position) or span[position].text == ","):
        position += max(1, span.at("and", position))
    for role, is_min in (("at_least", True), ("above", True), ("at_most", False), ("below", False)):
        if length := span.at(role, position):
            amount = amount_at(span, position + length)
            if amount is None or (amount.unit and first.unit and amount.unit != first.unit):
                continue
            if amount.end < len(span) and amount.unit is None and first.unit and span[amount.end].is_word:
                continue
            unit, kind = (first.unit, first.kind) if first.unit else (amount.unit, amount.kind)
            if is_min and first.minimum is None and (first.maximum is None or first.maximum >= amount.value):
                return Bounds(amount.value, first.maximum, unit, kind, first.start, amount.end)
            if not is_min and first.maximum is None and (first.minimum is None or first.minimum <= amount.value):
                return Bounds(first.minimum, amount.value, unit, kind, first.start, amount.end)
    return first


def _range(span: Span, amount: Amount) -> Bounds | None:
    length = span.at("to", amount.end)
    if not length and amount.end < len(span) and span[amount.end].text in "-–—":
        length = 1
    if not length:
        return None
    connector = span[amount.end]
    other = amount_at(span, amount.end + length)
    if other is None or other.value < amount.value:
        return None
    start, between = amount.start, False
    for back in (3, 2, 1):
        if span.at("between", amount.start - back) == back:
            start, between = amount.start - back, True
            break
    if connector.is_word and span.at("and", amount.end) and not between:
        return None
    unit, kind = (other.unit, other.kind) if other.unit else (amount.unit, amount.kind)
    if unit is None and not between and span.at("and", amount.end):
        return None
    start = _with_should_be(span, start)
    return Bounds(amount.value, other.value, unit, kind, start, other.end)


def _word_before(span: Span, position: int) -> tuple[int, str | None]:
    """Where the words about the number begin, and the role of the one that bounds it."""
    role: str | None = None
    start = position
    for name in ("about", "at_least", "at_most", "below", "above", "tolerance"):
        if name not in span.words.where:
            continue
        for back in range(min(5, start), 0, -1):
            if span.at(name, start - back) == back:
                start -= back
                role = name if name != "about" else role
                break
        if role:
            break
    if role in _OPPOSITE and span.at("not", start - 1) == 1:
        start, role = start - 1, _OPPOSITE[role]
    start = _with_should_be(span, start)
    return start, role


def _with_should_be(span: Span, position: int) -> int:
    roles = [role for role in ("should_be", "about") if role in span.words.where]
    moved = bool(roles)
    while moved:
        moved = False
        for role in roles:
            for back in range(min(4, position), 0, -1):
                if span.at(role, position - back) == back and not (
                    span.at("and", position - back) == back
                    and position - back > 0
                    and span.sub(0, position - back).has("photo")
                ):
                    position -= back
                    moved = True
                    break
    return position


def _rounded(value: float) -> float:
    return round(value, 6)
