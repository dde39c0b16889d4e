"""The forms that alternatives have in a sentence: `dry, rain or snow`, `low/ok/high`, `either cash or card`."""

from dataclasses import dataclass
from typing import Final

from ..language import fold
from .quantities import amount_at, unit_at
from .words import Span, remembered

MAX_OPTION_WORDS: Final = 8


@dataclass(slots=True)
class Options:
    """The span without the options, and the options in the writer's words."""

    head: Span
    labels: list[str]
    several: bool = False


def _or_at(span: Span, position: int) -> int:
    """The `or` between alternatives; that of `165 °F or higher` is none."""
    return 0 if span.any_at(("after_number_least", "after_number_most"), position) else span.at("or", position)


@remembered
def pieces_of(span: Span) -> list[Span]:
    """What stands between commas, slashes and `or`."""
    pieces: list[Span] = []
    start = 0
    for position in span.places(",|;/", "or"):
        if position < start:
            continue
        length = _or_at(span, position) or int(span[position].text in ",|;" or _is_slash(span, position))
        if length:
            pieces.append(span.sub(start, position))
            start = position + length
    pieces.append(span.sub(start))
    return [piece for piece in (piece.stripped("., ;:()[]?!") for piece in pieces) if len(piece)]


def _is_slash(span: Span, position: int) -> bool:
    """A slash between alternatives, and none within a unit (`Mbit/s`)."""
    if span[position].text != "/":
        return False
    if any(span.at("tolerance", position - back) > back for back in (1, 2) if position >= back):
        return False  # `230 V +/- 10 %`
    if 0 < position < len(span) - 1 and span[position - 1].is_number and span[position + 1].is_number:
        return False  # `1/4, 1/2, full`
    return not any(
        (unit := unit_at(span, position - back)) and unit[2] > position for back in (1, 2) if position >= back
    )


def has_slash(span: Span) -> bool:
    """Whether a slash or a bar stands between alternatives."""
    return any(span[position].text == "|" or _is_slash(span, position) for position in span.places("|/"))


def last_is_or(tail: Span) -> bool:
    """Whether the last thing of an enumeration is joined by `or`; one in the midst of it joins words only."""
    last = 0
    for position in tail.places(",;", "or"):
        if tail[position].text in ",;" or _or_at(tail, position):
            last = position
    while last + 1 < len(tail) and _or_at(tail, last + 1):
        last += 1
    return bool(_or_at(tail, last))


def tidy(piece: Span) -> str:
    """An option in the writer's words, with a capital."""
    text = piece.text
    return text[:1].upper() + text[1:]


def numbers(span: Span) -> Options | None:
    """`program 40, 60 or 90 degrees`."""
    first = next((i for i in range(1, len(span)) if span[i].is_number), None)
    if first is None or span.sub(0, first).has("photo", "between", "at_least", "at_most"):
        return None
    labels: list[str] = []
    position, end, said_or = first, first, False
    while position < len(span) and (amount := amount_at(span, position)) is not None:
        labels.append(span.sub(position, amount.end).text)
        end = position = amount.end
        if position < len(span) and (length := span.at("or", position) or int(span[position].text == ",")):
            said_or = said_or or bool(span.at("or", position))
            position += length
    if not said_or or len(labels) < 2 or end != len(span.stripped()) or position > end:
        return None
    unit = amount_at(span.sub(0, end), end - 2) or amount_at(span.sub(0, end), end - 1)
    shown = unit.unit if unit is not None and unit.unit else ""
    plain = [label.split(" ")[0] if shown and label == labels[-1] else label for label in labels]
    return Options(span.sub(0, first), [f"{label} {shown}".strip() for label in plain])


def bare(span: Span) -> Options | None:
    """`dry, rain or snow`, and nothing else."""
    pieces = pieces_of(span)
    if len(pieces) < 3 or not last_is_or(span.stripped()) or any(len(piece) > 2 for piece in pieces):
        return None
    if not any(piece.at("grade_word") == len(piece) for piece in pieces):
        return None
    return Options(span.sub(0, 0), [tidy(piece) for piece in pieces])


def opposed(span: Span) -> Options | None:
    """`paid by cash or card`: one excludes the other."""
    span = span.stripped("?.! ")
    last = len(span) - 1
    if last < 2 or not span.at("or", last - 1) or span.at("question") or span.sign(",;:(") is not None:
        return None
    labels = [span[last - 2].text, span[last].text]
    if frozenset(map(fold, labels)) not in span.words.language.opposites:
        return None
    head = span.sub(0, last - 2)
    while len(head) and head.any_at(("be", "either"), len(head) - 1) == 1:
        head = head.sub(0, len(head) - 1)
    return Options(head, [label[:1].upper() + label[1:] for label in labels])


def graded(span: Span) -> Options | None:
    """`polish stock ok, low or out`: grades in a row, the first of them behind what they are of."""
    span = span.stripped("?.! ")
    pieces = pieces_of(span)
    if len(pieces) < 3 or not last_is_or(span) or any(len(piece) > 1 for piece in pieces[1:]) or len(pieces[0]) > 5:
        return None
    first = pieces[0]
    if not first.at("grade_word", len(first) - 1) or any(not piece.at("grade_word") for piece in pieces[1:-1]):
        return None
    grade = first.sub(len(first) - 1)
    return Options(first.sub(0, len(first) - 1), [tidy(piece) for piece in (grade, *pieces[1:])])


def after_either(span: Span) -> Options | None:
    either = span.find("either")
    if either is None:
        return None
    pieces = pieces_of(span.sub(either[1]))
    if len(pieces) < 2 or any(len(piece) > MAX_OPTION_WORDS for piece in pieces):
        return None
    head = span.sub(0, either[0])
    while len(head) and (head.at("be", len(head) - 1) or head.at("article", len(head) - 1)):
        head = head.sub(0, len(head) - 1)
    return Options(head, [tidy(piece) for piece in pieces])


def question(span: Span) -> Options | None:
    """`Is the tank full, half full or empty?`; of two words only when one excludes the other."""
    if not span.at("question") or span.at("there") or not span.has("or"):
        return None
    pieces = pieces_of(span)
    if len(pieces) < 2:
        return None
    last = pieces[-1]
    words = pieces[0]
    first = words.sub(len(words) - len(last)) if len(words) > len(last) + 1 else words.sub(len(words) - 1)
    options = [first, *pieces[1:]]
    if any(len(option) > 3 for option in options):
        return None
    if (
        len(options) == 2
        and frozenset(option.text.casefold() for option in options) not in span.words.language.opposites
    ):
        return None
    return Options(span, [tidy(option) for option in options])


def after_as(span: Span) -> Options | None:
    """`mark the state as good, fair or poor`."""
    if not span.has("or"):
        return None
    found = span.find("as_options", 1)
    if found is None or not last_is_or(span.sub(found[1])):
        return None
    position, end = found
    pieces = pieces_of(span.sub(end))
    if len(pieces) < 2 or any(len(piece) > 4 for piece in pieces):
        return None
    return Options(span.sub(0, position), [tidy(piece) for piece in pieces])


def slashes(span: Span) -> Options | None:
    """`Oil level low/ok/high`."""
    first = next((i for i in span.places("/", start=1) if i < len(span) - 1 and _is_slash(span, i)), None)
    if first is None or not span[first - 1].is_word or span.sign(",;([") is not None:
        return None
    start = first - 1
    end = start
    labels: list[str] = []
    position = start
    while position < len(span):
        next_slash = next(span.places("/", start=position), len(span))
        labels.append(tidy(span.sub(position, next_slash).stripped()))
        end = next_slash
        position = next_slash + 1
    verdict = start > 0 and span.at("verdict", start) == 1
    if len(labels) < 3 and not verdict and not span.sub(0, start).has("choice_noun"):
        return None
    if end != len(span) or any(len(label.split()) > 3 or not label for label in labels):
        return None
    return Options(span.sub(0, start), labels)
