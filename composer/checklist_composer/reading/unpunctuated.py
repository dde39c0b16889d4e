"""Text that was typed in a hurry, without commas: `temp 24-26 salinity 33 to 35 ppt pumps running y/n photo of tank`.

Where one thing ends is told by what people end it with: a quantity, a yes and no, how something is; or by what begins
the next one. The commas are put in, and all other rules see a list.
"""

from typing import Final

from .quantities import bounds_in
from .tasks import task_at
from .words import Span

_MANY_WORDS: Final = 12
_FEW_CUTS: Final = 2
_MAX_TITLE: Final = 6
_GOES_ON: Final = (
    "preposition", "and", "or", "be", "not", "article", "pronoun", "if", "if_yes", "then", "please", "please_last",
    "containing", "also", "optional", "required", "to", "modal", "state", "good", "bad", "after_number_least",
    "after_number_most", "otherwise", "overall", "when",
)  # fmt: skip
"""What no new thing begins with."""


def punctuated(span: Span) -> str | None:
    """The text with a comma in front of each thing, if somebody left out all of them; else None."""
    if len(span) < _MANY_WORDS:
        return None
    prose = span.any_at(("it_should", "pronoun", "we", "if", "for_case", "request"))
    if prose or span.sign(",;:") is not None:
        return None
    cuts = _cuts(span)
    if len(cuts) < _FEW_CUTS:
        return None
    title = _title(span, cuts[0])
    pieces, start = [], 0
    for cut in sorted({*cuts, *([title] if title else [])}):
        pieces.append(span.sub(start, cut).text + (":" if cut == title else ","))
        start = cut
    return " ".join([*pieces, span.sub(start).text])


def _cuts(span: Span) -> list[int]:
    ends, inside = _quantities(span)
    cuts: list[int] = []
    for position in range(1, len(span)):
        if position in inside or not span[position].is_word:
            continue
        start = cuts[-1] if cuts else 0
        if _begins(span, position) or (
            not span.any_at(_GOES_ON, position)
            and (position in ends or _answered(span, position) or _is_so(span, start, position))
        ):
            cuts.append(position)
    return cuts


def _quantities(span: Span) -> tuple[set[int], set[int]]:
    """Where quantities end, and the positions within them."""
    ends: set[int] = set()
    inside: set[int] = set()
    start = 0
    while (bounds := bounds_in(span, start)) is not None:
        if bounds.minimum is not None or bounds.maximum is not None:
            ends.add(bounds.end)
        inside.update(range(bounds.start + 1, bounds.end))
        start = max(bounds.end, start + 1)
    return ends, inside


def _answered(span: Span, position: int) -> bool:
    """Behind `y/n`."""
    return any(span.at("yes_no", position - back) == back > 1 for back in (2, 3, 4, 5) if back <= position)


def _is_so(span: Span, start: int, position: int) -> bool:
    """Behind `tank rinsed`, `nozzles not blocked`: a thing, and how it is."""
    before = position - 1
    return before > start and span.any_at(("state", "good", "bad"), before) == 1 and not span.at("qualifier", before)


def _begins(span: Span, position: int) -> bool:
    """In front of `any ...`, `how many ...`, `photo of ...`, `top up ...`."""
    before = position - 1
    if span.any_at(("preposition", "and", "or", "article", "pronoun", "if", "not", "photo_verb", "confirm"), before):
        return False
    if span[before].is_number or not span[before].is_word or span.any_at(("also", "record", "measure"), before):
        return False
    if span.at("there", position) or span.at("how_much", position) or span.at("count", position) > 1:
        return True
    if (noun := span.at("photo", position)) and span.at("of", position + noun):
        return True
    task, length = task_at(span, position)
    return task == "act" and length > 1


def _title(span: Span, end: int) -> int | None:
    """Behind `morning aquarium round`: the name of a job, where no verb goes before."""
    head = span.sub(0, min(end, _MAX_TITLE))
    found = head.find_any(("checklist", "job_noun"), 1)
    if found is None or found[1] >= end or task_at(head)[0] or head.sub(0, found[0]).has("request", "be"):
        return None
    behind = span.any_at(("containing", "please", "please_last", "for", "preposition", "and", "be"), found[1])
    return None if behind or not span[found[1]].is_word else found[1]
