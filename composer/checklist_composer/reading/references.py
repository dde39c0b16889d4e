"""Finds the answer that a condition refers to without stating it (`if it leaks`, `if that is too warm`), by a model
trained on the conditions of the labelled prompts."""

from collections.abc import Iterator, Sequence
from typing import Final

import pycrfsuite

from .items import Item
from .labels import Label, LabelledSpan
from .models import tagger
from .sentences import Sentences, asks_back
from .tokens import TokenizedText

REFERENCES: Final = "references.crfsuite"
"""File in the package's folder `model`."""
MEANS: Final = ("yes", "no", "out")
"""The answers of a referred item: yes and no of a check, or a number outside of its limit."""
NOT_MEANT: Final = "none"
_REACH: Final = 4
"""Maximum number of earlier items that may be meant."""
_CERTAIN: Final = 0.7
"""Below this probability, a condition refers to nothing."""
_ANSWERS: Final = frozenset({"if_yes", "if_not", "otherwise"})
_OTHERS: Final = 2
"""From this number of words, none of which the question has, a condition names something else."""


def candidates(before: Sequence[Item]) -> Iterator[tuple[int, Item, tuple[str, ...]]]:
    """The last items that may be meant, with their distance and the answers that may be."""
    for distance, item in enumerate(reversed(before[-_REACH:])):
        if item.label is Label.CHECK:
            yield distance, item, MEANS[:2]
        elif item.label is Label.NUMBER and item.has(Label.LIMIT):
            yield distance, item, MEANS[2:]


def referred(
    text: TokenizedText, sentences: Sentences, span: LabelledSpan, before: Sequence[Item], last: Item | None
) -> tuple[Item, str] | None:
    """The item and the answer that a condition most likely refers to; None if that is uncertain.

    `last`: the item that the condition before it refers to.
    """
    if before[-1].label is Label.CHECK and _repeats(text, span, before[-1]):
        return before[-1], "yes"
    model = tagger(REFERENCES)
    likely: list[tuple[float, Item, str]] = []
    for distance, item, means in candidates(before):
        if _names_another(text, span, item):
            continue
        model.set(pycrfsuite.ItemSequence([reference_features(text, sentences, span, before, distance, last=last)]))
        likely += [(span.confidence * model.marginal(one, 0), item, one) for one in means]
    certain = [one for one in likely if one[0] >= _CERTAIN]
    return max(certain, key=lambda one: one[0])[1:] if certain else None


def _repeats(text: TokenizedText, span: LabelledSpan, item: Item) -> bool:
    """Whether a condition says that it is as asked: `does it leak? if it leaks`."""
    if any(text.has("not", one.start, one.end) for one in (span, item)):
        return False
    said, own = (set(text.stems(one.start, one.end)) for one in (span, item))
    works = all(text.has("good", one.start, one.end) for one in (span, item)) and not text.has(
        "bad", span.start, span.end
    )
    return said <= own and (bool(said) or works)


def _names_another(text: TokenizedText, span: LabelledSpan, item: Item) -> bool:
    """Whether a condition is about something else: `are dead oysters found? if a line is damaged`, `depth (at least
    30 cm). if there is a defect`."""
    said, own = (set(text.stems(one.start, one.end)) for one in (span, item))
    if said & own or text.any_of(_ANSWERS, span.start, span.end):
        return False
    if item.label is Label.CHECK:
        return len(said - own) >= _OTHERS
    inside = range(span.start, span.end - 1)
    return any("article" in text.roles[at] and "bad" in text.roles[at + 1] for at in inside)


def reference_features(
    text: TokenizedText,
    sentences: Sentences,
    span: LabelledSpan,
    before: Sequence[Item],
    distance: int,
    *,
    last: Item | None,
) -> list[str]:
    """What the decision sees: the condition's words and roles, the item's, what they share, and what is between."""
    item, words = before[-1 - distance], range(span.start, span.end)
    keys = [text.tokens[at].key for at in words]
    roles = dict.fromkeys(role for at in words for role in text.roles[at])  # in order, so that training is repeatable
    asked = dict.fromkeys(role for at in range(item.start, item.end) for role in text.roles[at])
    said, own = set(text.stems(span.start, span.end)), set(text.stems(item.start, item.end))
    others = max((len(said & set(text.stems(one.start, one.end))) for one in before[-5:] if one is not item), default=0)
    shared, left = min(len(said & own), 3), min(len(said - own), 3)
    polarity = f"{'bad' in asked}{'not' in asked}"
    behind = min(sentences.of[span.start] - sentences.of[item.start], 3)
    stems, language = [text.language.any_stem(key) for key in keys], text.language
    states = {language.any_stem(token.key) for token in text.tokens[item.start : item.end]}
    features = [
        "bias",
        f"lang={language.locale}",
        f"is={item.label}{distance}",
        f"asks={asks_back(text, item.end)}{distance}{behind}",
        f"behind={behind}",
        f"shared={shared}",
        f"others={min(others, 2)}",
        f"left={left}",
        f"words={distance}{min(shared, 2)}{min(others, 2)}{min(left, 2)}",
        f"size={min(len(keys), 7)}",
        f"gap={min((span.start - item.end) // 2, 4)}",
        f"opposite={any(language.opposite(stem) & states for stem in stems)}",
        f"polarity={polarity}",
        f"again={item is last}{distance}",
        *(f"asked={role}" for role in asked),
    ]
    for name, values in (("w", keys), ("r", roles)):
        for value in values:
            features += [f"{name}={value}", *(f"{name}={value}|{one}" for one in (distance, polarity, item is last))]
    return list(dict.fromkeys(features))
