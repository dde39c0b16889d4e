"""Where sentences begin and end."""

from typing import Final

from .words import Span, remembered

_LONGEST_SENTENCE: Final = 150


@remembered
def sentences_of(span: Span) -> list[Span]:
    """The sentences of a text, with their marks."""
    sentences: list[Span] = []
    spoken = inside_phrases(span)
    start = 0
    for position in span.places(".!?;…"):
        token = span[position]
        if position < start:
            continue
        following = span[position + 1] if position + 1 < len(span) else None
        if following is not None and (following.start == token.end or following.text in ".!?;…"):
            continue
        if position in spoken or (token.text == "." and span.at("abbreviated", position - 1)):
            continue
        if token.text == "." and position > start and following is not None:
            before = span[position - 1].text
            unit = position >= 2 and (span[position - 2].text == "°" or span[position - 2].is_number)
            if (len(before) == 1 and before.isalpha() and not unit) or (
                following.text[:1].islower() and len(before) <= 2
            ):
                continue
        end = _behind_parenthesis(span, position + 1)
        sentences.append(span.sub(start, end))
        start = end
    if start < len(span):
        sentences.append(span.sub(start))
    sentences = [part for sentence in sentences for part in _cut(sentence)]
    return [
        sentence
        for sentence in sentences
        if any(sentence[i].is_word or sentence[i].is_number for i in range(len(sentence)))
    ]


def _behind_parenthesis(span: Span, position: int) -> int:
    """`How was it? (1-5 stars)`: what stands in parentheses behind a question belongs to it."""
    if position < len(span) and span[position - 1].text == "?" and span[position].text == "(":
        return next((end + 1 for end in span.places(")", start=position)), position)
    return position


def _cut(sentence: Span) -> list[Span]:
    """A sentence that no reader would follow in parts that one can: rules look at all of what they are given."""
    parts: list[Span] = []
    while len(sentence) > _LONGEST_SENTENCE:
        marks = (i for i in range(_LONGEST_SENTENCE, _LONGEST_SENTENCE // 2, -1) if sentence[i].text in ",;")
        end = next(marks, _LONGEST_SENTENCE)
        parts.append(sentence.sub(0, end))
        sentence = sentence.sub(end)
    return [*parts, sentence]


@remembered
def inside_phrases(span: Span) -> set[int]:
    """Where marks belong to a phrase (`max. 7 °C`, `prüfen, ob`), so that nothing ends there."""
    inside: set[int] = set()
    phrases, index = span.words.phrases, span.index
    for position in span.places(",.", start=1) if phrases else ():
        if not any(phrases.get(index[position - back], 0) > back for back in (1, 2, 3) if back <= position):
            continue
        if any(
            span.at(role, position - back) > back
            for back in (1, 2, 3)
            if back <= position
            for role in span.words.marks[span.index[position - back]]
        ):
            inside.add(position)
    return inside
