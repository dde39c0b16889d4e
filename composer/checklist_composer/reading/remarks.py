"""Sentences that ask for nothing themselves: they say more about the step before, or only tell something."""

from typing import Final

from checklist_crds.template_types import StepType

from ..draft import DraftStep
from ..language import Language
from ..naming import label_of
from .grades import grades_in
from .options import options_in
from .quantities import bounds_in
from .steps import without_lead
from .tasks import is_task
from .words import Span, Words

_REFERRING: Final = (
    "allowed",
    "pronoun",
    "it_should",
    "article",
    "and",
    "should_be",
    "also",
    "number_noun",
    "value_word",
)
_MAX_REFERRING: Final = 6
_MAX_ANSWER: Final = 4
_MAX_SIGNED: Final = 3
_MAX_CLOSING: Final = 4
_MAX_LINE: Final = 80
_LONG: Final = 6
_MAX_GREETING: Final = 7


def enriches(span: Span, recent: list[DraftStep]) -> bool:
    """`It must be below 5 °C.`, `This is optional.`: said of the step before; it is changed."""
    span = span.stripped(" .,;:!()?")
    if recent and recent[-1].type is StepType.BOOLEAN and len(span) and span.at("yes_no") == len(span):
        return True  # `Is it safe? Yes/No.`
    if recent and (options := _answers_to(span, recent[-1])):
        recent[-1].type, recent[-1].options = StepType.CHOICE, options
        return True
    if not recent or not span.any_at(("pronoun", "it_should", "allowed")):
        return False
    last = recent[-1]
    bounds = bounds_in(span)
    if bounds is not None and last.type in {StepType.BOOLEAN, StepType.NUMBER} and _refers(span, bounds.start):
        last.type = StepType.NUMBER
        last.unit = bounds.unit or last.unit
        last.minimum = last.minimum if bounds.minimum is None else bounds.minimum
        last.maximum = last.maximum if bounds.maximum is None else bounds.maximum
        last.hint = label_of(span.text)
        return True
    for role, value in (("optional", False), ("required", True)):
        found = span.find(role)
        if found is not None and span.at("pronoun") and found[1] >= len(span) - 1 and len(span) <= _MAX_REFERRING:
            last.required = value
            return True
    return False


def _answers_to(span: Span, asked: DraftStep) -> list[str]:
    """`Tiles missing? yes / no / not visible`: what can be answered to the question before, else nothing."""
    if asked.type is not StepType.BOOLEAN or not asked.label.endswith("?") or not span.at("yes_no"):
        return []
    pieces = [piece.strip() for piece in span.text.replace(",", "/").split("/")]
    short = all(0 < len(piece.split()) <= _MAX_ANSWER for piece in pieces)
    return [label_of(piece) for piece in pieces] if len(pieces) > 2 and short else []


def without_greeting(span: Span) -> Span:
    """The text behind `Dear team,`."""
    if not span.at("greeting"):
        return span
    for position in range(1, min(_MAX_GREETING, len(span))):
        if span[position].text in ",!.–-":
            return span if is_task(span.sub(1, position)) else span.sub(position + 1)
    return span


def without_closing(text: str, language: Language) -> str:
    """The text without the end of a letter: `Kind regards`, `Gracias, Lucía`, with nothing but a name behind it."""
    lines = text.rstrip().split("\n")
    for back in range(1, min(_MAX_CLOSING, len(lines) - 1) + 1):
        span = Words(language, lines[-back][:_MAX_LINE]).span().stripped()
        length = span.at("closing")
        names = [span.sub(length).text, *lines[len(lines) - back + 1 :]] if length else []
        if length and all(_is_name(name) for name in names):
            return "\n".join(lines[:-back])
    return text


def _is_name(text: str) -> bool:
    words = text.replace(",", " ").replace(".", " ").replace("!", " ").split()
    return len(words) <= _MAX_SIGNED and all(word[:1].isupper() for word in words)


def _refers(span: Span, end: int) -> bool:
    position = 0
    while position < end:
        length = span.any_at(_REFERRING, position)
        if not length:
            return False
        position += length
    return True


def tells(span: Span, *, among_items: bool) -> bool:
    """Whether a sentence of running text only tells something: `We run a small bakery with three ovens.`"""
    first = span.stripped()
    if first.at("request") and first.has("meta") and first.sign(":") is None:
        return bounds_in(first) is None  # `Could you please set up the following?`
    if first.at("we") and not first.at("it_should") and not first.at("request"):
        return first.sign("?:") is None and bounds_in(first) is None
    span = without_lead(span)
    if span.sign("?:") is not None:
        return False
    if span.has("meta") and not bounds_in(span):
        return True
    if (
        is_task(span)
        or span.at("it_should")
        or span.at("question")
        or span.has("photo", "signature", "remarks", "if_certain")
    ):
        return False
    if grades_in(span) is not None or options_in(span) is not None:
        return False
    return among_items and len(span) >= _LONG and span.has("be") and bounds_in(span) is None
