"""When and for what something is done, said in front of it: `During the harvest we have to note the plot, ...`."""

from dataclasses import dataclass
from typing import Final

from .quantities import bounds_in
from .tasks import is_task, task_at
from .words import Span

_MAX_WORDS: Final = 8
_OPENING: Final = ("preposition", "in_place", "for", "section_break")
_PEOPLE: Final = ("we", "pronoun")
_NOTING: Final = frozenset({"record", "measure"})


@dataclass(slots=True)
class Setting:
    """What is left of the sentence; `noted` says that what it lists is to be written down."""

    rest: Span
    noted: bool = False
    times: Span | None = None


def without_setting(span: Span) -> Setting:
    """The sentence from what has to be done on, if a phrase of time, place or purpose stands before it."""
    if not span.any_at(_OPENING) or span.any_at(("if", "only_if", "unless", "overall")):
        return Setting(span)
    for position in range(2, min(_MAX_WORDS, len(span))):
        if not span[position].is_word and span[position].text != ",":
            break
        length = span.at("it_should", position)
        if length and is_task(rest := span.sub(position + length)) and bounds_in(span.sub(0, position)) is None:
            return Setting(_without_time(rest))
        if (done := _behind_actor(span, position)) is not None:
            return Setting(done, times=span.sub(0, position))
        if (modal := span.at("modal", position)) and span.any_at(_PEOPLE, position + modal):
            return _after_colon(span, position + modal) or Setting(span)
    return Setting(span)


def _behind_actor(span: Span, position: int) -> Span | None:
    """`Vor der Fahrt muss der Fahrer sicherstellen, ...`: from what has to be done on."""
    modal = span.at("modal", position)
    article = span.at("article", position + modal) if modal and span.words.language.verb_last else 0
    actor = position + modal + article
    if not article or actor + 1 >= len(span) or not span[actor].text[:1].isupper():
        return None
    rest = span.sub(actor + 1)
    return rest if task_at(rest)[0] in {"check", "confirm"} else None


def _after_colon(span: Span, start: int) -> Setting | None:
    """`... müssen wir täglich festhalten: Parzelle, ...`: the verb stands before the colon."""
    colon = next((i for i in range(start, min(start + _MAX_WORDS, len(span))) if span[i].text == ":"), None)
    if colon is None or colon + 1 >= len(span):
        return None
    done = task_at(span, colon - 1)[0] or next((role for role in _NOTING if span.at(role, colon - 1)), "")
    return Setting(span.sub(colon + 1), noted=done in _NOTING) if done else None


def _without_time(rest: Span) -> Span:
    """`relever chaque jour la parcelle` without how often."""
    length = task_at(rest)[1]
    often = rest.at("frequency", length) if length else 0
    return rest.without(length, length + often) if often else rest
