"""Converts passages with uncertain labels to text steps in the writer's words.

A passage is the text between two separators of a sentence. It is understood if all words have likely labels. In a messy
prompt, all must be nearly certain, and adjacent doubtful passages are merged unless a new item certainly begins, so
that options, conditions and remarks stay with their item.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .labels import ITEMS, Label, LabelledSpan
from .sentences import Sentences, asks_back
from .token_features import BULLET
from .tokens import TokenizedText

_CUTS: Final = frozenset(",;:()|")
_CUTS_OF_MESSY: Final = frozenset(",;|")
"""Text behind a colon or in parentheses belongs to the words before it."""
_UNDERSTOOD: Final = 0.3
"""Minimum probability of every label in an understood passage."""
_UNDERSTOOD_OF_MESSY: Final = 0.99
"""The same in a messy prompt."""
_ASKING: Final = 0.5
"""Minimum share of words in a span, of a passage without an item that may ask for something."""
_ASIDE: Final = 0.015
"""Words of a messy prompt with a smaller share are ignored; up to `_ASKING` they belong to the words next to them."""
_READ: Final = 0.2
"""Words of a messy prompt with a smaller share become an instruction, not a question."""
_SHORT: Final = 4
"""Maximum tokens of an item; more are a remark."""
_READ_SHORT: Final = 0.1
"""Like `_READ`, for short passages, and for passages with a verb or noun that asks for something."""
_TASKS: Final = frozenset({"record", "describe", "measure", "count", "photo", "sign", "signature", "scan"})
_BEGINS: Final = 0.95
"""Minimum probability that a new item begins in a passage."""
_LONGEST: Final = 30
"""Maximum tokens of one passage."""
_LEAST: Final = 6
"""Minimum tokens of a piece of a longer passage."""
_MAY_BEGIN: Final = 0.5
"""A long passage is cut at the last token that begins an item with this probability."""
_QUESTIONS: Final = frozenset({"wh", "who", "how_much", "count"})
_ANSWERS: Final = frozenset({Label.OPTIONS, Label.RANGE, Label.UNIT})
"""Labels of words about the form of an answer."""
_NAMED_BEFORE: Final = 2
"""The name of a messy prompt comes before this many items."""
_KEPT: Final = frozenset({Label.NAME, Label.SECTION, Label.SETTING})


@dataclass(frozen=True, slots=True)
class Certainty:
    """Probabilities of each token, from the labeller."""

    of_label: Sequence[float]
    """That its label is right."""
    outside: Sequence[float]
    """That it is in no span."""
    begins: Sequence[float]
    """That it begins an item."""

    def asked(self, text: TokenizedText, start: int, end: int) -> float:
        """The expected share of the words that are in a span."""
        meaning = [index for index in range(start, end) if text.carries_meaning(index)]
        return sum(1 - self.outside[index] for index in meaning) / max(1, len(meaning))


def as_aside(text: TokenizedText, span: LabelledSpan, certainty: Certainty) -> LabelledSpan:
    """A text item from words of a messy prompt, or an instruction if they hardly ask for anything."""
    share = certainty.asked(text, span.start, span.end)
    item = span.end - span.start <= _SHORT or text.any_of(_TASKS, span.start, span.end)
    asks = text.any_of(_QUESTIONS, span.start, min(span.start + 2, span.end))
    if not asks and share < (_READ_SHORT if item else _READ):
        return LabelledSpan(Label.INSTRUCTION, span.start, span.end, 1 - share)
    return LabelledSpan(Label.TEXT, span.start, span.end, 0.0)


def in_own_words(
    text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences, certainty: Certainty, *, messy: bool
) -> list[LabelledSpan]:
    """The spans, in order; passages that were not understood become text items with confidence 0."""
    return _Passages(text, spans, sentences, certainty, messy).in_own_words()


@dataclass
class _Passages:
    text: TokenizedText
    spans: Sequence[LabelledSpan]
    sentences: Sentences
    certainty: Certainty
    messy: bool

    def __post_init__(self) -> None:
        self.starts = [span.start for span in self.spans]
        self.bounds = list(self._bounds())

    def _bounds(self) -> Iterator[tuple[int, int]]:
        """Start and end tokens of the passages, in order; no span is split."""
        cuts = _CUTS_OF_MESSY if self.messy else _CUTS
        inside = {index for span in self.spans for index in range(span.start + 1, span.end)}
        start = 0
        for index in range(1, len(self.text) + 1):
            if index == len(self.text) or (
                index not in inside
                and (
                    self.text.tokens[index - 1].text in cuts or self.sentences.of[index] != self.sentences.of[index - 1]
                )
            ):
                yield start, index
                start = index

    def in_own_words(self) -> list[LabelledSpan]:
        found: list[LabelledSpan] = []
        at = 0
        while at < len(self.bounds):
            start, end = self.bounds[at]
            at += 1
            if self.text.has("unwanted", start, end):
                found += [span for span in self._between(start, end) if span.label in _KEPT]
                continue
            if self._is_understood(start, end) or not self._may_ask(start, end):
                found += self._between(start, end)
                continue
            while at < len(self.bounds) and self._goes_on(start, end, *self.bounds[at]):
                end = self.bounds[at][1]
                at += 1
            kept = [span for span in self._between(start, end) if self._is_kept(span, end)]
            taken = {index for span in kept for index in range(span.start, span.end)}
            own = [
                self._own(*piece)
                for left in self._left(start, end, taken)
                for piece in self._pieces(*left)
                if not kept or self._asks(*piece)
            ]
            found += sorted((*kept, *own), key=lambda span: span.start)
        return found

    def _is_kept(self, span: LabelledSpan, end: int) -> bool:
        """Whether a span applies to the whole prompt; an inline heading is part of the following words."""
        following = self.text.tokens[span.end + 1] if span.end + 1 < end else None
        inline = following is not None and following.line == self.text.tokens[span.start].line
        if self.messy and span.label is Label.NAME:  # a messy prompt gives its name before the items
            return sum(self.certainty.begins[: span.start]) < _NAMED_BEFORE
        return span.label in _KEPT and not (self.messy and inline and span.label is Label.SECTION)

    def _requests(self, start: int, end: int) -> bool:
        return self.text.has("request", start, end) or self.text.has("checklist", start, end)

    def _asks(self, start: int, end: int) -> bool:
        """Whether a piece next to the name of the checklist may be an item."""
        return any(span.label in ITEMS for span in self._inside(start, end)) or self._share(start, end) >= _ASKING

    def _own(self, start: int, end: int) -> LabelledSpan:
        own = LabelledSpan(Label.TEXT, start, end, 0.0)
        asks = any(span.label in ITEMS | _ANSWERS for span in self._inside(start, end))
        return as_aside(self.text, own, self.certainty) if self.messy and not asks else own

    def _pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Split a long run where items most likely begin, since labels have a maximum length."""
        while end - start > _LONGEST:
            places = range(start + _LEAST, min(start + _LONGEST, end - _LEAST))
            cut = max(
                places, key=lambda at: (self.certainty.begins[at] >= _MAY_BEGIN and at, self.certainty.begins[at])
            )
            yield start, cut
            start = cut
        yield start, end

    def _inside(self, start: int, end: int) -> Iterator[LabelledSpan]:
        return (span for span in self.spans if span.start < end and span.end > start)

    def _between(self, start: int, end: int) -> Sequence[LabelledSpan]:
        return self.spans[bisect_left(self.starts, start) : bisect_left(self.starts, end)]

    def _is_understood(self, start: int, end: int) -> bool:
        inside = self._between(start, end)
        messy = self.messy and not BULLET.match(self.text.lines[self.text.tokens[start].line])
        if messy and inside and inside[-1].label in {Label.CHOICE, Label.MULTI_CHOICE}:
            return False  # its options are elsewhere
        if messy and inside and inside[0].label in _ANSWERS and start < inside[0].start:
            unread = range(start, inside[0].start)  # what asks for it has no label
            return not any(map(self.text.carries_meaning, unread))
        words = filter(self.text.carries_meaning, range(start, end))
        least = min((self.certainty.of_label[at] for at in words), default=1.0)
        return least >= (_UNDERSTOOD_OF_MESSY if messy else _UNDERSTOOD)

    def _may_ask(self, start: int, end: int) -> bool:
        """Whether a passage may ask for something other than the checklist itself."""
        inside = self._between(start, end)
        if any(span.label in ITEMS for span in inside):
            return self.messy or not self._requests(start, end)
        if self._requests(start, end) or (inside and not self.messy and all(span.label is Label.IF for span in inside)):
            return False
        if self.messy and (any(span.label in _ANSWERS for span in inside) or asks_back(self.text, end)):
            return True
        return self._share(start, end) >= (_ASIDE if self.messy else _ASKING)

    def _share(self, start: int, end: int) -> float:
        return self.certainty.asked(self.text, start, end)

    def _goes_on(self, start: int, end: int, following: int, following_end: int) -> bool:
        """Whether the next passage belongs to this doubtful one."""
        if following_end - start > _LONGEST:
            return False
        if not self.messy:  # behind a colon or an opening parenthesis
            same_line = self.text.tokens[following].line == self.text.tokens[end - 1].line
            opened = any(token.text in ":(" for token in self.text.tokens[start:end])
            return same_line and opened and self.text.tokens[end - 1].text not in ".;!?"
        share = self._share(following, following_end)
        same = self.sentences.of[following] == self.sentences.of[start]
        if same and not self._asks(start, end):  # words that hardly ask for anything are no step of their own
            return share >= _ASIDE and not self._is_understood(following, following_end)
        asked = self.text.tokens[end - 1].text == "?"
        asks = any(span.label in ITEMS for span in self._between(following, following_end))
        if not asked and share < _ASKING and not asks and self.text.tokens[following_end - 1].text != "?":
            return share >= _ASIDE and not self._is_understood(following, following_end)
        same = same or asked or self.text.tokens[end - 1].text == ";"
        return same and max(self.certainty.begins[following:following_end]) < _BEGINS

    def _left(self, start: int, end: int, taken: set[int]) -> Iterator[tuple[int, int]]:
        """The runs of a passage outside of kept spans, without punctuation at their ends."""
        first = start
        for index in range(start, end + 1):
            if index < end and index not in taken:
                continue
            last = index
            while first < last and not self._counts(first):
                first += 1
            while last > first and not self._counts(last - 1):
                last -= 1
            if any(map(self.text.carries_meaning, range(first, last))):
                yield first, last
            first = index + 1

    def _counts(self, index: int) -> bool:
        return self.text.tokens[index].is_word or self.text.tokens[index].is_number
