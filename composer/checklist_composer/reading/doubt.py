"""Passages that the labeller hardly understood: they stay in the writer's own words, each as one text step.

A passage is what stands between two separators of a sentence. It is understood when every word of it has a label that
is likely; where many passages of a prompt are not, the labels of the others are worth less, too.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .labels import ITEMS, Label, LabelledSpan
from .sentences import Sentences
from .tokens import TokenizedText

_CUTS: Final = frozenset(",;:()|")
_SURE: Final = 0.7
"""A passage whose least likely label is less likely than that is a doubtful one."""
_UNDERSTOOD: Final = 0.3
"""A passage with a less likely label than that stays in its own words."""
_UNDERSTOOD_OF_HARD: Final = 0.97
"""The same of a prompt that is hard to read."""
_MESSY: Final = 0.3
"""With so great a share of doubtful passages, and several of them, a prompt is hard to read."""
_SEVERAL: Final = 3
_ASKING: Final = 0.5
"""With so great a share of its words in a span, a passage without an item may ask for something."""
_LONGEST: Final = 40
"""Tokens of one passage."""
_KEPT: Final = frozenset({Label.NAME, Label.SECTION, Label.SETTING})


@dataclass(frozen=True, slots=True)
class Passage:
    """Tokens from `start` to before `end`, and the probability of the least likely label of their words."""

    start: int
    end: int
    certainty: float


def passages_of(
    text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences, certainty: Sequence[float]
) -> list[Passage]:
    """The passages in order; no span is cut. `certainty`: for each token the probability of its label."""
    inside = {index for span in spans for index in range(span.start + 1, span.end)}
    found: list[Passage] = []
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or (
            index not in inside
            and (text.tokens[index - 1].text in _CUTS or sentences.of[index] != sentences.of[index - 1])
        ):
            least = min((certainty[at] for at in range(start, index) if text.carries_meaning(at)), default=1.0)
            found.append(Passage(start, index, least))
            start = index
    return found


def is_hard_to_read(passages: Sequence[Passage]) -> bool:
    """Whether so many passages are doubtful that the others are worth less, too."""
    doubtful = sum(passage.certainty < _SURE for passage in passages)
    return doubtful >= _SEVERAL and doubtful > _MESSY * len(passages)


def in_own_words(
    text: TokenizedText,
    spans: Sequence[LabelledSpan],
    passages: Sequence[Passage],
    outside: Sequence[float],
    *,
    hard: bool,
) -> list[LabelledSpan]:
    """The spans, in order, without those of passages that were not understood; these are texts of no confidence.

    `outside`: for each token the probability that it is in no span. `hard`: whether the prompt is hard to read.
    """
    least = _UNDERSTOOD_OF_HARD if hard else _UNDERSTOOD
    starts = [span.start for span in spans]
    found: list[LabelledSpan] = []
    at = 0
    while at < len(passages):
        start, end = passages[at].start, passages[at].end
        is_understood = passages[at].certainty >= least
        at += 1
        first = bisect_left(starts, start)
        inside = spans[first : bisect_left(starts, end)]
        if is_understood or not _may_ask(text, start, end, inside, outside):
            found += inside
            continue
        while hard and at < len(passages) and _goes_on(text, start, end, passages[at]):
            end = passages[at].end
            at += 1
        kept = [span for span in spans[first : bisect_left(starts, end)] if span.label in _KEPT]
        taken = {index for span in kept for index in range(span.start, span.end)}
        own = [LabelledSpan(Label.TEXT, start, end, 0.0) for start, end in _left(text, start, end, taken)]
        found += sorted((*kept, *own), key=lambda span: span.start)
    return found


def _may_ask(
    text: TokenizedText, start: int, end: int, inside: Sequence[LabelledSpan], outside: Sequence[float]
) -> bool:
    """Whether a passage with these spans may ask for something; what asks for the checklist itself does not."""
    if text.has("request", start, end) or text.has("checklist", start, end):
        return False
    if any(span.label in ITEMS for span in inside):
        return True
    meaning = [index for index in range(start, end) if text.carries_meaning(index)]
    return sum(1 - outside[index] for index in meaning) >= _ASKING * len(meaning)


def _goes_on(text: TokenizedText, start: int, end: int, following: Passage) -> bool:
    """Whether the next passage says more about one before a colon or an opened parenthesis."""
    same_line = text.tokens[following.start].line == text.tokens[end - 1].line
    opened = any(token.text in ":(" for token in text.tokens[start:end])
    stopped = text.tokens[end - 1].text in ".;!?"
    return same_line and opened and not stopped and following.end - start <= _LONGEST


def _left(text: TokenizedText, start: int, end: int, taken: set[int]) -> Iterator[tuple[int, int]]:
    """The runs of a passage that are in no kept span, without marks at their edges."""
    first = start
    for index in range(start, end + 1):
        if index < end and index not in taken:
            continue
        last = index
        while first < last and not _counts(text, first):
            first += 1
        while last > first and not _counts(text, last - 1):
            last -= 1
        if any(map(text.carries_meaning, range(first, last))):
            yield first, last
        first = index + 1


def _counts(text: TokenizedText, index: int) -> bool:
    return text.tokens[index].is_word or text.tokens[index].is_number
