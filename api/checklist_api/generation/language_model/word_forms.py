"""Matches words in any form: inflected, in a compound, or misspelled.

Words are folded or stemmed; a text is the set of its words and stems.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

_SHORTEST: Final = 4
_ALIKE: Final = 0.6
"""Minimum common prefix of inflections, as a share of the shorter word: `reinigen`, `Reinigung`."""
_MISTYPED: Final = 0.8
"""Minimum common prefix plus suffix of misspellings, as a share of the longer word: `wechslgeld`, `Wechselgeld`."""


def share_of(words: Sequence[str], text: frozenset[str]) -> float:
    """Return the share of stems that a text contains, 0 to 1; 0 for no stems."""
    return sum(_has(text, word) for word in words) / len(words) if words else 0


def shares_any(words: Sequence[str], text: frozenset[str]) -> bool:
    """Whether a text contains one of the stems."""
    return any(_has(text, word) for word in words)


def _has(text: frozenset[str], word: str) -> bool:
    return word in text or any(_is_form_of(word, other) for other in text)


def _is_form_of(word: str, other: str) -> bool:
    """Whether two words are forms or parts of one: `lock`, `locked`; `temperatur`, `raumtemperatur`."""
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
    """Return the length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
