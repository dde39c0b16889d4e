"""What a supposition is about, in stems; and what it comes to: a condition, with the question that it may need."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..draft import DraftCondition, DraftStep
from ..language import Language
from .words import Span, Words

_ABOUT_NOTHING: Final = (
    "article", "preposition", "pronoun", "be", "not", "and", "or", "check", "confirm", "if", "finds", "anything",
    "question", "also", "photo_verb",
)  # fmt: skip


@dataclass(slots=True)
class Source:
    """The condition, and the question that has to be asked first, when there is no step to look at."""

    condition: DraftCondition
    question: DraftStep | None = None


def content_of(span: Span) -> set[str]:
    """Stems of the words that say what it is about."""
    words = set()
    for position in range(len(span)):
        if not span[position].is_word or span.any_at(_ABOUT_NOTHING, position):
            continue
        words.add(span.words.language.any_stem(span[position].text))
    return words


@lru_cache(maxsize=4_096)
def _read(language: Language, text: str) -> Words:
    return Words(language, text)


@lru_cache(maxsize=4_096)
def _content(language: Language, text: str) -> set[str]:
    return content_of(_read(language, text).span())


def content_of_label(text: str, span: Span) -> set[str]:
    """As `content_of`, for another text in the language of a span. It is never changed: the same text, the same set."""
    return _content(span.words.language, text)


def words_of(text: str, span: Span) -> Span:
    return _read(span.words.language, text).span()
