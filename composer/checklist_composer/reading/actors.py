"""Who does it: `the driver checks the brakes`, `der Wachdienst soll die Türen prüfen`. The label says what is done."""

from typing import Final

from .last_verbs import last_verb
from .quantities import amount_at
from .tasks import task_at
from .words import Span

_PEOPLE: Final = ("performer", "signer", "self")
_MAX_ACTOR: Final = 4
_MAX_ASKED: Final = 9
_ASKED: Final = frozenset({"check", "confirm", "measure", "record", "describe", "count", "photograph", "scan"})


def without_actor(span: Span) -> Span:
    """The span from its verb on, when somebody is named before it who does it. Who signs stays: that is the step."""
    span, whole = span.sub(_often(span)), span
    if (rest := _asked_of_somebody(span)) is not None:
        return rest
    found = _without_known_actor(span)
    return whole if len(found) == len(span) else found


def _without_known_actor(span: Span) -> Span:
    start = span.at("article")
    for position in range(start, min(start + _MAX_ACTOR, len(span))):
        length = span.any_at(_PEOPLE, position)
        if not length or (position > start and not _is_part_of_name(span, start, position)):
            continue
        rest = span.sub(position + length)
        rest = rest.sub(rest.at("also"))  # `he also empties the skimmers`
        if modal := rest.at("modal"):
            rest = rest.sub(modal)
            doing = task_at(rest)[0] or ("do" if last_verb(rest) is not None else "")
        else:
            doing = task_at(rest)[0]
        # `Techniker anrufen` is about somebody: a verb needs something that is done.
        doing = "" if task_at(rest)[1] >= len(rest) else doing
        return rest if doing and doing != "sign" and not span.at("sign", len(span) - 1) else span
    return _after_modal(span, start)


def _often(span: Span) -> int:
    """How many words say how often: `every morning`, `every two hours`."""
    if length := span.at("frequency"):
        return length
    length = span.at("each")
    amount = amount_at(span, length) if length else None
    return amount.end if amount is not None and amount.kind == "duration" else 0


def _asked_of_somebody(span: Span) -> Span | None:
    """`The first person in should check ...`: only people check, measure and write down, whatever they are called."""
    for position in range(1, min(_MAX_ASKED, len(span))):
        if not span[position].is_word:
            return None
        if not (modal := span.at("modal", position)):
            continue
        rest = span.sub(position + modal)
        task, length = task_at(rest)
        asked = task in _ASKED and length < len(rest) and not span.sub(0, position).has("be", "if", "confirm", "modal")
        return rest if asked and not task_at(span)[0] else None
    return None


def _after_modal(span: Span, start: int) -> Span:
    """`Der Bäcker soll ... messen`, `le boulanger doit mesurer la ...`: who has to do something to something."""
    for position in range(start + 1, min(start + _MAX_ACTOR, len(span))) if start else ():
        modal = span.at("modal", position)
        if not modal:
            continue
        rest = span.sub(position + modal)
        task, length = task_at(rest)
        if last_verb(rest) is not None or (
            task not in {"", "sign"} and rest.any_at(("article", "number_noun"), length)
        ):
            return rest
        return span
    return span


def _is_part_of_name(span: Span, start: int, position: int) -> bool:
    """`the night guard`: one word of its kind may stand before."""
    return position == start + 1 and span[start].is_word
