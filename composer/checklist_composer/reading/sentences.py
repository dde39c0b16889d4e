"""Where sentences end: at a full stop and the like, and at the end of a line that is not merely wrapped."""

import re
from itertools import pairwise
from typing import Final

from .token_features import BULLET
from .tokens import TokenizedText

_ENDS: Final = frozenset(".!?;")
_WRAPPED: Final = 60
"""A line of at least so many characters may be a wrapped one."""
_FAREWELL: Final = {"closing": 12, "meta": 4}
"""Maximum tokens of a sentence that begins with one of these roles and is a farewell."""
_CARELESS: Final = re.compile(r"[!…|\t\U0001F300-\U0001FAFF]|\.\.")
_CHATTY: Final = frozenset({"greeting", "closing", "meta", "unwanted"})
LONG: Final = 40
"""A sentence of more tokens is speech without punctuation: its end tells nothing about what belongs together."""


def asks_back(text: TokenizedText, end: int) -> bool:
    """Whether words that end before a token end with a question mark, or have one right behind them."""
    return "?" in {token.text for token in text.tokens[end - 1 : end + 1]}


class Sentences:
    """The sentences of a prompt, numbered, as seen from its tokens."""

    def __init__(self, text: TokenizedText) -> None:
        self.text = text
        self.of: list[int] = []
        """The number of each token's sentence."""
        self._starts: list[int] = [0]
        number = 0
        for index in range(len(text)):
            self.of.append(number)
            if index + 1 < len(text.tokens) and self._ends_behind(index):
                number += 1
                self._starts.append(index + 1)
        self._starts.append(len(text.tokens))
        self.farewell = {
            index
            for start, end in pairwise(self._starts)
            if any(0 < end - start <= most and role in text.roles[start] for role, most in _FAREWELL.items())
            for index in range(start, end)
        }
        """The tokens of sentences such as `Thanks a million, Beatrix`."""

    def are_written_with_care(self) -> bool:
        """Whether all begin with a capital and none is chatty."""
        text = self.text
        if _CARELESS.search(text.text) or text.any_of(_CHATTY, 0, len(text)) or text.text.rstrip()[-1:] not in ".?:)":
            return False
        first = [start for start in self._starts[:-1] if start == 0 or text.tokens[start - 1].text in ".?"]
        return not any(text.tokens[start].text[:1].islower() for start in first)

    def bounds(self, index: int) -> tuple[int, int]:
        """The first token of a token's sentence, and the one behind its last."""
        number = self.of[index]
        return self._starts[number], self._starts[number + 1]

    def is_long(self, index: int) -> bool:
        start, end = self.bounds(index)
        return end - start > LONG

    def _ends_behind(self, index: int) -> bool:
        token, following = self.text.tokens[index], self.text.tokens[index + 1]
        if token.line != following.line:
            return not self._is_wrapped(token.line, following.line)
        if token.text not in _ENDS:
            return False
        if token.text != ".":
            return True
        before = self.text.tokens[index - 1] if index else None
        if before is None or following.start == token.end:
            return False
        if before.is_number:  # `3. floor`, `1.`
            return following.text[:1].isupper() and index > 1
        abbreviated = "abbreviated" in self.text.roles[index - 1] or len(before.text) == 1
        return not abbreviated or following.text[:1].isupper()

    def _is_wrapped(self, line: int, following: int) -> bool:
        lines = self.text.lines
        if following != line + 1 or len(lines[line]) < _WRAPPED or BULLET.match(lines[following]):
            return False
        return lines[following].lstrip()[:1].islower() and not lines[line].rstrip().endswith((":", ".", ";"))
