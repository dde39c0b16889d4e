"""Adds words that the labeller left out to adjacent spans, or makes them steps in the writer's words."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from .labels import ITEMS, Label, LabelledSpan
from .overlooked import runs
from .sentences import Sentences
from .token_features import BULLET
from .tokens import TokenizedText

_MAYBE: Final = 0.5
"""Words with a smaller probability of being outside of all spans may ask for something."""
_NO_ITEMS: Final = frozenset({"greeting", "closing", "takes", "skip", "no_skip", "text_type", "number_type"})
"""Roles of words that are no item by themselves."""
_LEAST: Final = 2
"""Minimum words with meaning in a clause that becomes a step."""
_MOST_ADJACENT: Final = 4
"""Maximum words next to a span that become part of it."""
_BOUNDING: Final = frozenset({"below", "above", "at_least", "at_most", "between"})
_APART: Final = frozenset(",;.|")
_ASKING: Final = frozenset(
    {"request", "checklist", "please", "it_should", "we", "greeting", "meta", "ordinal"}
    | {"then", "also", "to_whom", "if", "if_not", "if_yes", "otherwise", "unless", "only_if", "executor", "self"}
)
"""Roles of words that only introduce a request."""
UNASKED: Final = 0.6
"""Confidence of items from words without a label."""


def unread_words(
    text: TokenizedText,
    spans: Sequence[LabelledSpan],
    outside: Sequence[float],
    sentences: Sentences,
    *,
    messy: bool,
) -> tuple[list[tuple[int, int, float]], list[tuple[int, int]]]:
    """Clauses that become steps (start and end token, confidence), and unused words (start and end token)."""
    lines: dict[int, list[int]] = {}
    for index, token in enumerate(text.tokens):
        if token.is_word:
            lines.setdefault(token.line, []).append(index)
    taken = {index for span in spans for index in range(span.start, span.end)}
    steps: list[tuple[int, int, float]] = []
    unused: list[tuple[int, int]] = []
    for start, end in runs(text, taken):
        words = [index for index in range(start, end) if text.tokens[index].is_word]
        meaning = text.stems(start, end)
        if not meaning:
            continue
        listed = not messy and _is_listed(text, start, end, taken, sentences)
        doubt = sum(1 - outside[index] for index in words) / len(words)
        line = text.tokens[start].line
        whole_line = BULLET.match(text.lines[line]) and start <= lines[line][0] and lines[line][-1] < end
        may_ask = listed or (len(meaning) >= _LEAST and doubt > 1 - _MAYBE)
        if (may_ask or whole_line) and not text.has("unwanted", start, end):
            steps.append((start, end, round(doubt, 3)))
        else:
            unused.append((start, end))
    return steps, unused


def _is_listed(text: TokenizedText, start: int, end: int, taken: set[int], sentences: Sentences) -> bool:
    """Whether words are a whole sentence behind others with labels, so that they may be an item."""
    first, last = sentences.bounds(start)
    whole = not taken.intersection(range(first, last)) and any(at in taken for at in range(first))
    return whole and not text.any_of(_NO_ITEMS, first, last)


def with_adjacent_words(
    text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences
) -> Iterator[LabelledSpan]:
    """Extend spans by unlabelled words before them in the clause: `no. of | seats`."""
    end = 0
    for span in _with_named_limits(text, spans):
        first = span.start
        while first > end and not _parts(text, first - 1) and sentences.of[first - 1] == sentences.of[span.start]:
            first -= 1
        while first < span.start and not text.carries_meaning(first) and not text.tokens[first].is_number:
            first += 1
        adjacent = range(first, span.start)
        extends = 0 < len(adjacent) <= _MOST_ADJACENT and not any(text.roles[at].keys() & _ASKING for at in adjacent)
        if extends and span.label is Label.LIMIT and first and text.tokens[first - 1].text in _APART:
            measured = not any("not" in text.roles[at] for at in adjacent)  # `weight, | humidity | 40 to 60 %`
            yield LabelledSpan(Label.NUMBER if measured else Label.TEXT, first, span.start, UNASKED)
            extends = False
        grows = extends and span.label in ITEMS | {Label.LIMIT, Label.HINT}
        yield replace(span, start=first) if grows else span
        end = span.end


def _with_named_limits(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """Split a limit that names its number, behind a check: `bin emptied, fridge | below 5 °C`."""
    before: LabelledSpan | None = None
    for span in spans:
        start = span.start
        if span.label is Label.LIMIT and before is not None and before.label is Label.CHECK:
            while start < span.end and not (text.roles[start].keys() & _BOUNDING or text.may_count[start]):
                start += 1
            named = any(map(text.carries_meaning, range(span.start, start))) and start < span.end
            if named and text.tokens[span.start - 1].text in _APART:
                yield LabelledSpan(Label.NUMBER, span.start, start, UNASKED)
            else:
                start = span.start
        yield replace(span, start=start)
        before = span


def _parts(text: TokenizedText, index: int) -> bool:
    return _cuts(text, index) or "and" in text.roles[index]


def _cuts(text: TokenizedText, index: int) -> bool:
    token = text.tokens[index]
    return not (token.is_word or token.is_number)
