"""The sequence labeller: a conditional random field, trained on the prompts in `composer/training`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pycrfsuite

from .doubt import Certainty, as_aside, in_own_words
from .labels import ITEMS, OUTSIDE, Label, LabelledSpan, token_label
from .models import tagger
from .overlooked import Likelihood, overlooked, with_overlooked
from .repairs import repaired
from .request import messiness
from .sentences import Sentences
from .tables import table_spans
from .token_features import token_features
from .tokens import TokenizedText

MODEL: Final = "spans.crfsuite"
"""File in the package's folder `model`."""
_MESSY: Final = 0.5
"""From this probability, a prompt is treated as messy."""
_CLEAR: Final = 0.9
_UNLABELLED: Final = 0.15
_UNLABELLED_WITH_CARE: Final = 0.25
"""With at least this share of certain words, and at most this share without a label, a prompt is clear."""
_SEVERAL: Final = 0.25
"""From this probability, a choice allows several options."""
_STOPS: Final = frozenset(".;!?|")
"""Characters that end an item."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A prompt's spans in order, and their probabilities."""

    spans: list[LabelledSpan]
    sentences: Sentences
    outside: list[float]
    """Probability by token that it is in no span."""
    tables: set[int]
    """The tokens in cells of tables."""
    messy: bool
    """Whether the whole prompt is hard to read, so that only nearly certain labels are used."""


def labelled(text: TokenizedText) -> Labelled:
    """Label a prompt."""
    sentences = Sentences(text)
    if not text.tokens:
        return Labelled([], sentences, [], set(), messy=False)
    model = tagger(MODEL)
    model.set(pycrfsuite.ItemSequence(token_features(text)))
    labels = model.tag()
    known = frozenset(model.labels())

    def likelihood(label: Label, index: int) -> float:
        names = (token_label(label, first=True), token_label(label, first=False))
        return float(sum(model.marginal(name, index) for name in names if name in known))

    spans = [part for span in labelled_spans(labels) for part in _within_sentences(text, span, sentences)]
    spans = [_judged(span, likelihood) for span in spans]
    table, cells = table_spans(text, spans)
    spans = [span for span in spans if span.start not in cells]
    beginnings = [name for label in ITEMS if (name := token_label(label, first=True)) in known]
    certain = [model.marginal(label, index) for index, label in enumerate(labels)]
    messy = messiness(text, sentences) >= _MESSY and not _is_clear(text, sentences, labels, certain)
    certainty = Certainty(
        [1.0 if index in cells else probability for index, probability in enumerate(certain)],
        outside := [
            1.0 if index in sentences.farewell | cells else model.marginal(OUTSIDE, index)
            for index in range(len(labels))
        ],
        [sum(model.marginal(name, index) for name in beginnings) for index in range(len(labels))],
    )
    spans = in_own_words(text, spans, sentences, certainty, messy=messy)
    for span in overlooked(text, spans, outside, likelihood, cells):
        spans = with_overlooked(text, spans, as_aside(text, span, certainty) if messy else span)
    spans = sorted([*repaired(text, spans, sentences), *table], key=lambda span: span.start)
    return Labelled(spans, sentences, outside, cells, messy)


def _is_clear(text: TokenizedText, sentences: Sentences, labels: Sequence[str], certain: Sequence[float]) -> bool:
    """Whether nearly all words have a label, and a certain one, or most have one and the prompt was written with care:
    such a prompt is tidy, however long its sentences."""
    meaning = [index for index in range(len(text)) if text.carries_meaning(index)]
    share = max(1, len(meaning))
    unlabelled = sum(labels[index] == OUTSIDE for index in meaning) / share
    if unlabelled <= _UNLABELLED_WITH_CARE and sentences.are_written_with_care():
        return True
    return unlabelled <= _UNLABELLED and sum(certain[index] for index in meaning) / share >= _CLEAR


def labelled_spans(labels: Sequence[str]) -> Iterator[LabelledSpan]:
    """The spans of token labels, in order."""
    start = 0
    for index in range(1, len(labels) + 1):
        label = labels[start]
        if index < len(labels) and labels[index] == "I-" + label[2:] and label != OUTSIDE:
            continue
        if label != OUTSIDE:
            yield LabelledSpan(Label(label[2:]), start, index, 1.0)
        start = index


def _judged(span: LabelledSpan, likelihood: Likelihood) -> LabelledSpan:
    """The span with its final label and confidence.

    A choice that may allow several options becomes a multi_choice, which takes every answer. Confidence is the
    probability of the label; for an item, relative to the probability of any item.
    """
    inside = range(span.start, span.end)

    def of(label: Label) -> float:
        return sum(likelihood(label, index) for index in inside)

    label = span.label
    if label is Label.CHOICE and (many := of(Label.MULTI_CHOICE)) > _SEVERAL * (of(Label.CHOICE) + many):
        label = Label.MULTI_CHOICE
    own = of(label)
    if label not in ITEMS:
        return replace(span, confidence=own / len(inside))
    every = sum(likelihood(one, index) for index in inside for one in ITEMS)
    return replace(span, label=label, confidence=own / max(own, every))


def _within_sentences(text: TokenizedText, span: LabelledSpan, sentences: Sentences) -> Iterator[LabelledSpan]:
    """Split the span at full stops, ends of list lines and similar."""
    start = span.start
    for index in range(span.start, span.end):
        token = text.tokens[index]
        following = text.tokens[index + 1] if index + 1 < span.end else None
        stops = token.text in _STOPS and (token.text != "." or following is None or following.text[:1].isupper())
        if token.text == "." and index > span.start and len(text.tokens[index - 1].text) < 4 and following is not None:
            stops = stops and text.tokens[index - 1].is_number
        elif token.text == "." and following is not None and following.start > token.end:
            stops = "abbreviated" not in text.roles[index - 1]  # many write no capitals
        new_line = (
            following is not None and sentences.of[index] != sentences.of[index + 1] and following.line != token.line
        )
        if (stops and following is not None) or new_line:
            end = index if stops and token.text not in "?!" else index + 1
            if any(text.tokens[one].is_word for one in range(start, end)):
                yield LabelledSpan(span.label, start, end, span.confidence)
            start = index + 1
    while start < span.end and not (text.tokens[start].is_word or text.tokens[start].is_number):
        if text.tokens[start].text in "[(\"'<>≤≥±+-–#" or span.label not in ITEMS:
            break
        start += 1
    if start < span.end:
        yield LabelledSpan(span.label, start, span.end, span.confidence)
