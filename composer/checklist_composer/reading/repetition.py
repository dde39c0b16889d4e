"""Finds the things for which items are repeated: `left and right`, `rooms 101-104`, `each of the 4 lifts`."""

import re
from typing import Final

from ..language import fold
from ..naming import label_of
from .answers import roles_of
from .tokens import TokenizedText

MOST: Final = 12
"""Maximum repetitions of an item."""
_RANGE: Final = re.compile(
    r"(\b[^\W\d_]*?)(\d{1,4})\s*(?:-|–|—|\.{2,3}|…|to|bis|a|à|hasta|au)\s*(?:[^\W\d_]*?)(\d{1,4})\b"
)
_PARTS: Final = re.compile(r"\s*[,/+;&|]\s*")
_FEW: Final = 2


def things_of(text: TokenizedText, start: int, end: int) -> list[str]:
    """The names of the things; empty if their number is unknown."""
    words = text.slice(start, end)
    return _numbered(words, text) or _named(text, start, end)


def _numbered(words: str, text: TokenizedText) -> list[str]:
    match = _RANGE.search(words)
    if match is None:
        return []
    first, last = int(match.group(2)), int(match.group(3))
    if not 0 <= last - first < MOST:
        return []
    head = _head(words[: match.start()], text) or match.group(1)
    return [f"{head} {number}".strip() for number in range(first, last + 1)]


def _named(text: TokenizedText, start: int, end: int) -> list[str]:
    words = text.slice(start, end).strip(" ()[].:,")
    cut = max((words.rfind(mark) for mark in ":("), default=-1)
    listed = words[cut + 1 :] if cut >= 0 else words
    pieces = []
    for piece in _PARTS.split(listed):
        part: list[str] = []
        for word in piece.split():
            if roles_of(word, text.language).keys() & {"and", "or"}:
                pieces.append(" ".join(part))
                part = []
            else:
                part.append(word)
        pieces.append(" ".join(part))
    names = [_without_lead(piece, text) for piece in pieces if piece.strip()]
    names = _with_shared_head([name for name in names if name])
    if not _FEW <= len(names) <= MOST or any(len(name.split()) > 4 for name in names):
        return []
    return [label_of(name) for name in names]


def _with_shared_head(names: list[str]) -> list[str]:
    """`tanks 1, 2` -> `tanks 1`, `tanks 2`"""
    head, _, first = names[0].rpartition(" ") if names else ("", "", "")
    if head and all(name.isdigit() or len(name) == 1 for name in (first, *names[1:])):
        return [names[0], *(f"{head} {name}" for name in names[1:])]
    return names


def _head(words: str, text: TokenizedText) -> str:
    """The noun of the things: the words next to the numbers, without `for each of the`."""
    kept = [word.strip(",.:()") for word in words.split()]
    while kept and (fold(kept[0]) in text.language.function_words or len(kept[0]) < 2):
        kept = kept[1:]
    return label_of(" ".join(kept[-2:])) if kept else ""


def _without_lead(piece: str, text: TokenizedText) -> str:
    kept = piece.split()
    leads = {"each", "for", "preposition", "article", "of", "and", "or"}
    while kept and roles_of(kept[0], text.language).keys() & leads:
        kept = kept[1:]
    return " ".join(kept)
