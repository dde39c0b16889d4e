"""Words that the labeller left out although they may ask for something: they become steps in the writer's own words."""

from collections.abc import Sequence
from typing import Final

from .labels import LabelledSpan
from .overlooked import runs
from .sentences import Sentences
from .token_features import BULLET
from .tokens import TokenizedText

_MAYBE: Final = 0.5
"""Below this probability of being outside of all spans, a word may ask for something."""
_LISTED: Final = 8
"""Words of a short sentence; among sentences that ask for something in a tidy prompt it does so, too."""
_LONG_WORD: Final = 3
_TELLING: Final = frozenset(
    {"we", "greeting", "meta", "request", "checklist", "closing", "notice", "it_should", "takes", "skip", "no_skip"}
)
_LEAST: Final = 2
"""Words that carry meaning, of a clause that becomes a step."""


def unread_words(
    text: TokenizedText,
    spans: Sequence[LabelledSpan],
    outside: Sequence[float],
    sentences: Sentences,
    *,
    messy: bool,
) -> tuple[list[tuple[int, int, float]], list[tuple[int, int]]]:
    """Clauses that become steps (tokens from, to, confidence), and the words that become nothing (tokens from, to)."""
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
        listed = not messy and _is_listed(text, start, end, taken, sentences)
        if not meaning and not listed:
            continue
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
    """Whether words are a short sentence of their own, between others that say something."""
    first, last = sentences.bounds(start)
    inside = range(first, last)
    return (
        not taken.intersection(inside)
        and end - start <= _LISTED
        and sum(len(text.tokens[at].text) > _LONG_WORD for at in range(start, end)) >= _LEAST
        and start - first <= 1
        and last - end <= 1
        and any(at in taken for at in range(first))
        and any(at in taken for at in range(last, len(text)))
        and not text.any_of(_TELLING, first, last)
    )
