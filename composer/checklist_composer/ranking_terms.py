"""Words as the library compares them: without capitals, accents and endings, and what they say about a job.

Only for comparing what a query says with what the library knows; the reader of the query has its own idea of words.
"""

import re
from collections.abc import Mapping
from enum import IntEnum
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock
from typing import Final

import snowballstemmer
import yaml

from .language import fold
from .locales import Locale

__all__ = [
    "Meaning",
    "check_words",
    "compound_heads",
    "known_words",
    "meaning",
    "other_jobs",
    "plain_words",
    "says_each",
    "stem",
    "strong_stems",
    "thing_stems",
    "weak_stems",
    "word_forms",
]

_STEMMERS: Final = {"en": "english", "de": "german", "es": "spanish", "fr": "french"}
_LONGEST_WORD: Final = 40
_WORD: Final = re.compile(r"[^\W_]+")
_WHOSE: Final = re.compile(r"['’]s\b")
_STEMMER_LOCK: Final = Lock()
"""A stemmer keeps the word it works on in itself."""


class Meaning(IntEnum):
    """What a word says about the job that a query is about."""

    EMPTY = 0
    WEAK = 1
    STRONG = 2


def plain_words(text: str) -> list[str]:
    """The words of a text, in order, without the `'s` of whose something is; longer ones than any language has are
    cut."""
    return [word[:_LONGEST_WORD] for word in _WORD.findall(_WHOSE.sub(" ", text.casefold()))]


@lru_cache(maxsize=20_000)
def stem(word: str, locale: Locale) -> str:
    """The stem of a word, folded."""
    with _STEMMER_LOCK:
        return fold(_stemmer(locale).stemWord(word.casefold()))


def meaning(word: str, stemmed: str, locale: Locale) -> Meaning:
    """What a word with this stem says about a job: nothing, how or when, or what.

    A word that says nothing is known by its spelling only: `generar` is how a query is put, `generador` is a thing.
    """
    if len(word) == 1 or fold(word) in _empty(locale):
        return Meaning.EMPTY
    return Meaning.WEAK if stemmed in _weak(locale) else Meaning.STRONG


def strong_stems(text: str, locale: Locale) -> tuple[str, ...]:
    """The stems that say what a text is about; those that say how, if there are no others."""
    return _stems_that_mean(Meaning.STRONG, text, locale) or _stems_that_mean(Meaning.WEAK, text, locale)


def weak_stems(text: str, locale: Locale) -> frozenset[str]:
    """The stems of a text's words that say how, who or when."""
    return frozenset(_stems_that_mean(Meaning.WEAK, text, locale))


def says_each(text: str, locale: Locale) -> bool:
    """Whether a text speaks of each of many things."""
    each = plain_words(_tables()[locale]["each"])
    return not {fold(word) for word in plain_words(text)}.isdisjoint(map(fold, each))


@lru_cache(maxsize=20_000)
def thing_stems(text: str, locale: Locale) -> frozenset[str]:
    """The stems that say which thing a step looks at: "take a photo of the tyres" looks at tyres."""
    people = _stems_of(_tables()[locale]["people"], locale).intersection(weak_stems(text, locale))
    things = people.union(_stems_that_mean(Meaning.STRONG, text, locale)) - _noise(locale)
    return frozenset(one for one in things if not one.isdecimal())


def _stems_that_mean(wanted: Meaning, text: str, locale: Locale) -> tuple[str, ...]:
    found = ((word, stem(word, locale)) for word in plain_words(text))
    return tuple(stemmed for word, stemmed in found if meaning(word, stemmed, locale) is wanted)


@cache
def known_words(locale: Locale) -> frozenset[str]:
    """The stems of all words that do not name a job, so that a typing error in them is not taken for another word."""
    return _weak(locale) | _stems_of(_tables()[locale]["empty"], locale)


@cache
def word_forms(locale: Locale) -> Mapping[str, str]:
    """The same words as they are spelled, folded, each with its stem."""
    table = _tables()[locale]
    words = " ".join(table[role] for role in ("empty", "checks", "weak", "people", "other"))
    return {fold(word): stem(word, locale) for word in plain_words(words)}


def check_words(locale: Locale) -> frozenset[str]:
    """The stems of the words that say that something is looked at."""
    return _stems_of(_tables()[locale]["checks"], locale)


def other_jobs(locale: Locale) -> frozenset[str]:
    """The stems of the words for what is done with a thing other than to look at it."""
    return _stems_of(_tables()[locale]["other"], locale)


@cache
def compound_heads(locale: Locale) -> frozenset[str]:
    """Nouns that make another thing of the noun in front of them: a `car park` is no car. In English only, since there
    they are words of their own."""
    return frozenset(plain_words(_tables()[locale].get("heads", "")))


@cache
def _stemmer(locale: Locale) -> "snowballstemmer.stemmer":
    return snowballstemmer.stemmer(_STEMMERS[locale])


@cache
def _tables() -> dict[str, dict[str, str]]:
    text = files("checklist_composer").joinpath("ranking_words.yaml").read_text("utf-8")
    tables: dict[str, dict[str, str]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return tables


@cache
def _stems_of(words: str, locale: Locale) -> frozenset[str]:
    # As they are written, too: a stemmer may take the ending of one form only.
    return frozenset(form for word in plain_words(words) for form in (stem(word, locale), fold(word)))


@cache
def _empty(locale: Locale) -> frozenset[str]:
    return frozenset(map(fold, plain_words(_tables()[locale]["empty"])))


@cache
def _weak(locale: Locale) -> frozenset[str]:
    return _stems_of(" ".join(_tables()[locale][role] for role in ("weak", "people", "checks")), locale)


@cache
def _noise(locale: Locale) -> frozenset[str]:
    return _stems_of(_tables()[locale]["noise"], locale)
