"""Finds the items that a condition or a repetition applies to."""

from collections.abc import Sequence
from typing import Final

from .items import Item
from .labels import Label, LabelledSpan
from .sentences import Sentences
from .token_features import BULLET
from .tokens import TokenizedText

_JOINS: Final = frozenset({"and", "also", "article", "please", "possessive", "or", "then"})
_STOPS: Final = frozenset({"ordinal"})
_ANSWERS: Final = ("if_not", "if_yes", "otherwise")
_HEADS: Final = frozenset({Label.SECTION, Label.EACH})
_MOST_JOINING: Final = 5
"""Maximum tokens between two items of one chain."""


def governed(
    text: TokenizedText,
    span: LabelledSpan,
    items: Sequence[Item],
    breaks: Sequence[LabelledSpan],
    sentences: Sentences,
) -> tuple[list[Item], list[Item]]:
    """The items that the span certainly applies to, and those that it may apply to.

    `breaks`: conditions and headings, which end the scope of the previous condition.
    """
    start, end = sentences.bounds(span.start)
    after = [item for item in items if span.end <= item.start < end]
    stop = min((one.start for one in breaks if one.start > span.start), default=len(text))
    closing = next((at for at in range(span.end, end) if text.tokens[at].text in "()"), end)
    if closing < end and text.tokens[closing].text == ")":  # the condition and its items are in parentheses
        stop = min(stop, closing)
    after = [item for item in after if item.start < stop]
    before = [item for item in items if start <= item.start and item.end <= span.start]
    if before and _looks_back(text, span, before[-1], after):
        return before[-1:], []
    if not after:
        return before[-1:] if before and not _refers_back(text, span) else [], []
    chain = _chain(text, after)
    if sentences.is_long(span.start):
        return chain[:1], chain[1:]
    return chain, [item for item in after if item not in chain]


def _chain(text: TokenizedText, after: Sequence[Item]) -> list[Item]:
    """The first item with those joined to it: `a and b`, `a, b and c`; a comma alone does not join."""
    chain, certain = [after[0]], 1
    for item in after[1:]:
        if not _joined(text, chain[-1], item):
            break
        joint = range(chain[-1].end, item.start)
        joins = any("and" in text.roles[at] or text.tokens[at].text in "&+" for at in joint)
        if not joins and certain > 1:  # `a and b, c`
            break
        chain.append(item)
        if joins:
            certain = len(chain)
    return chain[:certain]


def _refers_back(text: TokenizedText, span: LabelledSpan) -> bool:
    return any(text.has(role, span.start, min(span.start + 4, len(text))) for role in _ANSWERS)


def _looks_back(text: TokenizedText, span: LabelledSpan, before: Item, after: Sequence[Item]) -> bool:
    """Whether the condition follows its item: `photo if it is damaged, then the signature`."""
    if _refers_back(text, span):
        return False
    gap = text.tokens[before.end : span.start]
    if any(token.text in ",;:.!?()|" or (token.is_word and len(gap) > 2) for token in gap):
        return False
    if not after:
        return True
    behind = text.tokens[span.end : after[0].start]
    return (bool(behind) and behind[0].text in ",;|)") or (
        bool(behind) and "and" in text.roles[span.end] and "," not in {token.text for token in behind[1:]}
    )


def _joined(text: TokenizedText, first: Item, second: Item) -> bool:
    """Whether only joining words, commas and details are between two items."""
    details = [span for spans in first.details.values() for span in spans]
    gap = [
        index for index in range(first.end, second.start) if not any(span.start <= index < span.end for span in details)
    ]
    if len(gap) > _MOST_JOINING:
        return False
    joining: set[int] = set()
    for index in gap:
        roles = text.roles[index]
        if roles.keys() & _STOPS and not roles.keys() & {"and", "article"}:
            return False
        if text.tokens[index].text in ",/&+()" or roles.keys() & _JOINS:
            joining.update(range(index, index + max(roles.values(), default=1)))
    words = [index for index in gap if text.tokens[index].is_word and index not in joining]
    return len(words) <= 2 and not any(text.tokens[index].text in ";.:!?" for index in gap)


def repeated(
    text: TokenizedText,
    span: LabelledSpan,
    items: Sequence[Item],
    owner: Item | None,
    *,
    spans: Sequence[LabelledSpan],
    sentences: Sentences,
) -> list[Item]:
    """The items to repeat for each of the things in the span."""
    start, end = sentences.bounds(span.start)
    inside = [item for item in items if start <= item.start < end]
    before = [item for item in inside if item.end <= span.start]
    if before:
        return before[-1:] if owner is None or owner is before[-1] else [owner]
    if heads_block(text, span):
        stop = _block_end(text, span, spans)
        return [item for item in items if span.end <= item.start < stop]
    if inside and (not sentences.is_long(span.start) or text.tokens[span.end : span.end + 1][0].text == ":"):
        return inside
    return [owner] if owner is not None and owner in inside else []


def heads_block(text: TokenizedText, span: LabelledSpan) -> bool:
    """Whether the span is a line by itself, so that it applies to the lines below: `for each of tanks 1 and 2:`."""
    line = text.tokens[span.start].line
    others = (at for at, token in enumerate(text.tokens) if token.line == line and not span.start <= at < span.end)
    return line < text.tokens[-1].line and not any(map(text.carries_meaning, others))


def _block_end(text: TokenizedText, span: LabelledSpan, spans: Sequence[LabelledSpan]) -> int:
    """The next heading or repetition, or the first token after an empty line below the first item; of a line of a list,
    the next line that is not indented more."""
    stop = min((one.start for one in spans if one.start > span.start and one.label in _HEADS), default=len(text))
    line = text.tokens[span.start].line
    if BULLET.match(text.lines[line]):
        indent = [len(one) - len(one.lstrip()) for one in text.lines]
        below = (at for at in range(span.end, stop) if text.tokens[at].line > line)
        return next((at for at in below if indent[text.tokens[at].line] <= indent[line]), stop)
    first = next((at for at in range(span.end, stop) if text.tokens[at].line > text.tokens[span.start].line), stop)
    for index in range(first + 1, stop):
        between = text.lines[text.tokens[index - 1].line + 1 : text.tokens[index].line]
        if not all(map(str.strip, between)):
            return index
    return stop
