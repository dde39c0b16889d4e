"""A prompt as tokens: words, numbers and punctuation with their offsets, and the vocabulary's roles of each."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..language import WORD, Language, WordForms, fold

_GRAMMAR: Final = frozenset(
    {"article", "pronoun", "and", "also", "or", "not", "preposition", "relative", "be", "modal", "then", "please", "of"}
    | {"if", "for", "that", "that_clause", "to_whom", "each", "wh", "which", "particle"}
)
"""Roles of words that say nothing by themselves."""
_UNREADABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Characters that no template may hold; each is read as a space."""
_BEFORE_APOSTROPHE = re.compile(r"[^\W\d_]+(?=['’])")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a punctuation mark. `start` and `end` are offsets in the prompt, in characters."""

    text: str
    start: int
    end: int
    key: str
    """Without capitals and accents."""
    is_number: bool
    is_word: bool
    line: int
    """Index in `TokenizedText.lines`."""


class TokenizedText:
    """The tokens of one prompt, in order, with the roles that the language's vocabulary gives them."""

    def __init__(self, language: Language, text: str) -> None:
        text = _UNREADABLE.sub(" ", text)
        self.language = language
        self.text = text
        self.lines = text.split("\n")
        line_starts = [0]
        for content in self.lines:
            line_starts.append(line_starts[-1] + len(content) + 1)
        self.tokens: list[Token] = []
        forms: list[WordForms] = []
        for word, start, form in _words(text, language):
            line = bisect_right(line_starts, start) - 1
            self.tokens.append(Token(word, start, start + len(word), form.key, form.is_number, form.is_word, line))
            forms.append(form)
        self.roles: list[dict[str, int]] = [dict(language.marks(forms, index)) for index in range(len(forms))]
        """For each token, the roles of the vocabulary's phrases that begin there, with their lengths in tokens."""
        self.may_count = [form.may_count for form in forms]
        self.may_measure = [form.may_measure for form in forms]

    def __len__(self) -> int:
        return len(self.tokens)

    def slice(self, start: int, end: int) -> str:
        """The prompt's own characters from one token to before another."""
        return self.text[self.tokens[start].start : self.tokens[end - 1].end] if end > start else ""

    def has(self, role: str, start: int, end: int) -> bool:
        """Whether a whole phrase of the role lies between two tokens."""
        return any(role in roles and index + roles[role] <= end for index, roles in self._between(start, end))

    def any_of(self, roles: frozenset[str], start: int, end: int) -> bool:
        """Whether a whole phrase of one of the roles lies between two tokens."""
        return any(
            index + length <= end
            for index, found in self._between(start, end)
            for role, length in found.items()
            if role in roles
        )

    def _between(self, start: int, end: int) -> Iterator[tuple[int, dict[str, int]]]:
        return ((index, self.roles[index]) for index in range(start, min(end, len(self.tokens))))

    def carries_meaning(self, index: int) -> bool:
        """Whether a token is a word that says more than its grammar."""
        token = self.tokens[index]
        return token.is_word and len(token.key) > 2 and not self.roles[index].keys() & _GRAMMAR

    def stems(self, start: int, end: int) -> list[str]:
        """The stems of the words between two tokens that carry meaning."""
        language = self.language
        return [
            language.any_stem(self.tokens[index].text) for index in range(start, end) if self.carries_meaning(index)
        ]


def _words(text: str, language: Language) -> Iterator[tuple[str, int, WordForms]]:
    """The text's words with their offsets; what is elided before an apostrophe is a word of its own (l'eau)."""
    for match in WORD.finditer(text):
        word, start = match.group(), match.start()
        if ("'" in word or "’" in word) and language.elided:
            while (head := _BEFORE_APOSTROPHE.match(word)) and fold(head.group()) in language.elided:
                if head.end() + 1 >= len(word):
                    break
                piece = word[: head.end() + 1]
                yield piece, start, language.forms(piece)
                word, start = word[head.end() + 1 :], start + head.end() + 1
        yield word, start, language.forms(word)
