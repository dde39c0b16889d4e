"""Languages that say last what is done: `Türen und Fenster prüfen`.

The verb is taken from the end, and everything that is listed before it shares it, as `check doors and windows` shares
the one at the beginning. A state (`Fluchtwege frei, Feuerlöscher vorhanden und Datum notieren`) has its own say and
shares nothing.
"""

from typing import Final

from ..verb_forms import looks_like_infinitive
from .quantities import bounds_in
from .words import Span, remembered

TASKS: Final = (
    "confirm",
    "check",
    "measure",
    "record",
    "describe",
    "count",
    "rate",
    "choose",
    "scan",
    "act",
    "sign",
    "photograph",
)
_VERBS: Final = (*TASKS, "photo_verb")
_MAX_VERB_WORDS: Final = 4
_MAX_WORDS: Final = 14
_SAYS_MORE: Final = ("be", "question", "good", "bad", "signature", "photo", "remarks", "if", "wh", "who")
OWN_ANSWER: Final = ("name_noun", "number_noun", "date_noun", "time_noun", "choice_noun", "long_noun", "remarks")
"""Things that are written down or read off, whatever is done with the last of a list."""


@remembered
def last_verb(span: Span) -> tuple[Span, Span] | None:
    """What is to be done with what, and the verb, when the span ends in one; None in languages that do not."""
    if not span.words.language.verb_last or len(span) > _MAX_WORDS or (len(span) and span[len(span) - 1].text == "?"):
        return None
    span = span.stripped()
    whole, span = span, _before_parentheses(span)
    if _ends_in_unknown_verb(span):
        return whole.without(len(span) - 1, len(span)).stripped(",.;:!–—- "), span.sub(len(span) - 1)
    for length in range(min(_MAX_VERB_WORDS, len(span) - 1), 0, -1):
        start = len(span) - length
        marks = span.words.marks[span.index[start]]
        if (
            marks
            and any(marks.get(role) == length == span.at(role, start) for role in _VERBS)
            and _is_verb(span, start)
        ):
            rest = whole.without(start, len(span)).stripped(",.;:!–—- ")
            return (rest, span.sub(start)) if any(token.is_word or token.is_number for token in rest) else None
    return None


def _ends_in_unknown_verb(span: Span) -> bool:
    """`Zitzen dippen`: no table has all verbs; one in small letters behind a noun with its capital has the form."""
    if len(span) < 2:
        return False
    noun, verb, language = span[len(span) - 2], span[len(span) - 1], span.words.language
    return (
        noun.text[:1].isupper()
        and verb.key not in language.vocabulary
        and looks_like_infinitive(language.locale, verb.text)
    )


def _before_parentheses(span: Span) -> Span:
    if len(span) and span[len(span) - 1].text == ")":
        opening = next((position for position in range(len(span) - 1, 0, -1) if span[position].text == "("), None)
        return span if opening is None else span.sub(0, opening)
    return span


def _is_verb(span: Span, start: int) -> bool:
    # Nouns have capitals (`die Reinigung der Planen`); whoever writes without any is taken at their word.
    word = span[start].text
    if span.at("count", start) and not word.casefold().endswith("en"):
        return False  # `brutwaben anzahl`
    return word.islower() or not any(token.text[:1].isupper() for token in span.sub(0, start))


def shares_verb(span: Span, verb: Span | None = None) -> bool:
    """Whether a thing can be meant by a verb that comes later: it says nothing itself."""
    if verb is not None and span.has(*OWN_ANSWER) and not verb.any_at(("check", "measure", "record", "confirm")):
        return False
    if not len(span) or span.has(*_SAYS_MORE) or span.any_at((*TASKS, "it_should")) or bounds_in(span) is not None:
        return False
    last = next((token for token in reversed(list(span)) if token.is_word), None)
    # A thing ends in a noun, which has a capital; `vorhanden` is a state.
    return last is not None and not (last.text.islower() and any(token.text[:1].isupper() for token in span))


def with_last_verbs(said: list[tuple[Span, Span | None]]) -> list[tuple[Span, Span | None]]:
    """Things with the verbs that they share: what stands before `Fenster prüfen` is to be checked, too.

    Two things that the same is done to (`Tische und Stühle abwischen`) are one.
    """
    shared: list[tuple[Span, Span | None]] = []
    coming: Span | None = None
    for span, verb in reversed(said):
        own = last_verb(span) if verb is None else None
        if own is not None:
            coming = own[1]
        elif coming is not None and verb is None and shares_verb(span, coming) and not _apart(span, shared[-1][0]):
            shared.append((span, coming))
            continue
        else:
            coming = None
        shared.append((span, verb))
    shared.reverse()
    if (
        len(shared) == 2
        and (verb := shared[0][1]) is not None
        and verb.at("act")
        and verb.index[0] > shared[0][0].index[0]
    ):
        first, second = shared[0][0], shared[1][0]
        if len(first) <= 3 and len(second) <= 4:
            return [(Span(first.words, range(first.index[0], second.index[-1] + 1)), None)]
    return shared


def _apart(span: Span, following: Span) -> bool:
    between = range(span.index[-1] + 1, following.index[0])
    return any(token.text == ";" for token in Span(span.words, between))
