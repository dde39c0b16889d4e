"""Finds the title, and corrects headings labelled as items and items labelled as headings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from .labels import ITEMS, Label, LabelledSpan
from .sentences import Sentences, asks_back
from .tokens import TokenizedText

VAGUE_HEADINGS: Final = frozenset({Label.CHECK, Label.TEXT, Label.CHOICE, Label.MULTI_CHOICE})
"""Items that are a heading if another item directly follows their colon."""
TASKS: Final = frozenset({"record", "measure", "count", "describe"})
"""Roles of verbs for kinds of answers."""
_LISTED: Final = 3
"""From this many items in other sentences, the sentence with the name is a title."""
_HEADED: Final = 2
_SEVERAL: Final = 2
_HEADINGS: Final = 2
"""From this many lines with headings, similar lines have headings too."""


def without_false_headings(
    text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences
) -> list[LabelledSpan]:
    """The spans in order, without names behind several items and without headings of only their line."""
    spans = [part for span in spans for part in _named_apart(text, _no_name(text, span, spans, sentences))]
    return [span for at, span in enumerate(spans) if not _heads_its_line(text, spans, at)]


def _named_apart(text: TokenizedText, span: LabelledSpan) -> Iterator[LabelledSpan]:
    """Split a name at its colon if a list begins there: `kayak return: boat number, ...`."""
    colon = next((at for at in range(span.start, span.end) if text.tokens[at].text == ":"), span.end)
    listed = span.end < len(text) and text.tokens[span.end].text == ","
    if span.label is Label.NAME and listed and span.start < colon < span.end - 1:
        yield replace(span, end=colon)
        yield LabelledSpan(Label.TEXT, colon + 1, span.end, 0.0)
    else:
        yield span


def _no_name(
    text: TokenizedText, span: LabelledSpan, spans: Sequence[LabelledSpan], sentences: Sentences
) -> LabelledSpan:
    """An item instead of a name behind several items, or of one that begins with a task: `Record the area.`"""
    if span.label is not Label.NAME or sentences.of[span.start] == 0:
        return span
    before = sum(one.label in ITEMS for one in spans if one.end <= span.start)
    if before >= _LISTED or (text.roles[span.start].keys() & TASKS):
        return replace(span, label=Label.TEXT, confidence=0.0)
    return span


def with_sections(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """Make items before a colon and several items of their line headings, if there are several such lines."""
    heads = {at for at in range(len(spans)) if _heads_several(text, spans, at)}
    headed = len(heads) + sum(span.label is Label.SECTION for span in spans) >= _HEADINGS
    for at, span in enumerate(spans):
        yield replace(span, label=Label.SECTION) if headed and at in heads else span


def _heads_several(text: TokenizedText, spans: Sequence[LabelledSpan], at: int) -> bool:
    span = spans[at]
    if span.label not in VAGUE_HEADINGS or not _is_headed(text, spans, at):
        return False
    first = span.start
    while first and text.tokens[first - 1].line == text.tokens[span.start].line:
        first -= 1
    opens = not any(text.tokens[index].is_word for index in range(first, span.start))
    return opens and len(_of_line(text, spans, at)) >= _SEVERAL


def _heads_its_line(text: TokenizedText, spans: Sequence[LabelledSpan], at: int) -> bool:
    """Whether a heading before a colon belongs only to one or two items in its line, not to the next lines."""
    if spans[at].label is not Label.SECTION or not _is_headed(text, spans, at):
        return False
    own = _of_line(text, spans, at)
    behind = spans[spans.index(own[-1]) + 1 :]
    follows = next((one for one in behind if one.label in ITEMS | {Label.SECTION}), None)
    return len(own) <= _HEADED and follows is not None and follows.label in ITEMS


def _is_headed(text: TokenizedText, spans: Sequence[LabelledSpan], at: int) -> bool:
    """Whether the next span is an item in the same line, separated only by a colon."""
    following = spans[at + 1] if at + 1 < len(spans) else None
    if following is None or following.label not in ITEMS:
        return False
    between = text.tokens[spans[at].end : following.start]
    return [token.text for token in between] == [":"] and between[0].line == text.tokens[following.start].line


def _of_line(text: TokenizedText, spans: Sequence[LabelledSpan], at: int) -> list[LabelledSpan]:
    """The items in the line of a span, after it."""
    found = []
    for span in islice(spans, at + 1, None):
        if text.tokens[span.start].line != text.tokens[spans[at + 1].start].line:
            break
        if span.label in ITEMS:
            found.append(span)
    return found


def with_title(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> Iterator[LabelledSpan]:
    """Merge an item in the sentence of the name, or in its place, into the name, since a title asks for nothing:
    `Weekly check of the | aquarium tanks`, `Pilot boat, start of watch.`."""
    named = next((span for span in spans if span.label is Label.NAME), None)
    opening = named.start if named is not None else 0
    start, end = sentences.bounds(opening) if text.tokens else (0, 0)
    end = next((at + 1 for at in range(start, end) if text.tokens[at].text in ":("), end)
    inside = [span for span in spans if start <= span.start < end]
    items = [span for span in inside if span.label in ITEMS]
    others = sum(span.label in ITEMS for span in spans) - len(items)
    only = [span for span in inside if span.label not in {Label.NAME, Label.SECTION}] == items
    titled = len(items) == 1 and items[0].confidence > 0 and items[0].end <= end
    if not titled or others < _LISTED or not only or asks_back(text, end):
        yield from spans
        return
    item = items[0]
    if named is not None:
        first, last = min(named.start, item.start), max(named.end, item.end)
        apart = any(text.tokens[at].text in ",;.|" for at in range(first, last))
    else:  # the title has no label: it is the request for a checklist, or longer than the item
        first, last = item.start, item.end
        asking = text.has("request", start, first) or text.has("checklist", start, first)
        apart = not asking and not (start == 0 and any(map(text.carries_meaning, range(start, first))))
        first = first if asking else start
    for span in spans:
        if apart or (span is not item and span is not named):
            yield span
        elif span is item:
            yield LabelledSpan(Label.NAME, first, last, span.confidence if named is None else named.confidence)
