"""Labels that cannot be right beside each other, put right: what would be lost otherwise becomes an item."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from .labels import ITEMS, Label, LabelledSpan
from .sentences import Sentences
from .settings import says_setting
from .token_features import BULLET
from .tokens import TokenizedText

_ANSWERED: Final = frozenset({Label.OPTIONS, Label.UNIT, Label.LIMIT, Label.RANGE})
"""Details of an answer: what stands right before them asks for it."""
_VAGUE: Final = 0.8
"""Up to this confidence an item before a colon is rather the heading of the one behind it."""
_UNASKED: Final = 0.6
"""The confidence of what is asked for by words that have no label."""
_LEADING: Final = frozenset({"preposition", "of", "article"})


def repaired(text: TokenizedText, spans: Sequence[LabelledSpan]) -> list[LabelledSpan]:
    """The spans in order, without what contradicts itself."""
    name = next((span for span in spans if span.label is Label.NAME), None)
    found = [_asking(text, span, following, name) for span, following in _with_next(spans)]
    found = list(_joined(text, _without_remarks(text, found)))
    found = list(_with_headed(text, found))
    return list(_with_unasked(text, found, Sentences(text)))


def _with_next(spans: Sequence[LabelledSpan]) -> Iterator[tuple[LabelledSpan, LabelledSpan | None]]:
    return zip_longest(spans, spans[1:])


def _asking(
    text: TokenizedText, span: LabelledSpan, following: LabelledSpan | None, name: LabelledSpan | None
) -> LabelledSpan:
    """An item in place of a setting that sets nothing, and of a further name with an answer behind it."""
    if span.label is Label.SETTING and not says_setting(text, span):
        counted = any("in_unit" in text.roles[index] for index in range(span.start, span.end))
        return replace(span, label=Label.NUMBER if counted else Label.TEXT)
    is_further = span.label is Label.NAME and span is not name
    if is_further and following is not None and following.label in _ANSWERED and _close(text, span, following):
        return replace(span, label=Label.CHECK)
    return span


def _close(text: TokenizedText, span: LabelledSpan, following: LabelledSpan) -> bool:
    return not any(text.tokens[at].is_word or text.tokens[at].text in ".;" for at in range(span.end, following.start))


def _joined(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """`tightness tested at | how many bars`: an item that ends with a preposition goes on in the next one.
    `Dome: any marks?`: a vague item before a colon is the heading of the one behind it."""
    start: int | None = None
    for at, span in enumerate(spans):
        whole = span if start is None else replace(span, start=start)
        following, later = (spans[index] if index < len(spans) else None for index in (at + 1, at + 2))
        start = whole.start if following is not None and _goes_on(text, whole, following, later) else None
        if start is None:
            yield whole


def _without_remarks(text: TokenizedText, spans: Sequence[LabelledSpan]) -> list[LabelledSpan]:
    """Without items that only say how options are to be answered (`tick all that apply`), and with the options of a
    condition (`if it is worn or cracked`) as a part of it."""
    found: list[LabelledSpan] = []
    for span in spans:
        before = found[-1] if found else None
        if before is not None and before.label is Label.OPTIONS and span.label in ITEMS:
            opened = text.tokens[before.end : span.start]
            if opened and opened[-1].text == "(" and text.has("several", span.start, span.end):
                continue
        if before is not None and before.label is Label.IF and span.label is Label.OPTIONS and span.start == before.end:
            found[-1] = replace(before, end=span.end)
            continue
        found.append(span)
    return found


def _with_unasked(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> Iterator[LabelledSpan]:
    """A condition or a repetition that is all that its sentence has asks for the rest of the sentence."""
    with_items = {sentences.of[span.start] for span in spans if span.label in ITEMS}
    last = {sentences.of[span.start]: span for span in spans}
    for span in spans:
        number = sentences.of[span.start]
        if number in with_items or span is not last[number]:
            yield span
        elif span.label is Label.EACH:
            yield replace(span, label=Label.CHECK)
        else:
            yield span
            end = sentences.bounds(span.start)[1]
            words = [at for at in range(span.end, end) if text.tokens[at].is_word or text.tokens[at].is_number]
            if span.label is Label.IF and words:
                yield LabelledSpan(Label.TEXT, words[0], words[-1] + 1, _UNASKED)


def _goes_on(text: TokenizedText, span: LabelledSpan, following: LabelledSpan, later: LabelledSpan | None) -> bool:
    if span.label not in ITEMS or following.label not in ITEMS:
        return False
    if span.end == following.start:
        return bool(text.roles[span.end - 1].keys() & _LEADING) and span.end - span.start > 1
    between = [token.text for token in text.tokens[span.end : following.start] if token.text not in "¿¡"]
    line, following_line = (text.tokens[one.start].line for one in (span, following))
    if between != [":"] or line != following_line or span.label not in {Label.CHECK, Label.TEXT}:
        return False
    asks_back = "?" in {token.text for token in text.tokens[following.end - 1 : following.end + 1]}
    alone = (
        later is None
        or text.tokens[later.start].line != line
        or any(token.text in ".;?!" for token in text.tokens[following.end - 1 : later.start])
    )
    return alone and (span.confidence <= _VAGUE or asks_back)


def _with_headed(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """`- shows today: stars, moon`: words that begin a list's line and have an answer behind them ask for it."""
    for at, span in enumerate(spans):
        line = text.tokens[span.start].line
        is_first = at == 0 or text.tokens[spans[at - 1].end - 1].line != line
        if span.label is Label.OPTIONS and is_first and BULLET.match(text.lines[line]):
            first = next(index for index in range(span.start + 1) if text.tokens[index].line == line)
            words = [index for index in range(first, span.start) if text.tokens[index].is_word]
            if any(map(text.carries_meaning, words)):
                yield LabelledSpan(Label.CHECK, words[0], words[-1] + 1, span.confidence)
        yield span
