"""Bidirectional text without recursion: fpdf2 recurses once for each neighbouring character without a direction.

About 980 such characters in a row, for example dots or blank lines, exceed Python's limit. The results are the same.
"""

from typing import Final

from fpdf import bidi

_STRONG: Final = {"L": "L", "R": "R", "AN": "R", "EN": "R"}
_NEUTRAL: Final = ("B", "S", "WS", "ON", "FSI", "LRI", "RLI", "PDI")


class LinearRun(bidi.IsolatingRun):
    """Resolves types in linear time. The rules are those of the Unicode Standard Annex 9."""

    __slots__ = ()

    def resolve_weak_types(self) -> None:
        """Rule W5 gives all terminators of a sequence the same type, so the first one stands for them."""
        sequences: list[list[bidi.BidiCharacter]] = []
        for one in self.characters:
            if sequences and sequences[-1][0].bidi_class == "ET" and one.bidi_class in ("ET", "NSM"):
                sequences[-1].append(one)
            else:
                sequences.append([one])
        whole, self.characters = self.characters, [first for first, *_ in sequences]
        super().resolve_weak_types()
        self.characters = whole
        for first, *others in sequences:
            for one in others:
                one.set_class(first.bidi_class)

    def resolve_neutral_types(self) -> None:
        self._resolve_brackets()
        following, after = list[str](), self.next_direction
        for one in reversed(self.characters):
            following.append(after)
            after = _STRONG.get(one.bidi_class, after)
        before = self.previous_direction
        for one, after in zip(self.characters, reversed(following), strict=True):  # N1, N2
            if one.bidi_class in _NEUTRAL:
                one.set_class(before if before == after else one.get_direction_from_level())
            before = _STRONG.get(one.bidi_class, before)

    def _resolve_brackets(self) -> None:
        """Rule N0."""
        characters, own = self.characters, self.characters[0].get_direction_from_level()
        for start, end in self.pair_brackets():
            inside = {_STRONG[one.bidi_class] for one in characters[start:end] if one.bidi_class in _STRONG}
            if not inside:
                continue
            direction = own if own in inside else self._strong_before(start)
            characters[start].set_class(direction)
            characters[end].set_class(direction)
            for one in characters[end + 1 : end + 2]:
                if one.original_bidi_class == "NSM" and one.bidi_class == "ON":
                    one.set_class(direction)

    def _strong_before(self, index: int) -> str:
        classes = (self.characters[before].bidi_class for before in range(index - 1, -1, -1))
        return next((_STRONG[one] for one in classes if one in _STRONG), self.previous_direction)
