"""The languages of a word, to detect the language of short texts without function words.

The words come from the reader's tables and the names of the library's domains.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from .language import fold, language_of
from .library import heads
from .locales import LOCALES, Locale

_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_ENDINGS: Final[Mapping[Locale, tuple[str, ...]]] = {
    "de": ("ung", "ungen", "keit", "heit", "schaft", "raum", "zeug", "prufung", "kontrolle", "protokoll"),
    "es": ("cion", "ciones", "idad", "miento", "mientos", "dores", "dora"),
    "fr": ("eaux", "ement", "ements", "euse", "eurs", "ees", "eur"),
}
_SHORTEST_WITH_ENDING: Final = 7
_COMPOUND: Final = 15
"""A word with this many letters is likely a German compound."""
ONE: Final = 0.6
"""Weight of a word in only one language; a function word has 1."""
BY_FORM: Final = 0.3


@cache
def vocabulary() -> Mapping[str, frozenset[Locale]]:
    """Languages by folded word, loaded once."""
    found: dict[str, set[Locale]] = {}
    for locale in LOCALES:
        words = set(language_of(locale).vocabulary)
        for head in heads():
            texts = (head.title.in_(locale), *head.names.in_(locale), *head.also.in_(locale), *head.tags.in_(locale))
            words.update(word for text in texts for word in _WORD.findall(fold(text)))
        for word in words:
            found.setdefault(word, set()).add(locale)
    return {word: frozenset(locales) for word, locales in found.items()}


def evidence(word: str) -> Mapping[Locale, float]:
    """Weight of a folded word by language."""
    known = vocabulary().get(word)
    if known is not None:
        return {locale: ONE / len(known) for locale in known} if len(known) < len(LOCALES) else {}
    if len(word) < _SHORTEST_WITH_ENDING:
        return {}
    by_form: dict[Locale, float] = {locale: BY_FORM for locale, endings in _ENDINGS.items() if word.endswith(endings)}
    if len(word) >= _COMPOUND and not by_form:
        by_form["de"] = BY_FORM
    return by_form
