"""What the labeller sees of each token: itself, its neighbours, its clause, its line and the whole prompt.

A feature is a short string. Training and reading make them by the same function, so a change here asks for a new model
(`make composer-model`).
"""

import re
from collections.abc import Sequence
from typing import Final

from .tokens import Token, TokenizedText

BULLET: Final = re.compile(r"^\s*(?:[-*•–·+>▪◦‣○●□☐☑✓✔]|\[[ xX]?\]|\(?\d{1,2}[.)]|\(?[a-z][.)])")
"""The start of a line that is one of a list."""
SEPARATORS: Final = frozenset(",.;:!?()|/–—")
_ENDS: Final = frozenset(".!?")
_AFFIXES: Final = ((3, 4), (4, 5), (6, 7))
"""Lengths of the affixes that are features, and the least length of their words."""
_NEAR: Final = 2
_MOST_CLAUSE: Final = 25


def token_features(text: TokenizedText) -> list[list[str]]:
    """The features of every token, in order."""
    if not text.tokens:
        return []
    return _Features(text).all()


def shape(word: str) -> str:
    """How a token is written: digits by their number, words by their capitals, marks as they are."""
    if word[0].isdigit():
        return "9" * min(len(word), 4) if word.isdigit() else "9.9"
    if not word[0].isalpha():
        return word
    if word.isupper():
        return "XX" if len(word) > 1 else "X"
    return "Xx" if word[0].isupper() else "x"


class _Features:
    def __init__(self, text: TokenizedText) -> None:
        self.text = text
        self.tokens = text.tokens
        self.roles = _role_features(text)
        self.own = [_own(token) for token in self.tokens]
        self.bullets = [bool(BULLET.match(line)) for line in text.lines]
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        for index, token in enumerate(self.tokens):
            self.first.setdefault(token.line, index)
            self.last[token.line] = index
        self.line_features = {line: self._of_line(line, number) for number, line in enumerate(self.first)}
        self.prompt_features = ["bias", "lang=" + text.language.locale, "doc=" + self._document()]
        self.clause_starts, self.clause_ends = self._clauses()
        self.clause_features = self._of_clauses()
        self.sentence_ends = self._sentence_ends()

    def all(self) -> list[list[str]]:
        depth = 0
        found = []
        for index, token in enumerate(self.tokens):
            depth += token.text == "("
            features = self._of(index)
            if depth > 0:
                features.append("paren")
            depth -= depth > 0 and token.text == ")"
            found.append(features)
        return found

    def _of(self, index: int) -> list[str]:
        token, own = self.tokens[index], self.own[index]
        features = [*self.prompt_features, *own, *("r=" + role for role in self.roles[index])]
        features.append(self.text.language.locale + own[0])
        for offset in (-3, -2, -1, 1, 2, 3):
            features += self._neighbour(index, offset)
        if index:
            features.append(f"prev+={self.own[index - 1][0]}|{own[0]}")
        if index + 1 < len(self.tokens):
            features.append(f"next+={own[0]}|{self.own[index + 1][0]}")
        features += self.line_features[token.line]
        features.append(f"line-start={min(index - self.first[token.line], 4)}")
        features.append(f"line-end={min(self.last[token.line] - index, 3)}")
        start = self.clause_starts[index]
        features.append(f"clause-at={min(index - start, 5)}")
        if start < index:
            features.append("clause-first=" + self.own[start][0])
            features += ["clause-first-r=" + role for role in self.roles[start]]
        features += self.clause_features[start]
        features.append("sentence=" + self.sentence_ends[index])
        return features

    def _neighbour(self, index: int, offset: int) -> list[str]:
        place = index + offset
        if not 0 <= place < len(self.tokens):
            return [f"{offset}=none"]
        own, near = self.own[place], abs(offset) <= _NEAR
        features = [f"{offset}{own[0]}"]
        if near:
            if self.tokens[place].line != self.tokens[index].line:
                features.append(f"{offset}=line")
            features.append(f"{offset}{own[1]}")
            features += [f"{offset}{one}" for one in own[2:] if one.startswith(("p4", "x4"))]
        features += [f"{offset}r={role}" for role in self.roles[place] if near or role[0] == "b"]
        return features

    def _document(self) -> str:
        text = self.text.text
        return "".join(
            (
                "lines" if len(self.first) > 2 else "one",
                "+list" if sum(self.bullets) >= 2 else "",
                "+commas" if text.count(",") >= 2 else "",
                "+stops" if text.count(".") + text.count(";") >= 2 else "",
                "+lower" if text == text.lower() else "",
            )
        )

    def _of_line(self, line: int, number: int) -> list[str]:
        lines = self.text.lines
        content = lines[line].rstrip()
        length = self.last[line] - self.first[line] + 1
        size = next((str(at) for at, most in enumerate((2, 5, 9, 19)) if length <= most), "4")
        features = [
            "line-size=" + size,
            f"list={self.bullets[line]}",
            "line-last=" + (content[-1] if content and not content[-1].isalnum() else "a"),
            f"line-number={min(number, 2)}{'last' if number == len(self.first) - 1 else ''}",
            f"list-next={line + 1 < len(lines) and self.bullets[line + 1]}",
            f"indent={min((len(content) - len(content.lstrip())) // 2, 2)}",
        ]
        if len(self.first) > 2:
            if line + 1 < len(lines):
                features.append(f"blank-next={not lines[line + 1].strip()}")
            if line:
                features.append(f"blank-before={not lines[line - 1].strip()}")
        return features

    def _clauses(self) -> tuple[list[int], list[int]]:
        """For each token, the first token of its clause, and the last one: what stands between two separators."""
        starts, ends = [], [0] * len(self.tokens)
        start = 0
        for index, token in enumerate(self.tokens):
            before = self.tokens[index - 1] if index else None
            if before is None or before.line != token.line or before.text in SEPARATORS:
                start = index
            starts.append(start)
        for index in range(len(starts) - 1, -1, -1):
            after = self.tokens[index + 1] if index + 1 < len(starts) else None
            closed = after is None or after.line != self.tokens[index].line or after.text in SEPARATORS
            ends[index] = index if closed else ends[index + 1]
        return starts, ends

    def _of_clauses(self) -> dict[int, list[str]]:
        found = {}
        for start in dict.fromkeys(self.clause_starts):
            end = self.clause_ends[start]
            roles = dict.fromkeys(
                role
                for index in range(start, min(end + 1, start + _MOST_CLAUSE))
                for role in self.roles[index]
                if role[0] == "b"
            )
            line = self.tokens[start].line
            before = self.tokens[start - 1] if start else None
            after = self.tokens[end + 1] if end + 1 < len(self.tokens) else None
            follows = self.own[end + 2][0] if end + 2 < len(self.tokens) else "end"
            found[start] = [
                *("clause-r=" + role for role in roles),
                "clause-before=" + (before.text if before is not None and before.line == line else "line"),
                "clause-after=" + (after.text if after is not None and after.line == line else "line"),
                f"clause-size={min(end - start + 1, 6)}",
                "clause-next=" + follows,
            ]
        return found

    def _sentence_ends(self) -> list[str]:
        """For each token, the mark that ends its sentence, or that its line does."""
        ends = [""] * len(self.tokens)
        end, line = "line", -1
        for index in range(len(self.tokens) - 1, -1, -1):
            token = self.tokens[index]
            if token.line != line:
                end, line = "line", token.line
            if token.text in _ENDS:
                end = token.text
            ends[index] = end
        return ends


def _own(token: Token) -> list[str]:
    """The token's features of itself; the first two are its word and its shape."""
    features = ["w=" + token.key, "s=" + shape(token.text)]
    if token.is_word:
        for length, least in _AFFIXES:
            if len(token.key) >= least:
                features.append(f"p{length}={token.key[:length]}")
                features.append(f"x{length}={token.key[-length:]}")
        if len(token.key) > 7:
            features.append("x5=" + token.key[-5:])
    return features


def _role_features(text: TokenizedText) -> Sequence[list[str]]:
    """For each token, the roles of phrases that begin with it (`b:`) and of those that it is within (`i:`)."""
    found: list[list[str]] = [[] for _ in text.tokens]
    for index, roles in enumerate(text.roles):
        for role, length in roles.items():
            found[index].append("b:" + role)
            for inner in range(index + 1, min(index + length, len(found))):
                found[inner].append("i:" + role)
        if text.may_measure[index]:
            found[index].append("unit")
        if text.may_count[index]:
            found[index].append("number")
    return found
