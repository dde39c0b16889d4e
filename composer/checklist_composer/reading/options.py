"""Choices: what an executor can pick from."""

from collections.abc import Callable, Iterator
from typing import Final

from .option_forms import (
    MAX_OPTION_WORDS,
    Options,
    after_as,
    after_either,
    bare,
    graded,
    has_slash,
    last_is_or,
    numbers,
    opposed,
    pieces_of,
    question,
    slashes,
    tidy,
)  # fmt: skip
from .states import exclude_each_other
from .words import Span, remembered

_FIELDS: Final = ("number_noun", "date_noun", "time_noun", "signature")
_BETWEEN: Final = "/|([:=-–—"
"""The marks between alternatives, in front of them or around them; without any, only `or` makes a choice."""
_BOUNDING: Final = ("after_number_least", "after_number_most", "at_least", "at_most")


@remembered
def options_in(span: Span) -> Options | None:
    """The choice that a span offers, or None."""
    if span.sign(_BETWEEN) is None and not span.has("or", "either"):
        return None
    several = span.find("several")
    head_end, start = _head(span)
    if start is not None:
        tail = span.sub(start)
        if (asked := tail.find("several")) is not None:
            tail = tail.without(*asked).stripped("()[] ,;.")
        pieces = pieces_of(tail)
        if _asks_which(span.sub(0, head_end), span.sub(start), pieces):
            return Options(span.sub(0, head_end), [tidy(piece) for piece in pieces], several=True)
        if _are_options(span.sub(0, head_end), tail, pieces, several=several is not None):
            head = span.sub(0, head_end)
            return Options(_without_several(head), [tidy(piece) for piece in pieces], several is not None)
    for rule in _forms(span):
        if found := rule(span):
            found.several = found.several or several is not None
            found.head = _without_several(found.head)
            return found
    return None


def _forms(span: Span) -> Iterator[Callable[[Span], Options | None]]:
    """The forms that the choice may have, from the most to the least certain, by the words and marks that are there."""
    said_or = span.has("or")
    if span.has("either"):
        yield after_either
    if span.sign("([") is not None:
        yield _in_parentheses
    if said_or:
        yield from (question, after_as)
    if span.sign("/") is not None:
        yield slashes
    if said_or:
        yield from (numbers, bare, opposed, graded)


def _asks_which(head: Span, tail: Span, pieces: list[Span]) -> bool:
    """`Which courses did you take: yoga, pilates, spinning?`"""
    plain = len(pieces) > 1 and all(len(piece) <= MAX_OPTION_WORDS for piece in pieces)
    head = head.stripped("¿ ")
    head = head.sub(head.any_at(("record", "choose")))
    return plain and bool(head.at("which_several")) and not tail.has("either", "or")


def _head(span: Span) -> tuple[int, int | None]:
    depth = int(span.key(0) in {"(", "["})
    for position in span.places("([)],;:=-–—", start=1):
        if position >= len(span) - 1:
            break
        token = span[position]
        depth += (token.text in "([") - (token.text in ")]")
        if depth > 0:
            continue  # `tested (result: pass / fail)`
        if token.text in ",;":
            return 0, None  # something else stands in front
        if token.text in ":=" or (
            token.text in "-–—" and span[position - 1].end < token.start and token.end < span[position + 1].start
        ):
            return position, position + 1
    return 0, None


def _say_states(pieces: list[Span]) -> bool:
    """Whether they are statements of their own: `lights on, cables taped`."""
    return any(piece.has("be", "number_noun") or (len(piece) > 1 and piece.has("state")) for piece in pieces)


def or_at(span: Span, position: int) -> int:
    """How many words the `or` between alternatives has; the one of `5 °C or colder` is none."""
    return 0 if span.any_at(_BOUNDING, position) else span.at("or", position)


def _says_of_thing(piece: Span) -> bool:
    """`hinges quiet`; but `needs attention`, `not ok` say of what stands in front how it is."""
    if len(piece) < 2 or piece.any_at(("be", "not", "grade_word", "verdict")):
        return False
    return piece.has("be", "state", "good", "bad")


def _are_codes(pieces: list[Span]) -> bool:
    """`(A, B, C)`: single capitals name kinds of something."""
    return len(pieces) > 1 and all(
        len(piece) == 1 and len(piece.text) == 1 and piece.text.isupper() for piece in pieces
    )


def _are_options(head: Span, tail: Span, pieces: list[Span], *, several: bool) -> bool:
    if len(pieces) < 2 or any(len(piece) > MAX_OPTION_WORDS for piece in pieces):
        return False
    if any(piece.any_at(("check", "measure", "confirm")) and len(piece) > 1 for piece in pieces):
        return False
    if any(piece.at("photo_verb") and piece.has("photo") for piece in pieces):
        return False
    if tail.sign(":") is not None:
        return False
    if tail.has("either", "how_much", "count") or tail.stripped("?. ").sign("?([") is not None:
        return False
    alternatives = last_is_or(tail) or has_slash(tail) or _are_codes(pieces)
    slash = has_slash(tail)
    if slash and tail.sign(",;") is not None:
        alternatives = False
    if slash and any(_says_of_thing(piece) for piece in pieces if not piece.at("not")):
        return False  # `lock works / hinges quiet`
    if alternatives or several or (head.has("choose", "choice_noun") and not _say_states(pieces)):
        return True
    if exclude_each_other(pieces):
        return True
    if len(pieces) < 3:
        return False
    known = [piece.at("grade_word") == len(piece) for piece in pieces]
    return all(known) or (any(piece.at("none_word") == len(piece) for piece in pieces) and max(map(len, pieces)) <= 3)


def _without_several(head: Span) -> Span:
    if (found := head.find("several")) and head.sub(found[0]).stripped().text and found[0] > 0:
        return head.without(*found).stripped(",.;:-–()[] ")
    return head.stripped(",.;:-–")


def _in_parentheses(span: Span) -> Options | None:
    opening = span.sign("([")
    if not opening:
        return None
    closing = next(span.places(")]", start=opening + 1), len(span))
    inner, head = span.sub(opening + 1, closing), span.without(opening, min(closing + 1, len(span)))
    several = inner.find("several")
    if several is not None:
        inner = inner.without(*several).stripped(",;:–—- ")
    if (colon := inner.sign(":", 1)) is not None:
        inner = inner.sub(colon + 1)  # `(result: pass / fail)`
    pieces = pieces_of(inner)
    asked = head.at("which") > 0 and len(pieces) > 1
    if asked and not last_is_or(inner):
        return Options(head, [tidy(piece) for piece in pieces], several=True)
    if _asks_who(head, pieces):
        return Options(head, [tidy(piece) for piece in pieces])
    if _are_options(head, inner, pieces, several=several is not None) and not any(
        piece[0].is_number and len(piece) == 1 for piece in pieces
    ):
        return Options(head, [tidy(piece) for piece in pieces])
    return None


def _asks_who(head: Span, pieces: list[Span]) -> bool:
    """`to whom the key was given (landlord, neighbour, agency)`: what it asks for is in parentheses."""
    if len(pieces) < 2 or any(
        len(piece) > 3 or piece.has("wh", "who", "photo", "remarks", *_FIELDS) for piece in pieces
    ):
        return False
    return head.has("who", "which", "which_several") or any(
        head.at("wh", i) and not head.at("open_question", i) for i in range(len(head))
    )
