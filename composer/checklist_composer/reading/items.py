"""Groups labelled spans into items with their details."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..language import fold
from .answers import NO, YES, options_of
from .labels import DETAILS, ITEMS, Label, LabelledSpan
from .sentences import Sentences
from .token_features import SEPARATORS
from .tokens import TokenizedText

_FORWARD: Final = frozenset({Label.HOW, Label.EACH, Label.OPTIONAL, Label.REQUIRED})
"""Details that may come before their item: `two photos`, `optional: remarks`."""
_HARD: Final = SEPARATORS - {"(", ")", ":"}


@dataclass(slots=True, eq=False)
class Item:
    """A requested item of the prompt; positions are tokens."""

    label: Label
    start: int
    end: int
    confidence: float
    details: dict[Label, list[LabelledSpan]] = field(default_factory=dict)
    section: LabelledSpan | None = None
    behind: int = 0
    """Number of tokens after it, up to the next span or the end of the sentence."""

    def has(self, label: Label) -> bool:
        return label in self.details

    def first(self, label: Label) -> LabelledSpan | None:
        spans = self.details.get(label)
        return spans[0] if spans else None


def items_of(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> list[Item]:
    """The items in order; a detail belongs to the nearest item of its sentence, usually the previous one."""
    items: list[Item] = []
    section: LabelledSpan | None = None
    for at, span in enumerate(spans):
        following = spans[at + 1] if at + 1 < len(spans) else None
        if span.label is Label.SECTION and following is not None and _offers(text, span, following):
            items.append(Item(Label.CHOICE, span.start, span.end, span.confidence, section=section))
        elif span.label is Label.SECTION:
            section = span
        elif span.label in ITEMS:
            items.append(Item(span.label, span.start, span.end, span.confidence, section=section))
    for span in spans:
        if span.label in DETAILS and (item := _owner(text, span, items, sentences)) is not None:
            item.details.setdefault(span.label, []).append(span)
    starts = sorted(span.start for span in spans)
    for item in items:
        place = bisect_left(starts, item.end)
        stop = starts[place] if place < len(starts) else len(text)
        item.behind = max(0, min(stop, sentences.bounds(item.start)[1]) - item.end)
        if item.label in {Label.CHOICE, Label.MULTI_CHOICE} and _is_answered_yes_or_no(text, item):
            item.label = Label.CHECK
    return items


def _is_answered_yes_or_no(text: TokenizedText, item: Item) -> bool:
    span = item.first(Label.OPTIONS)
    if span is None:
        return False
    options = options_of(text.slice(span.start, span.end), text.language)
    return len(options) == 2 and {fold(option) for option in options} <= YES | NO


def _offers(text: TokenizedText, span: LabelledSpan, following: LabelledSpan) -> bool:
    """Whether a heading has options behind it in its line."""
    same_line = text.tokens[span.start].line == text.tokens[following.start].line
    return following.label is Label.OPTIONS and same_line


def _owner(text: TokenizedText, span: LabelledSpan, items: Sequence[Item], sentences: Sentences) -> Item | None:
    before = next((item for item in reversed(items) if item.end <= span.start), None)
    after = next((item for item in items if item.start >= span.end), None)
    same_before = before is not None and sentences.of[before.start] == sentences.of[span.start]
    same_after = after is not None and sentences.of[after.start] == sentences.of[span.start]
    if before is not None and same_before and _in_parentheses(text, before.end, span.start):
        return before
    if same_after and after is not None:
        parted = not same_before or before is None or _parted(text, before.end, span.start)
        joined = not _parted(text, span.end, after.start)
        if not same_before or (joined and (span.label in _FORWARD or span.label is Label.LIMIT) and parted):
            return after
    return before if before is not None else after


def _in_parentheses(text: TokenizedText, start: int, end: int) -> bool:
    marks = [token.text for token in text.tokens[start:end] if token.text in "()"]
    return bool(marks) and marks[-1] == "("


def _parted(text: TokenizedText, start: int, end: int) -> bool:
    return any(token.text in _HARD for token in text.tokens[start:end])
