"""Parts of the work that running text names: `Kitchen: ...`, `In the kitchen check ...`."""

from dataclasses import dataclass
from typing import Final

from .clauses import is_one_choice
from .quantities import amount_at, bounds_in
from .tasks import is_task, task_at
from .words import Span

_MAX_TITLE_WORDS: Final = 6
_MAX_ANNOUNCED: Final = 3
_FIELDS: Final = (
    "number_noun",
    "name_noun",
    "date_noun",
    "time_noun",
    "datetime_noun",
    "serial_noun",
    "scan_noun",
    "choice_noun",
    "remarks",
    "rate",
    "several",
    "notice",
    "photo",
    "signature",
    "long_noun",
    "if",
    "question",
    "wh",
    "who",
    "choose",
)


@dataclass(slots=True)
class Part:
    """A title, and what is said under it."""

    title: Span
    rest: Span


def parts_before_colons(span: Span) -> list[Span]:
    """A sentence with several `Title: ...` in it, cut before each of them."""
    cuts: list[int] = []
    for position in span.places(":", start=1):
        if position >= len(span) - 1 or span[position + 1].start == span[position].end:
            continue
        for back in range(position - 1, max(position - _MAX_TITLE_WORDS, 0), -1):
            if span[back].text in ",;":
                title = span.sub(back + 1, position)
                if len(title) and not title.any_at(_FIELDS) and title[0].text[:1].isupper():
                    cuts.append(back)
                break
    pieces: list[Span] = []
    start = 0
    for cut in cuts:
        pieces.append(span.sub(start, cut))
        start = cut + 1
    pieces.append(span.sub(start))
    return pieces


def _ends_title(span: Span, position: int) -> bool:
    token = span[position]
    if token.text == ":":
        return True
    spaced = span[position - 1].end < token.start and token.end < span[position + 1].start
    return token.text in "-–—" and spaced and len(list(span.places(",", start=position))) >= 2


def titled_part(span: Span) -> Part | None:
    """`Kitchen: wipe worktops, empty bin`."""
    last = min(len(span) - 2, _MAX_TITLE_WORDS + 1)
    colon = next((i for i in span.places(":-–—", start=1) if i > last or _ends_title(span, i)), None)
    if colon is None or colon > last:
        return None
    title, rest = span.sub(0, colon).stripped(), span.sub(colon + 1).stripped(" -–")
    if (
        not len(title)
        or not len(rest)
        or title.sign(",;") is not None
        or len(title) > _MAX_TITLE_WORDS
        or any(amount_at(title, i) and not title.at("section_word") for i in range(len(title)))
    ):
        return None
    if (
        title.any_at(_FIELDS)
        or title.has("number_noun", "if", "choice_noun", "rating_noun", "date_noun", "several", "choose")
        or is_one_choice(span)
    ):
        return None
    if is_task(title) and not title.has("place"):
        return None
    if 0 < (length := title.at("in_place")) < len(title) and title.has("place"):
        title = title.sub(length)
    several = rest.sign(",;") is not None or rest.has("and")
    if not several and not title.has("place", "section_word", "section_break"):
        return None
    return Part(title, rest)


def announced_part(span: Span) -> Span | None:
    """`First of all, the lobby.`, `Next comes the kitchen.`: the part that the following sentences are about."""
    length = span.at("announce")
    rest = span.sub(length).stripped(" ,.:!") if length else span.sub(0, 0)
    rest = rest.sub(rest.at("article"))
    if not 0 < len(rest) <= _MAX_ANNOUNCED or is_task(rest) or any(not token.is_word for token in rest):
        return None
    return rest if rest.has("place", "section_word") else None


def placed_part(span: Span) -> Part | None:
    """`In the kitchen check the oven`."""
    if (phase := _phase(span)) is not None:
        return phase
    length = span.at("in_place")
    if not length or span.any_at(("overall", "containing", "at_least", "at_most", "if", "as_options", "for_each")):
        return None
    for end in range(length + 1, min(length + 6, len(span))):
        comma = span[end].text == ","
        rest = span.sub(end + comma)
        if not comma and rest.at("article") and span.sub(length, end).has("place") and rest.has("it_should"):
            return Part(span.sub(length, end), rest)  # `In the cellar the pump needs to be off`
        if is_task(rest) or (comma and len(rest)) or rest.any_at(("it_should", "also")) > 1:
            place = span.sub(length, end)
            if (modal := place.find("modal", 1)) is not None:
                place = place.sub(0, modal[0])  # `für die Vorstellung muss der Inspizient ...`
            if amount_at(place, 0) or not place[0].is_word or place.has("if"):
                return None
            return Part(place, rest) if is_task(rest) or place.has("place") else None
        if span[end].text in ":;.?":
            return None
    return None


def _phase(span: Span) -> Part | None:
    """`Before the flight, check that the canopy is clean`: the phase of the work is its title."""
    length = span.at("section_break")
    if not length or span.at("overall"):
        return None
    for end in range(length + 1, min(length + _MAX_TITLE_WORDS, len(span))):
        if span[end].text in ":;.?!" or span.has("if"):
            return None
        if span[end].text == ",":
            title, rest = span.sub(0, end), span.sub(end + 1).stripped()
            return Part(title, rest) if task_at(rest)[0] and not is_task(title) and not bounds_in(title) else None
    return None
