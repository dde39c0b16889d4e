"""Interns names as small numbers, for tables that repeat few names very often."""

from collections.abc import Iterable


class InternedNames:
    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []

    def intern(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return number

    def number(self, text: str | None) -> int | None:
        """Return the number of a name; None if it was not interned."""
        return None if text is None else self._numbers.get(text)

    def known(self, texts: Iterable[str]) -> list[int]:
        """Return the numbers of interned names."""
        return [self._numbers[text] for text in texts if text in self._numbers]

    def text(self, number: int) -> str:
        return self._texts[number]
