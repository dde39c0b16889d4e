"""What stands below what in a list, and what an item of it says: one thing, or several with answers of their own."""

from typing import Final

from ..language import Language
from .clauses import clauses_of, is_one_choice
from .options import options_in
from .outline import Block, Kind
from .places import placed_part, titled_part
from .quantities import bounds_in
from .steps import without_lead
from .tasks import is_task, photo_request, task_at
from .words import Span, Words

_FEW_WORDS: Final = 2
_KINDS: Final = ("optional", "required", "yes_no")
_OWN_ANSWER: Final = frozenset({"describe", "measure", "record", "count", "rate", "scan", "photograph", "how_much"})
"""What is done in a part of an item that gets a step of its own."""


def has_children(blocks: list[Block], index: int) -> bool:
    """Whether items stand below an item."""
    following = blocks[index + 1] if index + 1 < len(blocks) else None
    return following is not None and following.kind is Kind.ITEM and following.level > blocks[index].level


def title_items(blocks: list[Block]) -> set[int]:
    """The items with items below them that are titles: most of those beside them have some, too, or none follows."""
    beside: dict[tuple[int, int], list[int]] = {}
    open_items: list[int] = []
    run = 0
    for index, block in enumerate(blocks):
        if block.kind is not Kind.ITEM:
            open_items, run = [], index
            continue
        while open_items and blocks[open_items[-1]].level >= block.level:
            open_items.pop()
        beside.setdefault((run, open_items[-1] if open_items else -1), []).append(index)
        open_items.append(index)
    titles: set[int] = set()
    for group in beside.values():
        parents = [index for index in group if has_children(blocks, index)]
        if len(parents) * 2 >= len(group) or parents == group[-1:]:
            titles.update(parents)
    return titles


def is_part_or_choice(span: Span) -> bool:
    """Whether a sentence is no name of a job, whatever words it has: `In the office: ...`, `Condition: good or bad`."""
    part = titled_part(span)
    return is_one_choice(span) or placed_part(span) is not None or (part is not None and part.title.has("place"))


def says_steps(rest: Span) -> bool:
    """Whether behind a title there is more than its subtitle."""
    rest = rest.stripped()
    return len(rest) > 0 and (is_task(without_lead(rest)) or sum(token.text in ",;" for token in rest) >= 2)


def unwrapped(span: Span) -> Span:
    """`Torches lit (only if dark)` without the parentheses around the condition."""
    opening = span.sign("([", 1)
    if (
        opening is None
        or not span.any_at(("if", "only_if", "unless", "if_not"), opening + 1)
        or span.at("optional", opening + 1)
    ):
        return span
    closing = span.sign(")]", opening)
    if closing is not None:
        span = span.without(closing, closing + 1)
    return span.without(opening, opening + 1)


def is_answerable(span: Span) -> bool:
    """Whether it says more than the name of a thing: a state, a number, something to do or to write down."""
    if is_task(span) or any(token.is_number or token.text in "?:" for token in span):
        return True
    return span.has(
        "be", "good", "bad", "not", "state", "number_noun", "name_noun", "date_noun", "remarks", "photo", "signature"
    )


def is_header(blocks: list[Block], index: int) -> bool:
    """Whether a row of a table only names its columns."""
    before = blocks[index - 1] if index else None
    row = blocks[index]
    if before is not None and before.kind is Kind.ROW:
        return False
    below = [other.cells for other in blocks[index + 1 :] if other.kind is Kind.ROW]
    if any(cell in other[1:] for cell in row.cells[1:] for other in below):
        return False  # `site id; text; required`, where others are so, too
    return (
        len(row.cells) > 1
        and not any(character.isdigit() for character in row.text)
        and index + 1 < len(blocks)
        and blocks[index + 1].kind is Kind.ROW
        and len(blocks) > index + 2
    )


def row_text(language: Language, cells: tuple[str, ...]) -> str:
    """A row of a table as one says it: `battery voltage (V), 48 to 56 (required)`."""
    said = list(cells[:1])
    for cell in cells[1:]:
        span = Words(language, cell).span()
        length = span.any_at(("number_type", "text_type"))
        if span.any_at(_KINDS) == len(span) or length == len(span):
            said.append(f"({cell})")
        elif length and span[length].text == "(":  # `number (V)`
            said.append(span.sub(length).text)
        else:
            said.append(cell)
    return " ".join(said)


def item_clauses(span: Span) -> list[Span]:
    """An item is one thing, unless a part of it takes an answer of another kind: `wipe it and note the temperature`."""
    pieces: list[Span] = []
    for clause in clauses_of(span):
        task = task_at(without_lead(clause.span))[0]
        own = clause.verb is None and (
            task in _OWN_ANSWER
            or (bool(pieces) and clause.span.sign(":") is not None and options_in(clause.span) is not None)
            or clause.span.sign("?") is not None
            or photo_request(without_lead(clause.span)) is not None
        )
        if pieces and not own and not _has_own_bounds(clause.span, pieces[-1]):
            start, end = pieces[-1].index[0], clause.span.index[-1]
            pieces[-1] = Span(span.words, [index for index in span.index if start <= index <= end])
        else:
            pieces.append(clause.span)
    return pieces


def measures_each(rest: Span) -> bool:
    """Whether each of several things behind a colon has an answer of its own: `temperature 32-35 °C, level ok/low`."""
    pieces = [clause.span for clause in clauses_of(rest)]
    return len(pieces) > 1 and all(
        len(piece) > 1 and piece[0].is_word and (bounds_in(piece) is not None or options_in(piece) is not None)
        for piece in pieces
    )


def _has_own_bounds(span: Span, before: Span) -> bool:
    """`filter clean, temperature at least 20 °C`: the number is a step of its own, if what it is of is named."""
    bounds = bounds_in(span)
    if bounds is None or not bounds.start:
        return False
    first = bounds_in(before)
    bounded = first is not None and (first.minimum, first.maximum) != (None, None)
    if span.at("number_noun") and first is not None and (bounded or before.has("number_noun")):
        return True  # `pH 4.8 to 5.5, conductivity max. 1500 µS/cm`
    if bounds.unit is None or first is not None:
        return False
    return is_answerable(without_lead(before)) or bounds.start > _FEW_WORDS
