"""Text as words whose roles are known: what every rule of reading looks at.

A `Span` is some of a text's words, usually neighbours. Rules cut spans into smaller ones and take words out of them;
its `text` is always in the writer's own spelling.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from ..language import WORD, Language, WordForms, fold

_BEFORE_APOSTROPHE: Final = re.compile(r"[^\W\d_]+(?=['’])")
_UNEVEN: Final = re.compile(r"\s\s|[^\S ]")
NUMBER_REACH: Final = 9
"""How many words a number in words and its unit have at most."""
_NO_SPACE_BEFORE: Final = frozenset(",.;:!?)]}%°\"'’")
_NO_SPACE_AFTER: Final = frozenset("([{¿¡")


@dataclass(slots=True)
class Token:
    """A word, a number or a mark, with its place in the text. Never changed."""

    text: str
    start: int
    end: int
    key: str
    """Folded."""
    is_number: bool = False
    is_word: bool = False
    may_measure: bool = False
    """Whether a unit can begin here."""


NOTHING: Final = Token("\0", 0, 0, "\0")
"""What stands behind the last word: no word, no number and no mark, so that no rule has to ask whether it is there."""


class Words:
    """A text, cut into tokens, with the roles of the phrases that begin at each."""

    def __init__(self, language: Language, text: str) -> None:
        self.language = language
        self.text = text
        self.is_even = _UNEVEN.search(text) is None
        """Whether there is nothing between words but single spaces, so that they can be cut out as they stand."""
        self.tokens: list[Token] = []
        forms: list[WordForms] = []
        tokens = self.tokens
        for word, start, form in _words(text, language):
            end = start + len(word)
            tokens.append(Token(word, start, end, form.key, form.is_number, form.is_word, form.may_measure))
            forms.append(form)
        self.marks = [form.starts.roles for form in forms]
        self.phrases: dict[int, int] = {}
        """How many words the longest phrase has that begins at a token, where one has several."""
        for index, form in enumerate(forms):
            if form.starts.nodes and (marks := language.marks(forms, index)) is not form.starts.roles:
                self.marks[index] = marks
                self.phrases[index] = max(marks.values())
        self.counting: list[int] = [
            index for index, form in enumerate(forms) if form.may_count or "minus" in self.marks[index]
        ]
        """The tokens at which a number can begin."""
        self.units: list[int] = [index for index, form in enumerate(forms) if form.may_measure]
        """The tokens at which a unit can begin."""
        self.spoken: dict[int, tuple[float, int] | None] = {}
        """Numbers in words that were looked for: the token, the value and how many words it has (`quantities`)."""
        self.where: dict[str, list[int]] = {}
        """The tokens at which phrases of a role begin."""
        for index, roles in enumerate(self.marks):
            for role in roles:
                self.where.setdefault(role, []).append(index)
        self.signs: dict[str, list[int]] = {}
        """The tokens that are a mark."""
        for index, token in enumerate(tokens):
            if not (token.is_word or token.is_number):
                self.signs.setdefault(token.text, []).append(index)
        self._places: dict[tuple[str, ...], list[int]] = {}
        self._looks: list[int] = []
        self.firsts: dict[object, Span] = {}
        self.said: dict[object, Any] = {}
        """What rules that are `remembered` said about spans."""

    def places(self, signs: str, *roles: str) -> list[int]:
        """The tokens that are one of some marks, or where a phrase of one of some roles begins, in ascending order."""
        key = (signs, *roles)
        found = self._places.get(key)
        if found is None:
            those = {index for sign in signs for index in self.signs.get(sign, ())}
            found = self._places[key] = sorted(those.union(*(self.where.get(role, ()) for role in roles)))
        return found

    def span(self) -> "Span":
        """All of it."""
        return Span(self, range(len(self.tokens)))

    def forget(self) -> None:
        """Lets go of all that was remembered about spans."""
        self.said.clear()
        self.firsts.clear()

    def looks(self) -> list[int]:
        """What rules see of each token: its letters, the space before it, and the roles of what begins there.

        As a number for each look that there is, since whole spans of them are compared.
        """
        if not self._looks:
            ends = [0, *(token.end for token in self.tokens)]
            looks: list[object] = [
                (token.text, token.start > end, *roles.items())
                for token, end, roles in zip(self.tokens, ends, self.marks, strict=False)
            ]
            for index in self.counting:  # a number in words may go on behind what a span has of it
                following = self.tokens[index : index + NUMBER_REACH]
                looks[index] = (looks[index], *(token.text for token in following))
            numbers: dict[object, int] = {}
            self._looks = [numbers.setdefault(look, len(numbers)) for look in looks]
        return self._looks


class Span:
    """Some words of a text in order; positions count from 0 within the span."""

    __slots__ = ("index", "words")

    def __init__(self, words: Words, index: "range | list[int]") -> None:
        self.words = words
        self.index = index
        """The positions of its words in the text. Never changed."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and other.words is self.words and other.index == self.index

    def __hash__(self) -> int:
        return hash((id(self.words), len(self.index), *self.index[:1]))

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Token]:
        return (self.words.tokens[index] for index in self.index)

    def __getitem__(self, position: int) -> Token:
        try:
            return self.words.tokens[self.index[position]]
        except IndexError:
            return NOTHING

    def key(self, position: int) -> str:
        """The folded word at a position, or nothing outside of the span."""
        return self[position].key if 0 <= position < len(self.index) else ""

    def at(self, role: str, position: int = 0) -> int:
        """How many words the phrase of this role has that begins here; 0 when there is none."""
        # Asked a million times of a long prompt, mostly for roles that no word of it has.
        words, index = self.words, self.index
        if role not in words.where or not 0 <= position < len(index):
            return 0
        first = index[position]
        length = words.marks[first].get(role, 0)
        if length < 2:
            return length
        if position + length > len(index):
            return 0
        return length if index[position + length - 1] == first + length - 1 else 0

    def any_at(self, roles: tuple[str, ...], position: int = 0) -> int:
        """As `at`, for the longest phrase of several roles."""
        if not 0 <= position < len(self.index):
            return 0
        marks = self.words.marks[self.index[position]]
        return max([self.at(role, position) for role in roles if role in marks], default=0) if marks else 0

    def find(self, role: str, start: int = 0) -> tuple[int, int] | None:
        """Where the first phrase of a role begins and ends."""
        places = self.words.where.get(role)
        if not places:
            return None
        index = self.index
        if isinstance(index, range) and (places[-1] < index.start + start or places[0] >= index.stop):
            return None
        for position in self._positions(places, start):
            if length := self.at(role, position):
                return position, position + length
        return None

    def places(self, signs: str, *roles: str, start: int = 0) -> Iterator[int]:
        """The positions of marks (each character of `signs`), and those where a phrase of a role may begin.

        Such a phrase may go on behind the span, which `at` knows. Most words are no such place, so that it is far
        less work to look at these than at every word.
        """
        return self._positions(self.words.places(signs, *roles), start)

    def sign(self, signs: str, start: int = 0) -> int | None:
        """The position of the first of some marks, each a character of `signs`; None when there is none."""
        places = self.words.places(signs)
        if not places:
            return None
        index = self.index
        if not isinstance(index, range):
            return next(self._positions(places, start), None)
        number = bisect_left(places, index.start + start)
        return places[number] - index.start if number < len(places) and places[number] < index.stop else None

    def counting(self, start: int = 0) -> Iterator[int]:
        """The positions at which a number can begin, in digits or in words."""
        return self._positions(self.words.counting, start)

    def units(self, start: int = 0) -> Iterator[int]:
        """The positions at which a unit can begin."""
        return self._positions(self.words.units, start)

    def _positions(self, places: list[int], start: int) -> Iterator[int]:
        """Where in the span some of the text's tokens are, which `places` holds in ascending order."""
        index = self.index
        if isinstance(index, range):
            for number in range(bisect_left(places, index.start + start), len(places)):
                if places[number] >= index.stop:
                    return
                yield places[number] - index.start
            return
        for position in range(start, len(index)):
            number = bisect_left(places, index[position])
            if number < len(places) and places[number] == index[position]:
                yield position

    def find_any(self, roles: tuple[str, ...], start: int = 0) -> tuple[int, int] | None:
        """As `find`, for several roles: the first, and of those that begin there the longest."""
        found = [place for role in roles if (place := self.find(role, start)) is not None]
        return min(found, key=lambda place: (place[0], -place[1])) if found else None

    def has(self, *roles: str) -> bool:
        """Whether a phrase of one of these roles is anywhere in it."""
        where = self.words.where
        for role in roles:  # noqa: SIM110 - a generator costs more than most roles, which no word of the text has
            if role in where and self.find(role) is not None:
                return True
        return False

    def sub(self, start: int, end: int | None = None) -> "Span":
        """The words from one position to before another."""
        return Span(self.words, self.index[start:end])

    def first(self, verb: "Span | None" = None) -> "Span":
        """The first span of the text that all rules read as they read this one; with `verb`, of those that share it."""
        index = self.index
        if not isinstance(index, range) or not 0 < len(index) <= len(self.words.tokens) // 2:
            return self  # no text says more than half of it twice
        key = (verb, verb is not None and verb.index[0] < index.start, *self.words.looks()[index.start : index.stop])
        return self.words.firsts.setdefault(key, self)

    def without(self, start: int, end: int) -> "Span":
        """All but the words from one position to before another."""
        return Span(self.words, [*self.index[:start], *self.index[end:]])

    def stripped(self, marks: str = ',.;:!–—-·•/|*_#=>+"“”„«»') -> "Span":
        """Without marks at its ends."""
        start, end = 0, len(self.index)
        while start < end and self[start].text in marks:
            start += 1
        while end > start and self[end - 1].text in marks:
            end -= 1
        return self.sub(start, end)

    @property
    def text(self) -> str:
        """As the writer wrote it; where words were taken out, with one space."""
        words = self.words
        if words.is_even and isinstance(self.index, range):
            if not self.index:
                return ""
            return words.text[words.tokens[self.index[0]].start : words.tokens[self.index[-1]].end]
        pieces: list[str] = []
        previous: int | None = None
        for index in self.index:
            token = self.words.tokens[index]
            if previous is not None:
                before = self.words.tokens[previous]
                if index == previous + 1:
                    pieces.append(" " if before.end < token.start else "")
                elif token.text not in _NO_SPACE_BEFORE and before.text not in _NO_SPACE_AFTER:
                    pieces.append(" ")
            pieces.append(token.text)
            previous = index
        return "".join(pieces)


def _words(text: str, language: Language) -> Iterator[tuple[str, int, WordForms]]:
    """The words, numbers and marks of a text, where each begins, and its forms."""
    elided = language.elided
    for match in WORD.finditer(text):
        word, start = match.group(), match.start()
        if elided and ("'" in word or "’" in word):
            head = _BEFORE_APOSTROPHE.match(word)
            while head and fold(head.group()) in elided and head.end() + 1 < len(word):
                cut = head.end() + 1
                yield word[:cut], start, language.forms_of_key(word[:cut], fold(head.group()) + "'")
                word, start = word[cut:], start + cut
                head = _BEFORE_APOSTROPHE.match(word)
        if word[-1] in "'’" and len(word) > 1 and fold(word[:-1]) not in elided:
            word = word[:-1]
            yield word, start, language.forms(word)
            yield "'", start + len(word), language.forms("'")
            continue
        yield word, start, language.forms(word)


_FEW: Final = 100
"""Words that lie apart and are more than these are rarely asked about twice, and long to compare."""
Details = ParamSpec("Details")
Said = TypeVar("Said")


def remembered(rule: Callable[Concatenate[Span, Details], Said]) -> Callable[Concatenate[Span, Details], Said]:
    """A rule that looks at nothing but a span: asked once more about the same words, it says what it said before.

    Rules ask each other, and a long prompt repeats itself. What such a rule returns is never changed.
    """

    @wraps(rule)
    def asked(span: Span, /, *details: Details.args, **named: Details.kwargs) -> Said:
        index, said = span.index, span.words.said
        key: tuple[object, ...]
        if isinstance(index, range):
            key = (rule, index.start, index.stop)
        elif len(index) <= _FEW:
            key = (rule, *index, None)
        else:
            return rule(span, *details, **named)
        if details or named:
            key = (*key, *details, *named.values())
        if key not in said:
            said[key] = rule(span, *details, **named)
        found: Said = said[key]
        return found

    return asked
