"""Finds a word in a text in any form: inflected, in a compound, or mistyped.

Words are folded, or folded stems; a text is the set of its words and their stems.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

_SHORTEST: Final = 4
_ALIKE: Final = 0.6
"""Words that begin with so much of the shorter one alike are forms of one word: `reinigen`, `Reinigung`."""
_MISTYPED: Final = 0.8
"""Words that begin and end with so much of the longer one alike are one word: `wechslgeld`, `Wechselgeld`."""


def share_of(words: Sequence[str], text: frozenset[str]) -> float:
    """The share of some stems that a text has, 0 to 1; 0 of none."""
    return sum(_has(text, word) for word in words) / len(words) if words else 0


def shares_any(words: Sequence[str], text: frozenset[str]) -> bool:
    """Whether a text has one of some stems."""
    return any(_has(text, word) for word in words)


def _has(text: frozenset[str], word: str) -> bool:
    return word in text or any(_is_form_of(word, other) for other in text)


def _is_form_of(word: str, other: str) -> bool:
    """Whether two words may be forms or parts of one: `lock`, `locked`; `temperatur`, `raumtemperatur`."""
    short, long = sorted((word, other), key=len)
    if len(short) < _SHORTEST or short[0] not in long:
        return False
    if short in long:
        return True
    same = _alike(short, long)
    if same >= max(_SHORTEST, _ALIKE * len(short)):
        return True
    return same >= _SHORTEST and same + _alike(short[::-1], long[::-1]) >= _MISTYPED * len(long)


def _alike(one: str, two: str) -> int:
    """With how many same letters two words begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
