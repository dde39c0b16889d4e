"""Variants of labelled prompts: spans are replaced by others of the same label, so that no word hangs on its place."""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from checklist_composer.reading.labels import Label

from .labelled_prompts import LabelledPrompt, Tagged

_EACH: Final = 1
_RATE: Final = 0.6
_LONGEST: Final = 90
_KEPT: Final = frozenset({Label.SETTING, Label.OPTIONAL, Label.REQUIRED, Label.HOW, Label.LOCATION})

Pool = Mapping[tuple[str, Label], Sequence[str]]


def variants(prompts: Sequence[LabelledPrompt], source: random.Random) -> Iterator[LabelledPrompt]:
    """Some variants of each prompt that has spans."""
    pool = _pool(prompts)
    for _ in range(_EACH):
        for prompt in prompts:
            if prompt.spans:
                yield _variant(prompt, pool, source)


def _pool(prompts: Sequence[LabelledPrompt]) -> Pool:
    found: dict[tuple[str, Label], list[str]] = defaultdict(list)
    for prompt in prompts:
        for span in prompt.spans:
            words = prompt.text[span.start : span.end]
            if "\n" not in words and len(words) <= _LONGEST:
                found[prompt.language, span.label].append(words)
    return found


def _variant(prompt: LabelledPrompt, pool: Pool, source: random.Random) -> LabelledPrompt:
    text, place = "", 0
    spans: list[Tagged] = []
    for span in prompt.spans:
        text += prompt.text[place : span.start]
        words = prompt.text[span.start : span.end]
        others = pool.get((prompt.language, span.label))
        if others and span.label not in _KEPT and "\n" not in words and source.random() < _RATE:
            words = _fitted(words, source.choice(others), prompt)
        spans.append(Tagged(span.label, len(text), len(text) + len(words), span.attributes))
        text += words
        place = span.end
    text += prompt.text[place:]
    return LabelledPrompt(prompt.id + "-variant", prompt.language, prompt.kind, True, text, tuple(spans))


def _fitted(words: str, other: str, prompt: LabelledPrompt) -> str:
    """The other words in the capitals of those that they replace."""
    if prompt.text == prompt.text.lower():
        return other.lower()
    if words[:1].isupper() and other[:1].islower():
        return other[0].upper() + other[1:]
    keeps = prompt.language == "de" or other[:2].isupper()
    if words[:1].islower() and other[:1].isupper() and not keeps:
        return other[0].lower() + other[1:]
    return other
