"""Detects the language of a text from function words and letters of only one language, and from its other words."""

import re
from typing import Final

from .language import fold, language_of
from .language_vocabulary import evidence
from .locales import LOCALES, Locale

_WORDS: Final = re.compile(r"[^\W\d_]+")
_LETTERS: Final = {"de": "äöüß", "es": "ñ¿¡áíóú", "fr": "èêàçùœîôëû"}
_ELIDED: Final = re.compile(r"\b(?:[cdjlns]|qu|jusqu|lorsqu)['’](?=[^\W\d_]{2})")
"""Elision in French: l'eau, d'huile, qu'il."""
_CODE_BEHIND: Final = re.compile(r"[^\W\d_]+\s+\d+[^\W\d_]+")
_NAME: Final = 3
"""Up to this many words are the name of a job, not a sentence."""
_MAX_CHARACTERS: Final = 4_000
_HEAD_FIRST: Final = ("es", "fr")
_SHORT: Final = 4
_MAX_WORDS: Final = 60
"""Function words suffice in a longer text."""


def detect(text: str, locale: Locale | None = None) -> Locale:
    """The most likely language; without evidence `locale`, else English."""
    text = text[:_MAX_CHARACTERS].casefold()
    scores = dict.fromkeys(LOCALES, 0.0)
    words = [fold(word) for word in _WORDS.findall(text)]
    for known in LOCALES:
        table = language_of(known).function_words
        scores[known] += sum(1.0 for word in words if word in table)
    for known in LOCALES:
        scores[known] += 0.5 * sum(text.count(letter) for letter in _LETTERS.get(known, ""))
    scores["fr"] += len(_ELIDED.findall(text))
    if 1 < len(words) <= _NAME and words[-1] in language_of("en").function_words:
        scores["en"] -= 0.5  # `RTW Check`: a loanword in a name
    if _CODE_BEHIND.fullmatch(text.strip()):
        scores["fr"] += 0.1  # `audit 5S`: in Germanic languages the code comes first
    for word in words[:_MAX_WORDS]:
        for known, weight in evidence(word).items():
            scores[known] += weight
    best = max(scores.values())
    if best == 0:
        return locale or "en"
    leading = [known for known in LOCALES if scores[known] > best - 0.01]
    if locale in leading:
        return locale
    return next((known for known in leading if _names_job_first(words, known)), leading[0])


def _names_job_first(words: list[str], locale: Locale) -> bool:
    """Whether the activity precedes its object, as only in Spanish and French: `audit 5S`, `inspection silo`."""
    if locale not in _HEAD_FIRST or not 0 < len(words) <= _SHORT:
        return False
    language = language_of(locale)
    return "job_noun" in language.marks([language.forms(word) for word in words], 0)
