"""Corrects labels that contradict each other, so that no requested item is lost."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, takewhile, zip_longest
from typing import Final

from .labels import DETAILS, ITEMS, Label, LabelledSpan
from .scopes import heads_block
from .sentences import Sentences, asks_back
from .settings import says_setting
from .token_features import BULLET
from .tokens import TokenizedText
from .unread import UNASKED, with_adjacent_words

_TASKS: Final = frozenset({"record", "measure", "count", "describe"})
"""Roles of verbs for kinds of answers."""
_VAGUE_HEADINGS: Final = frozenset({Label.CHECK, Label.TEXT, Label.CHOICE, Label.MULTI_CHOICE})
"""Items that are a heading if another item directly follows their colon."""
_SEVERAL: Final = 2
_LINE: Final = 12
"""Spans of a line that are looked at behind a heading."""
_HEADINGS: Final = 2
"""From this many lines with headings, similar lines have headings too."""
_ANSWERED: Final = frozenset({Label.OPTIONS, Label.UNIT, Label.LIMIT, Label.RANGE})
"""Details of an answer, which directly follow their item."""
_ASKED_BY: Final = {
    Label.OPTIONAL: Label.TEXT,
    Label.OPTIONS: Label.CHOICE,
    Label.RANGE: Label.RATING,
    Label.UNIT: Label.NUMBER,
    Label.LIMIT: Label.NUMBER,
}
"""The items that details without one ask for."""
_NAMED: Final = frozenset({Label.CHOICE, Label.MULTI_CHOICE, Label.TEXT})
"""Items for which a directly following repetition is a list of options."""
_SURE: Final = 0.7
TELLING: Final = 2
"""Minimum words with meaning in a label that can be understood alone."""


def repaired(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> list[LabelledSpan]:
    """The corrected spans, in order."""
    name = next((span for span in spans if span.label is Label.NAME), None)
    found = [_asking(text, span, following, name) for span, following in zip_longest(spans, spans[1:])]
    found = _with_answers(text, found)
    found = list(_with_sections(text, found))
    found = list(_with_unasked(text, found, sentences))
    return list(with_adjacent_words(text, found, sentences))


def _asking(
    text: TokenizedText, span: LabelledSpan, following: LabelledSpan | None, name: LabelledSpan | None
) -> LabelledSpan:
    """An item instead of a setting without effect, or of a second name followed by an answer."""
    if span.label is Label.SETTING and not says_setting(text, span):
        counted = any("in_unit" in text.roles[index] for index in range(span.start, span.end))
        return replace(span, label=Label.NUMBER if counted else Label.TEXT)
    asked = asks_back(text, span.end)
    if span.label is Label.NAME and span is not name:
        answered = following is not None and following.label in _ANSWERED and _close(text, span, following)
        task = bool(text.roles[span.start].keys() & _TASKS)
        return replace(span, label=Label.TEXT if task else Label.CHECK) if asked or answered or task else span
    if span.label is Label.SIGNATURE and asked:  # `signed by the client?`
        return replace(span, label=Label.CHECK)
    if span.label is Label.IF and following is not None and following.label is Label.OPTIONS:
        headed = [token.text for token in text.tokens[span.end : following.start]] == [":"]
        return replace(span, label=Label.CHECK) if headed and span.confidence < _SURE else span
    return span


def _close(text: TokenizedText, span: LabelledSpan, following: LabelledSpan) -> bool:
    return not any(text.tokens[at].is_word or text.tokens[at].text in ".;" for at in range(span.end, following.start))


def _with_sections(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """Make items before a colon and several items of their line headings, if there are several such lines."""
    heads = {at for at, span in enumerate(spans) if _heads_several(text, span, spans[at + 1 : at + 1 + _LINE])}
    headed = len(heads) + sum(span.label is Label.SECTION for span in spans) >= _HEADINGS
    for at, span in enumerate(spans):
        yield replace(span, label=Label.SECTION) if headed and at in heads else span


def _heads_several(text: TokenizedText, span: LabelledSpan, following: Sequence[LabelledSpan]) -> bool:
    line = text.tokens[span.start].line
    inside = list(takewhile(lambda one: text.tokens[one.start].line == line, following))
    if span.label not in _VAGUE_HEADINGS or sum(one.label in ITEMS for one in inside) < _SEVERAL:
        return False
    between = [token.text for token in text.tokens[span.end : inside[0].start]]
    opens = not any(token.is_word and token.line == line for token in text.tokens[: span.start])
    return opens and between == [":"] and inside[0].label in ITEMS


def _with_answers(text: TokenizedText, spans: Sequence[LabelledSpan]) -> list[LabelledSpan]:
    """Drop items about the form of an answer (`tick all that apply`), merge options in a condition with it (`if it is
    worn or cracked`), and use the words after a choice as its options."""
    found: list[LabelledSpan] = []
    for span in spans:
        before = found[-1] if found else None
        if before is not None and before.label is Label.OPTIONS and span.label in ITEMS:
            opened = text.tokens[before.end : span.start]
            if opened and opened[-1].text == "(" and text.has("several", span.start, span.end):
                continue
        if span.label is Label.OPTIONS and len(found) > 1 and _is_first_option(text, found[-2], found[-1], span):
            found[-1] = replace(span, start=found[-1].start)
            continue
        if before is not None and before.label in _NAMED and span.label is Label.EACH and _close(text, before, span):
            found.append(replace(span, label=Label.OPTIONS))
            continue
        if before is not None and before.label is Label.EACH and _names_things(text, found, span):
            found[-1] = replace(before, end=span.end)
            continue
        if before is not None and before.label is Label.IF and span.start == before.end:
            if span.label is Label.OPTIONS and span.confidence >= _SURE:
                found[-1] = replace(before, end=span.end)
                continue
            if span.label in ITEMS and text.roles[span.start].get("or") == 1:  # `if it is worn | or has to be replaced`
                found[-1] = replace(before, end=span.end)
                continue
        if span.label is Label.SCAN and before is not None and _says_how(text, before, span):
            found[-1] = replace(before, label=Label.SCAN)  # `inventory number (scan the label)`
            continue
        found.append(span)
    return found


def _names_things(text: TokenizedText, found: Sequence[LabelledSpan], span: LabelledSpan) -> bool:
    """Whether options are the things that a check is repeated for: `ink checked for each colour: red, blue`."""
    checked = len(found) > 1 and found[-2].label is Label.CHECK and span.label is Label.OPTIONS
    return checked and [token.text for token in text.tokens[found[-1].end : span.start]] in ([":"], ["("])


def _says_how(text: TokenizedText, before: LabelledSpan, span: LabelledSpan) -> bool:
    """Whether a span is in parentheses directly behind its item."""
    between = [token.text for token in text.tokens[before.end : span.start]]
    return (
        before.label in {Label.TEXT, Label.NUMBER, Label.CHECK, Label.CHOICE}
        and between[:1] == ["("]
        and all(not text.carries_meaning(at) for at in range(before.end, span.start))
    )


def _is_first_option(text: TokenizedText, asked: LabelledSpan, first: LabelledSpan, options: LabelledSpan) -> bool:
    """Whether the item `first` is the first of the options: `type: open fire, insert or stove`."""
    apart = [token.text for token in text.tokens[first.end : options.start]]
    if asked.label not in ITEMS or first.label not in ITEMS or apart not in ([], [","]):
        return False
    return [token.text for token in text.tokens[asked.end : first.start]] == [":"]


def _with_unasked(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> Iterator[LabelledSpan]:
    """Add items to sentences without any, from the words of their condition, repetition or `optional`, and to lines of
    a list that begin with words and go on with options or numbers."""
    for _, group in groupby(spans, key=lambda span: sentences.of[span.start]):
        inside = list(group)
        if any(span.label in ITEMS for span in inside):
            yield from inside
            continue
        start, end = sentences.bounds(inside[0].start)
        line = text.tokens[start].line
        listed = BULLET.match(text.lines[line]) and (start == 0 or text.tokens[start - 1].line < line)
        for at, span in enumerate(inside):
            doubtful = all(one.label in DETAILS | {Label.IF} and one.confidence < _SURE for one in inside[at + 1 :])
            hints = all(one.label in {Label.HOW, Label.HINT} for one in inside[at + 1 :])
            heads = ":" in {token.text for token in text.tokens[end - 1 : end]}
            if span.label is Label.EACH and hints and not heads and not heads_block(text, span):
                numbered = any(text.tokens[index].is_number for index in range(span.start, span.end))
                yield replace(span, label=Label.TEXT if numbered else Label.CHECK)
            elif span.label is Label.IF and doubtful:
                yield span
                yield from _text(text, span.end, end)
                break
            elif at == 0 and span.label in _ASKED_BY and (span.label is Label.OPTIONAL or listed):
                first = next(filter(text.carries_meaning, range(start, span.start)), span.start)
                yield from (replace(one, label=_ASKED_BY[span.label]) for one in _text(text, first, span.start))
                yield span
            else:
                yield span


def _text(text: TokenizedText, start: int, end: int) -> Iterator[LabelledSpan]:
    """A text item for words without a label."""
    words = [at for at in range(start, end) if text.tokens[at].is_word or text.tokens[at].is_number]
    if words:
        yield LabelledSpan(Label.TEXT, words[0], words[-1] + 1, UNASKED)
