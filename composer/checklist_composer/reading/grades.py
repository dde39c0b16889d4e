"""Ratings: between which grades, and what their ends mean."""

from dataclasses import dataclass
from typing import Final

from .quantities import number_at, refers_to_steps, unit_at
from .words import Span, remembered

_MAX_GRADE: Final = 10
_MAX_RATED: Final = 100


@dataclass(slots=True)
class Grades:
    """The span without what says the grades."""

    head: Span
    low: int
    high: int
    low_label: str | None = None
    high_label: str | None = None


@remembered
def grades_in(span: Span) -> Grades | None:
    """The grades that a span asks for (`rate ... from 1 to 5`, `(1-10)`, `out of 5 stars`), or None."""
    rates = span.has("rate", "rating_noun")
    for position in span.counting():
        number = number_at(span, position)
        if number is None or number[0] != int(number[0]) or refers_to_steps(span, position):
            continue
        found = _range_at(span, position, rates=rates) or (rates and _highest_at(span, position)) or None
        if found:
            return _explained(found)
    if found := _ends_explained(span):
        return found
    return Grades(span, 1, 5) if span.at("rate") else None


def _ends_explained(span: Span) -> Grades | None:
    """`(1 = not at all, 5 = very)`: nothing but what the ends mean."""
    opening = span.sign("([", 1)
    low = number_at(span, opening + 1) if opening is not None else None
    if opening is None or low is None or low[0] not in {0.0, 1.0} or span.key(low[1]) != "=":
        return None
    closing = next(span.places(")]", start=opening), len(span))
    for position in range(low[1] + 2, closing - 2):
        high = number_at(span, position) if span[position - 1].text in ",;" else None
        if high is not None and 2 < high[0] <= _MAX_GRADE and span.key(high[1]) == "=":
            labels = span.sub(low[1] + 1, position - 1).text, span.sub(high[1] + 1, closing).text
            return Grades(_cut(span, opening, closing), int(low[0]), int(high[0]), *labels)
    return None


def _range_at(span: Span, position: int, *, rates: bool) -> Grades | None:
    """`1 to 5`, `1 (bad) to 5 (good)`; 0 or 1 is where grades begin."""
    low = number_at(span, position)
    if low is None or low[0] not in {0.0, 1.0}:
        return None
    low_label, end = _meaning(span, low[1])
    length = span.at("to", end) or int(span.key(end) in {"-", "–", "—"})
    high = number_at(span, end + length) if length else None
    if high is None or not 2 <= high[0] <= (_MAX_RATED if rates else _MAX_GRADE) or high[0] != int(high[0]):
        return None
    if unit_at(span, high[1]) and not span.at("rating_noun", high[1]):
        return None  # `0 to 2 °C`
    high_label, end = _meaning(span, high[1])
    if not rates and not low_label and not _is_scale(span, position, end):
        return None
    end += span.at("rating_noun", end)
    return Grades(_cut(span, _start(span, position), end), int(low[0]), int(high[0]), low_label, high_label)


def _is_scale(span: Span, start: int, end: int) -> bool:
    """Whether a bare range of small numbers can only be grades: in parentheses, or at the end of what is no measure."""
    if span.has("number_noun", "photo", "measure", "count"):
        return False
    enclosed = start > 0 and span[start - 1].text in "([" and end < len(span) and span[end].text in ")]"
    return enclosed or (end >= len(span) and start > 0)


def _highest_at(span: Span, position: int) -> Grades | None:
    """`out of 10`, `5 stars`."""
    high = number_at(span, position)
    if high is None or not 3 <= high[0] <= _MAX_GRADE:
        return None
    stars = span.at("rating_noun", high[1])
    start = _start(span, position)
    for back in range(min(4, position), 0, -1):
        if span.at("out_of", position - back) == back or span.at("at_most", position - back) == back:
            start = min(start, position - back)
            break
    if not stars and start == position:
        return None
    return Grades(_cut(span, start, high[1] + stars), 1, int(high[0]))


def _start(span: Span, position: int) -> int:
    """Where the words begin that introduce the grades: `on a scale from`, `with a score of`."""
    start, moved = position, True
    while moved and start > 0:
        moved = False
        for back in range(min(4, start), 0, -1):
            if span.at("scale", start - back) == back or (
                back == 1 and 1 < start < position and span.at("rating_noun", start - 1)
            ):
                start, moved = start - back, True
                break
        if not moved and (span[start - 1].text in "([," or (start < position and span.at("article", start - 1) == 1)):
            start, moved = start - 1, True
    return start


def _meaning(span: Span, position: int) -> tuple[str | None, int]:
    """What stands in parentheses behind a grade."""
    if position < len(span) and span[position].text == "(":
        for end in range(position + 1, min(position + 9, len(span))):
            if span[end].text == ")":
                return span.sub(position + 1, end).stripped("= :").text or None, end + 1
    if position < len(span) and span[position].text == "=":
        for end in range(position + 1, min(position + 6, len(span))):
            if span[end].text in ",;)" or span.at("to", end):
                return span.sub(position + 1, end).text or None, end
    return None, position


def _cut(span: Span, start: int, end: int) -> Span:
    if end < len(span) and span[end].text in ")]":
        end += 1
    return span.without(start, end).stripped()


def _explained(grades: Grades) -> Grades:
    """`1 = poor, 5 = excellent`, wherever it stands."""
    span = grades.head
    for end, name in ((grades.low, "low_label"), (grades.high, "high_label")):
        for position in range(len(span) - 2):
            number = number_at(span, position)
            if not number or number[0] != end or not (span[position + 1].text in "=:" or span.at("be", position + 1)):
                continue
            ends = (i for i in range(position + 2, len(span)) if span[i].text in ",;)" or span.at("and", i))
            stop = next(ends, len(span))
            setattr(grades, name, span.sub(position + 2, stop).text)
            start = position
            if start and (span[start - 1].text in "(," or span.at("and", start - 1)):
                start -= 1
            closes = stop < len(span) and span[stop].text in ",)"
            span = span.without(start, stop + closes)
            break
    grades.head = span.stripped("(), ;:")
    return grades
