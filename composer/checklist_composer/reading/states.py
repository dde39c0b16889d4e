"""How a thing can be: states in a row that cannot hold at the same time are what an executor picks from.

`intact, slightly torn, badly torn` excludes; `closed, clean, undamaged` is three things to see to.
"""

from typing import Final

from .words import Span

_MAX_STATES: Final = 6
_MAX_WORDS: Final = 4
_STATES: Final = ("state", "good", "bad", "grade_word", "participle")
_NO_STATE: Final = ("article", "preposition", "number_noun", "name_noun", "photo", "signature", "remarks", "pronoun")


def exclude_each_other(pieces: list[Span]) -> bool:
    """Whether these are states of one thing of which only one can hold: good and bad ones, or degrees of one."""
    if not 2 <= len(pieces) <= _MAX_STATES or any(_is_no_state(piece) for piece in pieces):
        return False
    lasts = [piece.key(len(piece) - 1) for piece in pieces]
    degrees = {lasts[i] for i, piece in enumerate(pieces) if len(piece) > 1 and piece.at("degree")}
    graded = any(lasts.count(last) > 1 for last in degrees)
    if not all(_is_state(piece) or lasts[i] in degrees for i, piece in enumerate(pieces)):
        return False
    bad = [_is_bad(piece) for piece in pieces]
    return graded or _contrary(pieces) or (len(pieces) > 2 and any(bad) and not all(bad))


def _is_no_state(piece: Span) -> bool:
    said = any(not token.is_word for token in piece) or not 0 < len(piece) <= _MAX_WORDS
    return said or (piece.has(*_NO_STATE) and not piece.at("needs"))


def _is_state(piece: Span) -> bool:
    """`torn`, `badly torn`, `too tight`, `needs discarding`, `not readable`."""
    start = piece.at("degree") or piece.at("not") or piece.at("be")
    if piece.at("needs") and len(piece) > 1:
        return True
    rest = piece.sub(start if start < len(piece) else 0)
    return (len(rest) == 1 and (bool(rest.any_at(_STATES)) or start > 0)) or any(
        rest.at(role) == len(rest) for role in _STATES
    )


def _is_bad(piece: Span) -> bool:
    return bool(piece.has("bad", "not") or piece.at("needs") or piece.any_at(("too_high", "too_low", "too_much")))


def _contrary(pieces: list[Span]) -> bool:
    language = pieces[0].words.language
    stems = [language.any_stem(piece[0].text) for piece in pieces if len(piece) == 1]
    return any(other in language.opposite(stem) for stem in stems for other in stems)
