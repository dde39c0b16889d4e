"""Normalizes words (case, accents, endings) and classifies what they say about a job, to search the library.

The reader of prompts has its own tokens.
"""

import re
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Final

import yaml

from .language import fold, language_of
from .locales import Locale

_LONGEST_WORD: Final = 40
_WORD: Final = re.compile(r"[^\W_]+")
_WHOSE: Final = re.compile(r"['’]s\b")


class Meaning(IntEnum):
    """How much a word says about the job in a query."""

    EMPTY = 0
    WEAK = 1
    STRONG = 2


def plain_words(text: str) -> list[str]:
    """The words of a text, in order, without possessive `'s`, each cut to `_LONGEST_WORD`."""
    return [word[:_LONGEST_WORD] for word in _WORD.findall(_WHOSE.sub(" ", text.casefold()))]


def stem(word: str, locale: Locale) -> str:
    """The stem of a word, folded."""
    return language_of(locale).any_stem(word)


def meaning(word: str, stemmed: str, locale: Locale) -> Meaning:
    """What a word with this stem says about a job: nothing (EMPTY), how or when (WEAK), or what (STRONG).

    Empty words are matched by spelling: `generar` belongs to the request, `generador` is an object.
    """
    if len(word) == 1 or fold(word) in _empty(locale):
        return Meaning.EMPTY
    return Meaning.WEAK if stemmed in _weak(locale) else Meaning.STRONG


def strong_stems(text: str, locale: Locale) -> tuple[str, ...]:
    """The stems that say what a text is about, else those that say how."""
    return _stems_that_mean(Meaning.STRONG, text, locale) or _stems_that_mean(Meaning.WEAK, text, locale)


def weak_stems(text: str, locale: Locale) -> frozenset[str]:
    """The stems in a text that say how, who or when."""
    return frozenset(_stems_that_mean(Meaning.WEAK, text, locale))


def _stems_that_mean(wanted: Meaning, text: str, locale: Locale) -> tuple[str, ...]:
    found = ((word, stem(word, locale)) for word in plain_words(text))
    return tuple(stemmed for word, stemmed in found if meaning(word, stemmed, locale) is wanted)


@cache
def known_words(locale: Locale) -> frozenset[str]:
    """The stems of all words that do not name a job, to exclude them from correction of typing errors."""
    return _weak(locale) | _stems_of(_tables()[locale]["empty"], locale)


@cache
def word_forms(locale: Locale) -> Mapping[str, str]:
    """The stems of words that do not name a job, by folded spelling."""
    table = _tables()[locale]
    words = " ".join(table[role] for role in ("empty", "checks", "weak", "people", "other"))
    return {fold(word): stem(word, locale) for word in plain_words(words)}


def check_words(locale: Locale) -> frozenset[str]:
    """The stems of words for checking something."""
    return _stems_of(_tables()[locale]["checks"], locale)


def other_jobs(locale: Locale) -> frozenset[str]:
    """The stems of words for other activities than checking."""
    return _stems_of(_tables()[locale]["other"], locale)


@cache
def compound_heads(locale: Locale) -> frozenset[str]:
    """Nouns that change the meaning of the noun before them (a `car park` is no car); for English, where compounds are
    separate words."""
    return frozenset(plain_words(_tables()[locale].get("heads", "")))


@cache
def _tables() -> dict[str, dict[str, str]]:
    text = files("checklist_composer").joinpath("ranking_words.yaml").read_text("utf-8")
    tables: dict[str, dict[str, str]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return tables


@cache
def _stems_of(words: str, locale: Locale) -> frozenset[str]:
    # Unstemmed forms as well: a stemmer may handle only one form.
    return frozenset(form for word in plain_words(words) for form in (stem(word, locale), fold(word)))


@cache
def _empty(locale: Locale) -> frozenset[str]:
    return frozenset(map(fold, plain_words(_tables()[locale]["empty"])))


@cache
def _weak(locale: Locale) -> frozenset[str]:
    return _stems_of(" ".join(_tables()[locale][role] for role in ("weak", "people", "checks")), locale)
