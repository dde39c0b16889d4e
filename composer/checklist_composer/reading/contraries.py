"""Words that say the same as others, or their contrary: `verstaubt` and `Verstaubung`, `open` and `closed`."""

from typing import Final

from .supposed import content_of
from .words import Span

_FAMILY: Final = 6
"""Letters that words of one family begin with."""


def alike(stem: str, other: str) -> bool:
    """Whether two stems are of one family: `verstaubt`, `Verstaubung`."""
    shared = 0
    for first, second in zip(stem, other, strict=False):
        if first != second:
            break
        shared += 1
    return shared >= _FAMILY and shared >= max(len(stem), len(other)) - 2


def said_again(label: Span, supposed: Span) -> bool | None:
    """Whether what is supposed is what the label says, by its very words: the same (True) or the contrary (False).

    `Is the valve open?`: closed is the contrary. `Loose ropes stowed`: cannot be stowed. `Look for stains`: a stain.
    """
    no = supposed.has("not")
    if is_contrary(label, supposed):
        return no
    if content_of(label) & content_of(supposed) and (label.at("seek") or _looks_for(label, supposed)):
        return not no
    if not no or label.has("not"):
        return None
    denied = supposed.find("not")
    predicate = content_of(supposed.sub(denied[1])) if denied else set()
    stem = label.words.language.any_stem
    last = label.stripped("?! ")
    repeats = len(last) > 1 and stem(last[len(last) - 1].text) in predicate
    return False if repeats and not label.sub(len(last) - 1).has("bad") else None


def _looks_for(label: Span, supposed: Span) -> bool:
    """`Check the hose for leaks`: what is looked for is what is supposed."""
    stem = label.words.language.any_stem
    said = {stem(token.text) for token in supposed}
    places = (
        position
        for position in range(2, len(label))
        if label.at("bad", position) and label.at("preposition", position - 1)
    )
    return bool(label.at("check")) and any(stem(label[position].text) in said for position in places)


def is_contrary(label: Span, supposed: Span) -> bool:
    """Whether a state is supposed that excludes the one that the label names: `locked`, `unlocked`."""
    language = label.words.language
    last = supposed.stripped("?! ")
    said = {language.any_stem(token.text) for token in last.sub(max(0, len(last) - 2)) if token.is_word}
    here = {language.any_stem(token.text) for token in label if token.is_word}
    return any(language.opposite(word) & (said - here) for word in here - said)


def is_other_state(label: Span, supposed: Span) -> bool:
    """`Is the corridor clear?`, `if it is jammed`: of what was asked for, another state is supposed."""
    rest = supposed.sub(supposed.any_at(("pronoun", "self")))
    rest = rest.sub(rest.at("be"))
    asked = label.stripped("?! ")
    last = len(asked) - 1
    if last < 2 or not asked.any_at(("state", "good", "participle"), last) or asked.has("bad", "not"):
        return False
    return (
        0 < len(rest) <= 2 and rest.any_at(("state", "participle"), len(rest) - 1) == 1 and not rest.has("good", "not")
    )
