"""The sentence that begins with a job which the library knows, in words that no rule of language would take for one:
`Forklift pre-use with a photo of the tyres`."""

from collections.abc import Iterator
from typing import Final

from ..ranking import names_job
from .intro import Intro
from .last_verbs import last_verb
from .quantities import bounds_in
from .tasks import is_task, task_at
from .words import Span

_MAX_JOB_WORDS: Final = 14
_ASKING: Final = {
    "en": {"what", "how"},
    "de": {"was", "wie", "worauf"},
    "es": {"que", "como"},
    "fr": {"que", "comment", "quels", "quelles"},
}
"""`Was muss ich bei der Wohnungsübergabe beachten?`"""
_READING_OFF: Final = ("measure", "count", "photograph", "scan")
_ASKED: Final = ("request", "also", "article", "meta", "please")
_MARKS: Final = ",;:.!?–—"


def known_job_of(span: Span) -> Intro | None:
    """The longest beginning of a sentence that is the name of a job, and the rest of the sentence.

    Not a question, unless it asks what to check; nor the first of several things to do.
    """
    if "?" in span.text and not span.has("check") and span.key(0) not in _ASKING[span.words.language.locale]:
        return None
    start = _after_request(span)
    if span.at("in_place", start) or (span.at("number_noun", start) and bounds_in(span) is not None):
        return None  # `In the warehouse: ...`, `temperature of the server room below 27 °C`
    ends = list(_ends(span, start))
    for end in ends:
        head = span.sub(start, end).stripped(_MARKS)
        # What comes before the first comma or "with" may hold more than the name: whose job it is, where.
        loosely = end == ends[-1]
        rest = span.sub(_after_mark(span, end))
        whole = _is_whole(span, head, rest)
        if ":" in head.text:
            continue  # it ends a name: `Hive inspection: hive number, ...`
        if _has_bounds(head) or _is_reading_off(head) or not 0 < len(head) <= _MAX_JOB_WORDS:
            continue
        if not _names_job(head, loosely=loosely, whole=whole):
            head = _without_place(head)
            if end != ends[0] or len(head) == end - start or not _names_job(head, loosely=False, whole=whole):
                continue
        if not is_task(head) or span.at("containing", end) or whole or _is_title(head, rest):
            return Intro(head, head.text, rest)
    return None


def _names_job(head: Span, *, loosely: bool, whole: bool) -> bool:
    """With what it is for, or without: `IT onboarding for a new developer`."""
    locale = head.words.language.locale
    if names_job(head.text, locale, loosely=loosely, whole=whole):
        return True
    purpose = next((position for position in range(1, len(head)) if loosely and head.at("for", position)), 0)
    if purpose > 0 and names_job(head.sub(0, purpose).text, locale):
        return True
    # And where: `vérification des extincteurs du magasin`; but `ladder in good order` is no job.
    place = next((position for position in range(len(head) - 1, 1, -1) if head.at("preposition", position)), 0)
    named = head.sub(0, place)
    return loosely and named.has("job_noun") and not is_task(named) and names_job(named.text, locale)


def _is_reading_off(head: Span) -> bool:
    """`Kühlschrank Temperatur messen` is one thing to do, and no other name for looking at all of the kitchen."""
    last = last_verb(head)
    return task_at(head)[0] in _READING_OFF or bool(last and last[1].any_at(_READING_OFF))


def _without_place(head: Span) -> Span:
    """`Kontrolle der Rolltreppe im Kaufhaus`: where it is done says nothing about the job."""
    place = next((position for position in range(2, len(head)) if head.at("in_place", position)), len(head))
    return head.sub(0, place)


def _is_whole(span: Span, head: Span, rest: Span) -> bool:
    """`Check the ladder` as a prompt of its own is a wish; as the first of many sentences it is a step."""
    return not len(rest) and len(span.words.tokens) - len(span) <= 1 and "," not in head.text


def _is_title(head: Span, rest: Span) -> bool:
    """`Restaurant schließen, Kühlschrank höchstens 4 °C`: the verb at the end may be part of a name."""
    next_mark = next((i for i in range(len(rest)) if rest[i].text in _MARKS), len(rest))
    verb_first = bool(task_at(head)[0])
    return bool(len(rest)) and not verb_first and "," not in head.text and not is_task(rest.sub(0, next_mark))


def _has_bounds(head: Span) -> bool:
    """`..., fridge 4 °C` is a detail, though each of its words be a job's; so is `fridge below 5 °C`."""
    if "," in head.text and any(token.is_number for token in head):
        return True
    bounds = bounds_in(head)
    return bounds is not None and (bounds.minimum is not None or bounds.maximum is not None)


def _after_request(span: Span) -> int:
    """`I need a ...`, `please make us the ...`."""
    position = 0
    while position < len(span) and (length := span.any_at(_ASKED, position)):
        position += length
    return position


def _ends(span: Span, start: int) -> Iterator[int]:
    """Where the job's name may end, the last place first: not behind a "with", which says what is in the list."""
    last = min(len(span), start + _MAX_JOB_WORDS + 1)
    last = next((position for position in range(start + 1, last) if span.at("containing", position)), last)
    for position in range(last, start, -1):
        if (
            position == len(span)
            or span[position].text in _MARKS
            or (span[position].text == "-" and span[position - 1].end < span[position].start)
            or span.any_at(("containing", "and", "it_should"), position)
        ):
            yield position


def _after_mark(span: Span, position: int) -> int:
    while position < len(span):
        length = int(span[position].text in _MARKS + "-") or span.any_at(("containing", "and", "it_should"), position)
        if not length:
            break
        position += length
    return position
