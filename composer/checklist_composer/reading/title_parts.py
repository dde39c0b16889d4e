"""Titles with an occasion: `Lecture hall 4, after the talk: ...`, `Gallery, start of each day. ...`."""

from typing import Final

from .intro import Intro
from .tasks import is_task
from .words import Span

_MAX_NAME: Final = 6
_MAX_TIMES: Final = 6
_TIMES: Final = ("section_break", "frequency")
_SAID: Final = ("be", "bad", "number_noun", "photo", "signature", "if", "question", "wh", "remarks", "request")


def title_with_occasion(span: Span) -> Intro | None:
    """The thing in front of the comma, if nothing but when it is done follows up to a colon or the end, else None."""
    comma = next((i for i in range(1, min(_MAX_NAME + 1, len(span))) if span[i].text == ","), None)
    if comma is None or not span.any_at(_TIMES, comma + 1):
        return None
    rest = span.sub(comma + 1)
    end = next((i for i in range(1, len(rest)) if rest[i].text in ",;:.?!"), len(rest))
    if end > _MAX_TIMES or (end < len(rest) - 1 and rest[end].text != ":") or rest[min(end, len(rest) - 1)].text == "?":
        return None
    head, times = span.sub(0, comma), rest.sub(0, end)
    if head.has(*_SAID) or head.at("in_place") or is_task(head) or is_task(times.sub(times.any_at(_TIMES))):
        return None
    return Intro(head, head.text, rest.sub(end + 1))
