"""Labels that cannot be right beside each other, put right: what would be lost otherwise becomes an item."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, zip_longest
from typing import Final

from .labels import DETAILS, ITEMS, Label, LabelledSpan
from .sentences import Sentences, asks_back
from .settings import says_setting
from .tokens import TokenizedText

_ANSWERED: Final = frozenset({Label.OPTIONS, Label.UNIT, Label.LIMIT, Label.RANGE})
"""Details of an answer: what stands right before them asks for it."""
_VAGUE: Final = 0.8
"""Up to this confidence an item before a colon is rather the heading of the one behind it."""
_UNASKED: Final = 0.6
"""The confidence of what is asked for by words that have no label."""
_NAMED: Final = frozenset({Label.CHOICE, Label.MULTI_CHOICE, Label.TEXT})
"""Items that nobody asks for once for each of some things that stand right behind them: these are the answers."""
_SURE: Final = 0.7
_VAGUELY: Final = frozenset({Label.CHECK, Label.TEXT, Label.CHOICE, Label.MULTI_CHOICE})
"""Items that are a heading when another item stands right behind their colon."""
_HEADING: Final = ITEMS | {Label.SECTION}
_TASKS: Final = frozenset({"record", "measure", "count", "describe"})
TELLING: Final = 2
"""Words that carry meaning, of a label that can be understood by itself."""
_COUNTED: Final = frozenset({"how_much", "count", "wh", "number_noun"})
_LISTED: Final = 3
"""With so many items in other sentences, the sentence of the name is a title."""
_HEADED: Final = 2
_SEVERAL: Final = 2
_HEADINGS: Final = 2
"""So many lines with headings make headings of all that look like them."""
_BESIDE: Final = 4
"""Words right before a span that become a part of it."""
_APART: Final = frozenset(",;.|")
_ASKING: Final = frozenset(
    {"request", "checklist", "please", "it_should", "confirm", "check", "record", "we", "greeting", "meta", "ordinal"}
    | {"then", "also", "to_whom", "if", "if_not", "if_yes", "otherwise", "unless", "only_if", "executor", "self"}
)
"""Roles of words that only lead to what is asked for."""
_LEADING: Final = frozenset({"preposition", "of", "article"})


def repaired(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> list[LabelledSpan]:
    """The spans in order, without what contradicts itself."""
    spans = [_no_name(text, span, spans, sentences) for span in spans]
    spans = [span for at, span in enumerate(spans) if not _heads_its_line(text, spans, at)]
    spans = list(_with_title(text, spans, sentences))
    name = next((span for span in spans if span.label is Label.NAME), None)
    found = [_asking(text, span, following, name) for span, following in _with_next(spans)]
    found = list(_joined(text, _with_answers(text, found)))
    found = list(_with_sections(text, found))
    found = list(_with_headed(text, found))
    found = list(_with_unasked(text, found, sentences))
    found = list(_with_words_beside(text, found, sentences))
    return list(_with_words_behind(text, found, sentences))


def _no_name(
    text: TokenizedText, span: LabelledSpan, spans: Sequence[LabelledSpan], sentences: Sentences
) -> LabelledSpan:
    """An item in place of a name behind several items, or that begins with what is to be done: `Record the area.`"""
    if span.label is not Label.NAME or sentences.of[span.start] == 0:
        return span
    before = sum(one.label in ITEMS for one in spans if one.end <= span.start)
    if before >= _LISTED or (text.roles[span.start].keys() & _TASKS):
        return replace(span, label=Label.TEXT, confidence=0.0)
    return span


def _with_sections(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """Items without details, before a colon and several items of their line, as headings, where others are so, too."""
    heads = [at for at in range(len(spans)) if _heads_several(text, spans, at)]
    headed = len(heads) + sum(span.label is Label.SECTION for span in spans) >= _HEADINGS
    for at, span in enumerate(spans):
        yield replace(span, label=Label.SECTION) if headed and at in heads else span


def _heads_several(text: TokenizedText, spans: Sequence[LabelledSpan], at: int) -> bool:
    span, line = spans[at], text.tokens[spans[at].start].line
    opens = not any(text.tokens[index].is_word for index in range(span.start) if text.tokens[index].line == line)
    behind = [one for one in spans[at + 1 :] if text.tokens[one.start].line == line]
    if span.label not in _VAGUELY or not opens or sum(one.label in ITEMS for one in behind) < _SEVERAL:
        return False
    return behind[0].label in ITEMS and [one.text for one in text.tokens[span.end : behind[0].start]] == [":"]


def _heads_its_line(text: TokenizedText, spans: Sequence[LabelledSpan], at: int) -> bool:
    """Whether a heading before a colon is about one or two items in its line, and not about those in the next lines."""
    span, line = spans[at], text.tokens[spans[at].start].line
    behind = spans[at + 1 :]
    own = [one for one in behind if text.tokens[one.start].line == line and one.label in ITEMS]
    below = [one for one in behind if text.tokens[one.start].line > line and one.label in ITEMS]
    if span.label is not Label.SECTION or not below or not 0 < len(own) <= _HEADED:
        return False
    follows = next((one for one in behind if one.label is Label.SECTION), None)
    between = [token.text for token in text.tokens[span.end : own[0].start]]
    return between == [":"] and (follows is None or text.tokens[follows.start].line > text.tokens[below[0].start].line)


def _with_title(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> Iterator[LabelledSpan]:
    """The spans with what stands in one sentence with the name, or in its place, as a part of the name.

    `Weekly check of the | aquarium tanks`, `Pilot boat, start of watch.`: a title asks for nothing.
    """
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
    else:  # the title has no label: it is what asks for a checklist, or more than the item
        first, last = item.start, item.end
        asking = text.has("request", start, first) or text.has("checklist", start, first)
        apart = not asking and not (start == 0 and any(map(text.carries_meaning, range(start, first))))
        first = first if asking else start
    for span in spans:
        if apart or (span is not item and span is not named):
            yield span
        elif span is item:
            yield LabelledSpan(Label.NAME, first, last, span.confidence if named is None else named.confidence)


def _with_words_beside(
    text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences
) -> Iterator[LabelledSpan]:
    """The spans, each with the words before it in its clause that have no label: `no. of | seats`."""
    end = 0
    for span in _with_number_apart(text, spans):
        first = span.start
        while first > end and not _parts(text, first - 1) and sentences.of[first - 1] == sentences.of[span.start]:
            first -= 1
        while first < span.start and not text.carries_meaning(first) and not text.tokens[first].is_number:
            first += 1
        beside = range(first, span.start)
        told = 0 < len(beside) <= _BESIDE and not any(text.roles[at].keys() & _ASKING for at in beside)
        if told and span.label is Label.LIMIT and first and text.tokens[first - 1].text in _APART:
            measured = not any("not" in text.roles[at] for at in beside)  # `weight, | humidity | 40 to 60 %`
            yield LabelledSpan(Label.NUMBER if measured else Label.TEXT, first, span.start, _UNASKED)
            told = False
        elif told and span.label in ITEMS:
            first = _heading_start(text, first, end)
        elif span.label in ITEMS:
            first = _heading_start(text, span.start, end)
            told = first < span.start
        grows = told and span.label in ITEMS | {Label.LIMIT, Label.HINT}
        yield replace(span, start=first) if grows else span
        end = span.end


def _with_words_behind(
    text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences
) -> Iterator[LabelledSpan]:
    """The items, each with the last words of its clause that have no label: `boxes put | into quarantine`."""
    for span, following in _with_next(spans):
        stop = following.start if following is not None else len(text)
        last = span.end
        while last < stop and not _cuts(text, last) and sentences.of[last] == sentences.of[span.start]:
            last += 1
        closed = last == len(text) or _cuts(text, last) or sentences.of[last] != sentences.of[span.start]
        behind = range(span.end, last)
        told = any(map(text.carries_meaning, behind)) and not any(text.roles[at].keys() & _ASKING for at in behind)
        fits = (
            span.label in ITEMS and closed and len(behind) <= _BESIDE and text.tokens[span.end - 1].text not in ".?!)"
        )
        yield replace(span, end=last) if fits and told else span


def _with_number_apart(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """`sorted by colour, | salt water 10 to 12 °C`: a limit that names its own thing behind what is no number."""
    before: LabelledSpan | None = None
    for span in spans:
        first = span.start
        while first < span.end and text.carries_meaning(first) and not text.roles[first]:
            first += 1
        own = span.start and text.tokens[span.start - 1].text in _APART and span.start < first < span.end
        if span.label is Label.LIMIT and own and before is not None and before.label in ITEMS - {Label.NUMBER}:
            yield LabelledSpan(Label.NUMBER, span.start, first, _UNASKED)
            yield replace(span, start=first)
        else:
            yield span
        before = span


def _heading_start(text: TokenizedText, start: int, end: int) -> int:
    """Where words without a label begin that stand before a colon at the start of the item's line: `Gate: | shut?`"""
    before = text.tokens[start - 1] if start else None
    if before is None or before.text != ":" or before.line != text.tokens[start].line:
        return start
    first = start - 1
    while first > end and not _parts(text, first - 1) and text.tokens[first - 1].line == before.line:
        first -= 1
    heading = range(first, start - 1)
    opens = first == 0 or text.tokens[first - 1].line != before.line or text.tokens[first - 1].text in ".;?!"
    known = any(text.roles[at].keys() & _ASKING for at in heading)
    telling = any(map(text.carries_meaning, heading))
    return first if opens and telling and not known and len(heading) <= _BESIDE else start


def _parts(text: TokenizedText, index: int) -> bool:
    return _cuts(text, index) or "and" in text.roles[index]


def _cuts(text: TokenizedText, index: int) -> bool:
    token = text.tokens[index]
    return not (token.is_word or token.is_number)


def _with_next(spans: Sequence[LabelledSpan]) -> Iterator[tuple[LabelledSpan, LabelledSpan | None]]:
    return zip_longest(spans, spans[1:])


def _asking(
    text: TokenizedText, span: LabelledSpan, following: LabelledSpan | None, name: LabelledSpan | None
) -> LabelledSpan:
    """An item in place of a setting that sets nothing, and of a further name with an answer behind it."""
    if span.label is Label.SETTING and not says_setting(text, span):
        counted = any("in_unit" in text.roles[index] for index in range(span.start, span.end))
        return replace(span, label=Label.NUMBER if counted else Label.TEXT)
    asked = asks_back(text, span.end)
    if span.label is Label.NAME and span is not name:
        answered = following is not None and following.label in _ANSWERED and _close(text, span, following)
        told = bool(text.roles[span.start].keys() & _TASKS)
        return replace(span, label=Label.TEXT if told else Label.CHECK) if asked or answered or told else span
    if span.label is Label.SIGNATURE and asked:  # `signed by the client?`
        return replace(span, label=Label.CHECK)
    if span.label is Label.CHECK and asked and _opens_question(text, span.start - 1):  # `Is | there damage?`
        return replace(span, start=span.start - 1)
    if span.label is Label.IF and following is not None and following.label is Label.OPTIONS:
        headed = [token.text for token in text.tokens[span.end : following.start]] == [":"]
        return replace(span, label=Label.CHECK) if headed and span.confidence < _SURE else span
    return span


def _opens_question(text: TokenizedText, index: int) -> bool:
    """Whether a token is a verb that a question begins with, at the start of its sentence."""
    if index < 0 or "question" not in text.roles[index]:
        return False
    before = text.tokens[index - 1] if index else None
    return before is None or before.line != text.tokens[index].line or before.text in ".;?!:"


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


def _with_answers(text: TokenizedText, spans: Sequence[LabelledSpan]) -> list[LabelledSpan]:
    """Without items that only say how options are to be answered (`tick all that apply`), with the options of a
    condition (`if it is worn or cracked`) as a part of it, and with what follows a choice as its options."""
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
        if before is not None and before.label is Label.IF and span.start == before.end:
            if span.label is Label.OPTIONS and span.confidence >= _SURE:
                found[-1] = replace(before, end=span.end)
                continue
            if span.label in ITEMS and text.roles[span.start].get("or") == 1:  # `if it is worn | or has to be replaced`
                found[-1] = replace(before, end=span.end)
                continue
        if span.label is Label.LIMIT and before is not None and _asks_whether(text, before, span):
            found[-1] = replace(before, label=Label.CHECK, end=span.end)  # `battery above 50 %?`
            continue
        if span.label in ITEMS and _is_state(text, found, span):
            span = replace(span, label=Label.IF)  # noqa: PLW2901 - `seal: good, worn. Seal worn: change it`
        if span.label is Label.SCAN and before is not None and _says_how(text, before, span):
            found[-1] = replace(before, label=Label.SCAN)  # `inventory number (scan the label)`
            continue
        found.append(span)
    return found


def _asks_whether(text: TokenizedText, before: LabelledSpan, limit: LabelledSpan) -> bool:
    """Whether a number and its limit are one question that is answered by yes or no."""
    asked = limit.end < len(text) and text.tokens[limit.end].text == "?" and before.end == limit.start
    return asked and before.label is Label.NUMBER and not text.any_of(_COUNTED, before.start, limit.end)


def _is_state(text: TokenizedText, before: Sequence[LabelledSpan], span: LabelledSpan) -> bool:
    """Whether words before a colon repeat an item with one of its options, so that they are its condition."""
    if span.end + 1 >= len(text) or text.tokens[span.end].text != ":":
        return False
    said = set(text.stems(span.start, span.end))
    for asked, options in pairwise(before):
        if asked.label in ITEMS and options.label is Label.OPTIONS:
            offered = {text.language.any_stem(text.tokens[at].text) for at in range(options.start, options.end)}
            own = set(text.stems(asked.start, asked.end))
            if said & offered and said & own and said <= own | offered:
                return True
    return False


def _says_how(text: TokenizedText, before: LabelledSpan, span: LabelledSpan) -> bool:
    """Whether a span stands in parentheses right behind an item that it says more about."""
    between = [token.text for token in text.tokens[before.end : span.start]]
    return (
        before.label in {Label.TEXT, Label.NUMBER, Label.CHECK, Label.CHOICE}
        and between[:1] == ["("]
        and all(not text.carries_meaning(at) for at in range(before.end, span.start))
    )


def _is_first_option(text: TokenizedText, asked: LabelledSpan, first: LabelledSpan, options: LabelledSpan) -> bool:
    """`type: open fire, insert or stove`: whether what looks like an item of its own is the first of the options."""
    apart = [token.text for token in text.tokens[first.end : options.start]]
    if asked.label not in ITEMS or first.label not in ITEMS or apart not in ([], [","]):
        return False
    return [token.text for token in text.tokens[asked.end : first.start]] == [":"]


def _with_unasked(text: TokenizedText, spans: Sequence[LabelledSpan], sentences: Sentences) -> Iterator[LabelledSpan]:
    """Of a sentence without items, what its condition, its repetition or its `optional` is about."""
    for _, group in groupby(spans, key=lambda span: sentences.of[span.start]):
        inside = list(group)
        if any(span.label in ITEMS for span in inside):
            yield from inside
            continue
        start, end = sentences.bounds(inside[0].start)
        for at, span in enumerate(inside):
            doubtful = all(one.label in DETAILS and one.confidence < _SURE for one in inside[at + 1 :])
            told = all(one.label in {Label.HOW, Label.HINT} for one in inside[at + 1 :])
            heads = ":" in {token.text for token in text.tokens[end - 1 : end]}
            if span.label is Label.EACH and told and not heads:
                listed = any(text.tokens[index].is_number for index in range(span.start, span.end))
                yield replace(span, label=Label.TEXT if listed else Label.CHECK)
            elif span.label is Label.IF and doubtful:
                yield span
                yield from _text(text, span.end, end)
                break
            elif span.label is Label.OPTIONAL and at == 0:
                yield from _text(text, start, span.start)
                yield span
            else:
                yield span


def _text(text: TokenizedText, start: int, end: int) -> Iterator[LabelledSpan]:
    """A text step for words that have no label."""
    words = [at for at in range(start, end) if text.tokens[at].is_word or text.tokens[at].is_number]
    if words:
        yield LabelledSpan(Label.TEXT, words[0], words[-1] + 1, _UNASKED)


def _goes_on(text: TokenizedText, span: LabelledSpan, following: LabelledSpan, later: LabelledSpan | None) -> bool:
    if span.label not in _HEADING or following.label not in ITEMS:
        return False
    if span.end == following.start and span.label in ITEMS:
        return bool(text.roles[span.end - 1].keys() & _LEADING) and span.end - span.start > 1
    between = [token.text for token in text.tokens[span.end : following.start] if token.text not in "¿¡"]
    line, following_line = (text.tokens[one.start].line for one in (span, following))
    if between != [":"] or line != following_line:
        return False
    is_bare = len(text.stems(following.start, following.end)) < TELLING
    asked = span.label in ITEMS and asks_back(text, following.end)
    if span.label not in _VAGUELY and not asked and not (span.label is Label.SECTION and is_bare):
        return False
    alone = (
        later is None
        or text.tokens[later.start].line != line
        or any(token.text in ".;?!" for token in text.tokens[following.end - 1 : later.start])
    )
    last = following.end >= len(text) or text.tokens[following.end].line != line
    vague = span.confidence <= _VAGUE or asks_back(text, following.end) or (last and is_bare)
    return alone and (span.label is Label.SECTION or vague)


def _with_headed(text: TokenizedText, spans: Sequence[LabelledSpan]) -> Iterator[LabelledSpan]:
    """`shows today: stars, moon`, `if so, choose which: moths, mites`: words before options ask for one of them."""
    end = 0
    for span in spans:
        if span.label is Label.OPTIONS and span.start and text.tokens[span.start - 1].text == ":":
            first = span.start - 1
            while (
                first > end
                and text.tokens[first - 1].is_word
                and text.tokens[first - 1].line == text.tokens[span.start].line
            ):
                first -= 1
            if first < span.start - 1:
                yield LabelledSpan(Label.CHOICE, first, span.start - 1, _UNASKED)
        yield span
        end = span.end
