"""Whether a clause begins with something to do, and what kind of doing it is."""

from typing import Final

from ..verb_forms import looks_like_infinitive
from .last_verbs import last_verb
from .modifiers import photo_count
from .words import Span, remembered

_TASKS: Final = (
    "confirm", "check", "describe", "measure", "record", "count", "how_much", "rate", "choose", "scan", "photograph",
    "sign", "act",
)  # fmt: skip
_BEFORE_PHOTO: Final = ("we", "photo_verb", "article", "pronoun", "at_least", "at_most")
_WRITTEN: Final = (
    "name_noun", "number_noun", "date_noun", "time_noun", "datetime_noun", "long_noun", "serial_noun", "scan_noun",
    "choice_noun", "remarks", "location", "count",
)  # fmt: skip
_NAMED: Final = (*_WRITTEN, "duration_noun", "frequency")
_STATES: Final = ("be", "good", "bad", "not", "state", "recorded", "number_noun", "job_noun", "checklist")


@remembered
def task_at(span: Span, position: int = 0) -> tuple[str, int]:
    """The kind of doing that begins here and how many words it has: the longest phrase; of equals the first kind.

    Nothing (`("", 0)`) for a word that is a noun as well, unless an object shows that it is meant as a verb: `water the
    plants`, but `water temperature`.
    """
    best, length = _longest(span, position)
    if not best and position == 0 and _is_unknown_verb(span):
        return "act", 1
    if not best and position == 0 and span.at("photo_verb") and _hands_over(span):
        best, length = "act", 1
    if best == "record" and span.at("act", position) == length and not span.has(*_WRITTEN):
        best = "act"  # `give the name`, but `give the medicine`
    if best == "act" and span.any_at(_NAMED, position) > length:
        return "", 0  # `boil time`, `start of shift`: the words together are a noun
    if length == 1 and best != "confirm" and _is_noun(span, position, best):
        return "", 0
    return best, length


def _longest(span: Span, position: int) -> tuple[str, int]:
    best, length = "", 0
    marks = span.words.marks[span.index[position]] if 0 <= position < len(span.index) else None
    for role in _TASKS if marks else ():
        found = span.at(role, position)
        if found > length:
            best, length = role, found
    return best, length


def verb_kind(verb: Span) -> str:
    """The kind of doing of what is known to be a verb, though it may be a noun elsewhere: `note the a and the b`."""
    return _longest(verb, 0)[0]


def _hands_over(span: Span) -> bool:
    """`take the rubbish with you`: what photos are taken with is a verb of other things, too."""
    if span.at("preposition") or not span.at("article", 1) or len(span) < 3:
        return False
    return not span.has("photo", "signature", *_WRITTEN)


def _is_unknown_verb(span: Span) -> bool:
    """`tremper les trayons`, `sellar los pezones`: no table has all verbs, but an infinitive has its form."""
    language = span.words.language
    if language.verb_last or len(span) < 2 or not span.at("article", 1) or span.at("of", 1):
        return False
    word = span[0]
    return word.key not in language.vocabulary and looks_like_infinitive(language.locale, word.text.casefold())


def _is_noun(span: Span, position: int, role: str) -> bool:
    if span.words.language.verb_last and _is_capital_infinitive(span, position):
        return True
    if role == "act" and (span.at("name_noun", position + 1) or _is_number_sign(span, position + 1)):
        return True  # `order number`
    if span.at("noun_too", position):
        return not _has_object(span, position + 1)
    if role != "act" or span.any_at(("article", "pronoun", "particle", "each"), position + 1):
        return False
    last = len(span) - 1
    return last > position + 1 and bool(span.any_at(("state", "recorded"), last)) and not span.words.language.verb_last


def _is_number_sign(span: Span, position: int) -> bool:
    """`order no`, `batch no.`, and nothing behind it."""
    length = span.at("number_sign", position)
    return bool(length) and position + length >= len(span.stripped())


def _is_capital_infinitive(span: Span, position: int) -> bool:
    """`Schrauben locker`: a German infinitive in front of something else is a noun; `Prüfen Sie ...` is none."""
    following = span.sub(position + 1, position + 2)
    if not span[position].text.endswith("en") or not span[position].text[:1].isupper() or not len(following):
        return False
    return (
        following[0].is_word and not following.any_at(("article", "pronoun", "and", "or")) and following.text.islower()
    )


def _has_object(span: Span, position: int) -> bool:
    if position >= len(span):
        return False
    token = span[position]
    if token.text in ",;:.?!)-–/" or span.at("and", position) or span.at("or", position):
        return False
    if span.at("of", position):
        return False  # `firma del cliente`
    if span.any_at(("article", "pronoun", "particle", "each"), position) or token.is_number:
        return True
    if span.words.language.locale in {"es", "fr"}:
        return False  # their nouns have an article
    rest = span.sub(position)
    return not rest.has(*_STATES) and len(rest) <= 3 and not span.at("preposition", position)


def is_task(span: Span) -> bool:
    """Whether it is something to do."""
    return bool(task_at(span)[0]) or photo_request(span) is not None or last_verb(span) is not None


@remembered
def photo_request(span: Span) -> tuple[int, int | None] | None:
    """How many photos a clause asks for that is about photos only."""
    if task_at(span)[0] == "photograph" and len(span) > 1:
        return 1, None
    if (found := last_verb(span)) is not None and found[1].at("photograph"):
        return 1, None
    noun = span.find("photo")
    if noun is None:
        return None
    fewest, most, start = photo_count(span, noun[0])
    lead = start
    while (
        lead
        and 1 <= span.any_at(("photo_verb", "article", "pronoun", "at_least", "at_most"), lead - 1) <= start + 1 - lead
    ):
        lead -= 1
    if lead == 0:
        return fewest, most
    if (
        noun[1] == len(span)
        and noun[0] <= 3
        and not span.sub(0, noun[0]).has("containing")
        and not span.any_at(("check", "confirm", "act"))
    ):
        return fewest, most  # `damage photos`
    if span.words.language.verb_last and span.at("photo_verb", len(span) - 1):
        return fewest, most
    return None
