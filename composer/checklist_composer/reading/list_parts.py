"""What stands in a list with commas of its own: a choice (`..., mood: good or bad, ...`), a condition (`..., damage
yes/no, if yes describe, ...`). It is cut out before the commas separate anything.
"""

from dataclasses import dataclass
from typing import Final

from .options import options_in
from .tasks import is_task
from .words import Span, Words, remembered

_ANSWERS: Final = ("if_yes", "if_not")
_FIELDS: Final = (
    "name_noun", "number_noun", "date_noun", "time_noun", "serial_noun", "photo", "signature", "remarks", "yes_no",
)  # fmt: skip
_MANY_SLASHES: Final = 4
_MAX_HEAD: Final = 7
_MAX_OPTION: Final = 5


@dataclass(slots=True)
class Aside:
    """`then` applies when the last of `before` was answered with yes, or no when it is `negated`."""

    before: Span
    then: Span
    negated: bool
    rest: Span


@remembered
def choice_in_list(span: Span) -> tuple[int, int] | None:
    """Where the first choice of a longer list begins and ends, or None when there is none, or nothing else."""
    if span.sign(":") is None:
        return None
    depth = _depths(span)
    start = 0
    for position in span.places(",;:", "and", start=1):
        if position >= len(span) - 1:
            break
        if depth[position]:
            continue
        if span[position].text in ",;" or span.at("and", position):
            start = position + 1
        elif span[position].text == ":" and 0 < position - start <= _MAX_HEAD:
            end = _end_of_question(span, start, position) or _end_of_choice(span, position + 1, depth)
            if end is None and span.sign(":(", position + 1) is None:
                end = len(span)  # `filter out, state: clean, slightly dusty, very dusty`
            if end is None or (start == 0 and end == len(span)):
                continue
            found = options_in(span.sub(start, end).stripped())
            if found is not None and all(len(label.split()) <= _MAX_OPTION for label in found.labels):
                return start, end
    return None


def _depths(span: Span) -> list[int]:
    depth, depths = 0, []
    for token in span:
        depth = max(0, depth + (token.text in "([") - (token.text in ")]"))
        depths.append(depth)
    return depths


def _end_of_question(span: Span, start: int, colon: int) -> int | None:
    """`..., which courses did you take: yoga, pilates?, ...`"""
    if not span.sub(start, colon).stripped("¿, ").at("which_several"):
        return None
    return next((position + 1 for position in span.places("?", start=colon)), None)


def _asks_for_several(span: Span, colon: int) -> bool:
    if "several" not in span.words.where:
        return False
    back = next((i for i in range(colon - 1, -1, -1) if span[i].text in ",;"), -1)
    several = span.sub(back + 1, colon).has("several")
    return several and span.sign(":?(", colon + 1) is None and span.sign(",", colon + 1) is not None


def _end_of_choice(span: Span, start: int, depth: list[int]) -> int | None:
    """Behind the option that `or` introduces."""
    last_or: int | None = None
    if _asks_for_several(span, start - 1):
        return len(span)  # `..., any of the following: a, b, c`
    for position in span.places(":,;", "or", "and", start=start):
        if depth[position]:
            continue
        if span[position].text == ":":
            return None
        if span.at("or", position) and not span.any_at(("after_number_least", "after_number_most"), position):
            last_or = position
        elif last_or is not None and (span[position].text in ",;" or span.at("and", position)):
            return position
    return None if last_or is None else len(span)


@remembered
def aside_in_list(span: Span) -> Aside | None:
    """The first `..., photo if yes, ...` or `..., if yes describe it, ...` of a list."""
    for position in span.places("", *_ANSWERS, start=1):
        role = next((role for role in _ANSWERS if span.at(role, position)), None)
        if role is None:
            continue
        end = position + span.at(role, position)
        if end < len(span) and span[end].text == ")":
            return _in_parentheses(span, position, end, negated=role == "if_not")
        behind = end >= len(span) or span[end].text in ",;"
        if behind and span[position - 1].text not in ",;:(" and end < len(span):
            before, then = _photo_of_last(span.sub(0, position))
            if not len(then):
                before, then = _last_part(span.sub(0, position))
            rest = span.sub(end).stripped(",;. ")
            return Aside(before, then, role == "if_not", rest) if len(then) and len(before) else None
        if not behind and span[position - 1].text in ",;:":
            stop = _end_of_consequence(span, end)
            if stop is None:
                return None
            before, then = span.sub(0, position).stripped(",;: "), span.sub(end, stop).stripped(",;: ")
            if then.any_at(("if", *_ANSWERS)):
                return None  # nobody supposes twice in a row
            rest = span.sub(stop).stripped(",;. ")
            return Aside(before, then, role == "if_not", rest) if len(then) and len(before) else None
        return None
    return None


def slashes_as_commas(span: Span) -> str:
    """The text; where slashes separate what is to be written down (`name / plate / mileage / photo`), with commas."""
    pieces = span.text.split(" / ")
    if len(pieces) < _MANY_SLASHES or "\n" in span.text:
        return span.text
    language = span.words.language
    fields = sum(Words(language, piece).span().has(*_FIELDS) for piece in pieces)
    return ", ".join(pieces) if fields * 2 >= len(pieces) else span.text


def _in_parentheses(span: Span, position: int, closing: int, *, negated: bool) -> Aside | None:
    """`ice machine works (write down the error if not)`"""
    opening = next((i for i in range(position - 1, 0, -1) if span[i].text == "("), None)
    if opening is None or opening + 1 >= position:
        return None
    rest = span.sub(closing + 1).stripped(",;. ")
    return Aside(span.sub(0, opening), span.sub(opening + 1, position).stripped(",;: "), negated, rest)


def _last_part(before: Span) -> tuple[Span, Span]:
    """`refund (yes/no), amount if yes`: the last of the list depends on the one before it."""
    comma = next((i for i in range(len(before) - 1, 0, -1) if before[i].text in ",;"), None)
    if comma is None:
        return before, before.sub(0, 0)
    return before.sub(0, comma).stripped(",;: "), before.sub(comma + 1).stripped(",;: ")


def _photo_of_last(before: Span) -> tuple[Span, Span]:
    """`scratches with photo`: the photo is what depends on the answer."""
    noun = before.find("photo")
    while noun is not None and (following := before.find("photo", noun[1])) is not None:
        noun = following
    if noun is None or noun[1] < len(before):
        return before, before.sub(0, 0)
    start = noun[0]
    while start and before.any_at(("article", "pronoun"), start - 1) == 1:
        start -= 1
    front = before.sub(0, start)
    while len(front) and (
        front.any_at(("containing", "photo_verb", "and"), len(front) - 1) == 1 or front[len(front) - 1].text in ",+"
    ):
        front = front.sub(0, len(front) - 1)
    return front, before.sub(start)


def _end_of_consequence(span: Span, start: int) -> int | None:
    """Where a list goes on behind `if yes describe it`: at a comma in front of what is nothing to do."""
    for position in span.places(",;", start=start + 1):
        rest = span.sub(position + 1)
        while len(rest) and (length := rest.any_at(("and", "also"))):
            rest = rest.sub(length)
        if len(rest) and not is_task(rest) and not rest.any_at(("otherwise", "if", "if_not", "if_yes")):
            return position
    return None
