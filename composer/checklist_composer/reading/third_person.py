"""Sentences that tell who does it (`After each class the coach records the room number, wipes the mats and ...`),
turned into what they ask for: `record the room number, wipe the mats and ...`.

Only English: the verbs of the other languages are known in the third person, too (`verb_forms`). Who signs is kept, as
it is not whoever fills it in.
"""

from dataclasses import dataclass
from typing import Final

from .supposed import words_of
from .words import Span, Words

_FIRST_VERB: Final = 14
"""How far from the beginning somebody may be named who does it."""
_MAX_NAME: Final = 3
_SHORTEST: Final = 4
_DOING: Final = (
    "act",
    "check",
    "confirm",
    "record",
    "measure",
    "count",
    "scan",
    "photograph",
    "rate",
    "describe",
    "photo_verb",
    "choose",
)
_ASKED: Final = ("check", "confirm", "record", "measure", "count", "scan", "photograph", "describe", "rate")
_PEOPLE: Final = ("performer", "signer", "self")
_OBJECT: Final = ("article", "pronoun", "each", "particle", "at_least", "whether", "that_clause", "relative")
_TIMES: Final = ("section_break", "frequency", "each", "when")


@dataclass(frozen=True, slots=True)
class Told:
    """The sentence as instructions, and what it is before or after: `the parade`."""

    text: str
    occasion: str


def instructions_of(span: Span) -> Told | None:
    """What a sentence asks for that tells who does what, or None when it tells nobody's doing."""
    if span.words.language.locale != "en" or span.sign("?") is not None:
        return None
    if span.has("sign", "if_certain", "executor", "identity"):
        return None
    for position in _places(span):
        if not _may_be_verb(span, position):
            continue
        start = _name_before(span, position)
        if start is None:
            continue
        times = span.sub(0, start).stripped(", ")
        occasion = times.any_at(_TIMES) > 0
        if len(times) and not occasion:
            return None
        told = _with_base_forms(span, position)
        first = Words(span.words.language, told).span()
        if not first.any_at(_DOING) or not (first.any_at(_ASKED) or occasion or span.any_at(_PEOPLE, position - 1)):
            return None
        told = _after_tour(first)
        return Told(f"{times.text}, {told}" if times.at("if") else told, _occasion(times))
    return None


def _places(span: Span) -> list[int]:
    """Where the verb may stand that says what is done: behind a subordinate clause, if one comes first."""
    places = list(range(1, min(_FIRST_VERB, len(span) - 1)))
    comma = next((i for i in places if span[i].text == ","), None)
    if comma is None or not span.any_at(("if", "section_break")):
        return places
    return [place for place in places if place > comma] + [place for place in places if place < comma]


def _after_tour(span: Span) -> str:
    """`walk the route: barriers placed, ...`: what is seen on the way is what is asked for."""
    colon = next((i for i in range(1, min(_MAX_NAME + 4, len(span) - 1)) if span[i].text == ":"), None)
    if colon is None or not span.any_at(("tour", "check")):
        return span.text
    return span.sub(colon + 1).text


def _base(word: str) -> tuple[str, ...]:
    """What a verb's third person may come from: `watches`, `carries`, `notes`."""
    if word.endswith("ies"):
        return (word[:-3] + "y",)
    return (word[:-1], word[:-2]) if word.endswith("es") else (word[:-1],)


def _spelled_base(word: str) -> str | None:
    """The base of a verb that no table has, by its spelling."""
    if not word.islower() or not word.endswith("s") or word.endswith("ss") or len(word) < _SHORTEST:
        return None
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")) else word[:-1]


def _base_at(span: Span, position: int) -> str | None:
    word = span[position].text
    if (
        not span[position].is_word
        or not word.islower()
        or not word.endswith("s")
        or word.endswith("ss")
        or len(word) < _SHORTEST
    ):
        return None
    language = span.words.language
    following = span.key(position + 1)
    for base in _base(word):
        roles = words_of(f"{base} {following}", span)  # `looks for`, `writes down` are verbs with two words
        if (base in language.vocabulary or roles.any_at(_DOING) > 1) and roles.any_at(_DOING):
            return base
    return None


def _may_be_verb(span: Span, position: int) -> bool:
    following = span[position + 1]
    if not following.is_word or span.any_at(("be", "modal", "and"), position + 1) or _base_at(span, position) is None:
        return False
    return span.any_at(_OBJECT, position + 1) > 0 or span.any_at(("preposition", "both"), position + 1) > 0


def _name_before(span: Span, position: int) -> int | None:
    """Where the name of who does it begins: an article and up to three words, or he and she."""
    if span.at("self", position - 1) and not span.at("article", position - 1):
        return position - 1
    for back in range(2, _MAX_NAME + 2):
        start = position - back
        if start < 0:
            return None
        if span.at("article", start):
            between = span.sub(start + 1, position)
            plain = all(token.is_word for token in between) and not between.has("preposition", "be", "modal", "and")
            return start if plain and not span.at("each", start) else None
    return None


def _with_base_forms(span: Span, first: int) -> str:
    """The words from the first verb on, with every verb behind a comma or an `and` as one says it to somebody."""
    pieces: list[str] = []
    start = span[first].start
    for position in range(first, len(span)):
        opens = (
            position == first
            or span[position - 1].text in ",;"
            or span.at("and", position - 1)
            or span.at("then", position - 1)
        )
        later = _may_be_verb(span, position) or _verb_with_object(span, position) or span.at("article", position + 1)
        if not opens or (position > first and not later):
            continue
        base = _base_at(span, position) or (
            _spelled_base(span[position].text) if span.at("article", position + 1) else None
        )
        if base is not None:
            pieces.append(span.words.text[start : span[position].start] + base)
            start = span[position].end
    return "".join(pieces) + span.words.text[start : span[len(span) - 1].end]


def _verb_with_object(span: Span, position: int) -> bool:
    """`and notes serial numbers`: no article, but what is known to be written down."""
    return (
        bool(span.any_at(("name_noun", "number_noun", "serial_noun", "date_noun"), position + 1))
        or span[position + 1].is_number
    )


def _occasion(times: Span) -> str:
    length = times.at("section_break")
    if not length:
        return ""
    rest = times.sub(length)
    while len(rest) > 1 and (skip := rest.any_at(("article", "each"))):
        rest = rest.sub(skip)
    return rest.text if 0 < len(rest) <= _MAX_NAME else ""
