"""Finds items that the labeller left out, since no requested item may be lost."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from .labels import ITEMS, Label, LabelledSpan
from .tokens import TokenizedText

Likelihood = Callable[[Label, int], float]
"""The probability that a token has a label."""
_CUTS: Final = frozenset(",.;:!?()|/")
_MAYBE: Final = 0.9
"""Words outside of spans with less than this probability may be an item."""
_LEAST_DOUBT: Final = 0.15
_OVERLOOKED: Final = 0.8
"""Maximum confidence of an overlooked item."""
_SHORT: Final = 6
"""Maximum tokens of a clause that is one item."""
_SIGNING: Final = frozenset({"sign", "signature"})
_PLAIN: Final = _SIGNING | {"yes_no"}
NAMED: Final = {
    "signature": Label.SIGNATURE,
    "photo": Label.PHOTO,
    "remarks": Label.TEXT,
    "serial_noun": Label.TEXT,
    "datetime_noun": Label.DATE,
    "date_noun": Label.DATE,
    "time_noun": Label.DATE,
    "number_noun": Label.NUMBER,
    "count": Label.NUMBER,
    "name_noun": Label.TEXT,
    "scan": Label.SCAN,
}
"""Items by roles of nouns."""
_TASKS: Final = {
    **dict.fromkeys(("confirm", "check", "act"), Label.CHECK),
    **{"measure": Label.NUMBER, "record": Label.TEXT, "describe": Label.TEXT},
}
"""Items by roles of verbs."""
_TASK_WORDS: Final = 8
_TASK_STEMS: Final = 2
_TASK_DOUBT: Final = 0.03
_ADJACENT: Final = 3
"""Maximum tokens that are added to an adjacent item."""


def overlooked(
    text: TokenizedText,
    spans: Sequence[LabelledSpan],
    outside: Sequence[float],
    likelihood: Likelihood,
    ignored: set[int],
) -> Iterator[LabelledSpan]:
    """Likely items that are not in `spans`: an extra step does less harm than a missing one.

    `outside`: probability by token that it is in no span.
    """
    taken = ignored.union(*(range(span.start, span.end) for span in spans))
    for start, end in runs(text, taken):
        parts = [
            (first, last)
            for first, last in _joined_parts(text, start, end)
            if any(map(text.carries_meaning, range(first, last)))
        ]
        judged = [_judged(text, first, last, outside, likelihood) for first, last in parts]
        like = next((one for one in judged if one is not None), None)
        for (first, last), found in zip(parts, judged, strict=True):
            if found is not None:
                yield found
            elif like is not None:  # `doors and windows`: words joined to an item are an item
                yield replace(like, start=_first(text, first), end=last)


def _judged(
    text: TokenizedText, start: int, end: int, outside: Sequence[float], likelihood: Likelihood
) -> LabelledSpan | None:
    """The item in a run of words; None if unlikely."""
    if text.has("checklist", start, end) or text.has(
        "request", start, min(start + 3, end)
    ):  # a heading, or the request
        return None
    if text.has("unwanted", start, end):
        return None
    meaning = [index for index in range(start, end) if text.carries_meaning(index)]
    doubt = sum(1 - outside[index] for index in meaning) / len(meaning)
    asked = _asked(text, start, end) or (_task(text, start, end) if doubt > _TASK_DOUBT else None)
    if asked is not None:
        return LabelledSpan(asked, _first(text, start), end, _OVERLOOKED)
    if min(outside[index] for index in meaning) > _MAYBE or doubt < _LEAST_DOUBT:
        return None
    scores = {one: sum(likelihood(one, index) for index in meaning) / len(meaning) for one in ITEMS}
    label = max(scores, key=lambda one: (scores[one], one.value))
    if scores[label] <= _LEAST_DOUBT / 2:
        return None
    return LabelledSpan(label, _first(text, start), end, min(doubt, _OVERLOOKED * scores[label] / sum(scores.values())))


def _task(text: TokenizedText, start: int, end: int) -> Label | None:
    """The item of a clause that begins (in German, or ends) with a verb, and names what to do it to."""
    if end - start > _TASK_WORDS or len(text.stems(start, end)) < _TASK_STEMS:
        return None
    places = (start, end - 1) if text.language.verb_last else (start,)
    return next((label for at in places for role, label in _TASKS.items() if role in text.roles[at]), None)


def _joined_parts(text: TokenizedText, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a run at `and` between words that carry meaning."""
    part = start
    for index in range(start, end):
        joins = text.roles[index].get("and") == 1 and any(map(text.carries_meaning, range(part, index)))
        if joins and any(map(text.carries_meaning, range(index + 1, end))):
            yield part, index
            part = index + 1
    yield part, end


def _asked(text: TokenizedText, start: int, end: int) -> Label | None:
    """The item that a short separate clause names by its first noun: `signature of the inspector`."""
    if end - start > _SHORT + 4 * text.any_of(_PLAIN, start, end):
        return None
    before = text.tokens[start - 1] if start and text.tokens[start - 1].line == text.tokens[start].line else None
    after = text.tokens[end] if end < len(text) and text.tokens[end].line == text.tokens[start].line else None
    if (before is not None and before.text not in ".,;:") or (after is not None and after.text not in ".,;(:"):
        return None
    if text.has("yes_no", start, end) and text.stems(start, end):
        return Label.CHECK
    if text.any_of(_SIGNING, start, end):
        return Label.SIGNATURE
    return next(named_kinds(text, start, end), None)


def named_kinds(text: TokenizedText, start: int, end: int) -> Iterator[Label]:
    """The labels named by the first word that carries meaning: `number` of guests."""
    first = next((at for at in range(start, end) if text.carries_meaning(at)), start)
    return (label for role, label in NAMED.items() if role in text.roles[first])


def _first(text: TokenizedText, start: int) -> int:
    """The first token from `start` that carries meaning or is a number."""
    while not text.carries_meaning(start) and not text.tokens[start].is_number:
        start += 1
    return start


def with_overlooked(text: TokenizedText, spans: Sequence[LabelledSpan], found: LabelledSpan) -> list[LabelledSpan]:
    """The spans and `found`, in order; words directly next to an item become part of it."""
    opening = text.tokens[found.start - 1].text if found.start else ""
    if opening == "(" and found.label in NAMED.values():  # `brewing day (date)`: the kind of answer
        for at, span in enumerate(spans):
            if span.end == found.start - 1 and span.label in ITEMS:
                return [*spans[:at], replace(span, label=found.label), *spans[at + 1 :]]
    joined = {role for index in (found.start, found.end - 1) for role in text.roles[index]} & {"and", "or"}
    for at, span in enumerate(spans):
        if span.label not in ITEMS or joined or found.end - found.start > _ADJACENT:
            continue
        if text.tokens[span.start].line != text.tokens[found.start].line:
            continue
        if span.end == found.start:
            return [*spans[:at], replace(span, end=found.end), *spans[at + 1 :]]
        if found.end == span.start:
            return [*spans[:at], replace(span, start=found.start), *spans[at + 1 :]]
    end = found.end
    while end - found.start > 1 and text.roles[end - 1].keys() & {"and", "or", "article"}:
        end -= 1
    place = bisect_left([span.start for span in spans], found.start)
    return [*spans[:place], replace(found, end=end), *spans[place:]]


def runs(text: TokenizedText, taken: set[int]) -> Iterator[tuple[int, int]]:
    """Runs of tokens outside of spans, split at separators and line ends."""
    start: int | None = None
    for index, token in enumerate(text.tokens):
        cut = index in taken or token.text in _CUTS or (index > 0 and text.tokens[index - 1].line != token.line)
        if cut and start is not None:
            yield start, index
            start = None
        if start is None and index not in taken and (token.is_word or token.is_number):
            start = index
    if start is not None:
        yield start, len(text)
