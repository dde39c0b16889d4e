"""Words that the labeller left out although they may ask for something: they become steps in the writer's own words."""

from collections.abc import Sequence
from typing import Final

from .labels import LabelledSpan
from .overlooked import runs
from .token_features import BULLET
from .tokens import TokenizedText

_MAYBE: Final = 0.5
"""Below this probability of being outside of all spans, a word may ask for something."""
_LEAST: Final = 2
"""Words that carry meaning, of a clause that becomes a step."""


def unread_words(
    text: TokenizedText, spans: Sequence[LabelledSpan], outside: Sequence[float]
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
        if not meaning:
            continue
        doubt = sum(1 - outside[index] for index in words) / len(words)
        line = text.tokens[start].line
        whole_line = BULLET.match(text.lines[line]) and start <= lines[line][0] and lines[line][-1] < end
        if (len(meaning) >= _LEAST and doubt > 1 - _MAYBE) or whole_line:
            steps.append((start, end, round(doubt, 3)))
        else:
            unused.append((start, end))
    return steps, unused
