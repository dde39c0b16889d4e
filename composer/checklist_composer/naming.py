"""Creates labels, titles and ids from text of the prompt."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from .language import fold

_MAX_ID: Final = 40

_SPACES: Final = re.compile(r"\s+")
_NOT_IN_IDS: Final = re.compile(r"[^a-z0-9]+")
_GERMAN: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o"})


def visible(text: str) -> bool:
    """Whether the text has a visible character."""
    return any(unicodedata.category(character)[0] in "LNSP" for character in text)


def label_of(text: str) -> str:
    """The text as a label: one line, capitalized, without punctuation at its end except `?` and `!`."""
    text = _SPACES.sub(" ", text).strip(' ,.;:–—-•·/|*_#="“”„«»')
    if text.count("(") > text.count(")"):
        text += ")"
    elif text.count(")") > text.count("("):
        text = text.rstrip(")") if text.endswith(")") else text
    start = 0 if text[:1].isalnum() else next((i for i, character in enumerate(text) if character.isalnum()), 0)
    word = text[start:].split(" ", 1)[0] if text else ""
    if word[1:].islower() or len(word) == 1:
        text = text[:start] + text[start : start + 1].upper() + text[start + 1 :]
    return text


def cut(text: str, limit: int) -> tuple[str, str]:
    """Split a text at `limit` characters, at the end of a word if possible; returns both parts."""
    if len(text) <= limit:
        return text, ""
    place = text.rfind(" ", limit // 2, limit)
    place = place if place > 0 else limit - 1
    return text[:place].rstrip(" ,;:") + "…", text[place:].strip()


@lru_cache(maxsize=1_024)
def _id_words(text: str) -> str:
    plain = fold(text.casefold().translate(_GERMAN))
    words = _NOT_IN_IDS.sub("-", plain).strip("-")
    if len(words) > _MAX_ID:
        words = words[:_MAX_ID].rpartition("-")[0] or words[:_MAX_ID]
    return words.strip("-")


def id_part(text: str, used: dict[str, int], fallback: str) -> str:
    """A unique part of an id from the words of a text.

    `used`: the last suffix number by part; updated.
    """
    base = _id_words(text) or fallback
    name, number = base, used.get(base, 0)
    while name in used:
        number += 1
        name = f"{base}-{number + 1}"
    used[base] = number
    used.setdefault(name, 0)
    return name
