"""Which step of the library a detail of the wish is about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from checklist_crds.template_types import StepType

from .domain_types import BlockStep
from .draft import DraftStep
from .locales import Locale
from .ranking_terms import thing_stems

__all__ = ["Found", "best_step", "photos_of", "speaks_of", "thing_of", "with_photos"]

SAME_THING: Final = 0.6
"""From this share of common words on, a step of the wish and one of the library ask the same."""
_MOST_OF: Final = 0.67
_LONG_ENOUGH: Final = 3
"""Things a wish must name before one of them may be missing from the library's step."""
_SOME: Final = (1, None)
_SHORTEST_PART: Final = 5
"""Letters of a word that may be looked for inside of a compound: `Kühlschrank` in `Kühlschranktemperatur`."""


@dataclass(frozen=True, slots=True)
class Found:
    """A step of the library, and the share of words that it has in common with the wish's."""

    step: DraftStep
    likeness: float
    covers: bool
    """Whether the library's step speaks of everything that the wish's does."""
    same_kind: bool
    """Whether the library's step could take its place; otherwise it is only near it."""


def thing_of(step: DraftStep, language: Locale) -> frozenset[str]:
    """The stems of what a step of the wish looks at; of its label where the reader knows no subject."""
    return (step.subject and thing_stems(step.subject, language)) or thing_stems(step.label, language)


def best_step(
    wish: DraftStep, candidates: Iterable[DraftStep], blocks: Mapping[DraftStep, BlockStep], language: Locale
) -> Found | None:
    """The library's step that `wish` is about, or None. Instructions are not looked at: nobody answers them."""
    thing = thing_of(wish, language)
    if not thing:
        return None
    best: tuple[tuple[bool, bool, bool, bool, float], Found] | None = None
    for step in candidates:
        if step not in blocks or step.type is StepType.INSTRUCTION:
            continue
        found = _compare(thing, step, _things(blocks[step], language), same_kind=_can_mean(wish, step))
        if found is None:
            continue
        order = (
            found.same_kind,
            step.type is wish.type,
            found.covers,
            step.condition is None,
            found.likeness,
        )
        if best is None or order > best[0]:
            best = order, found
    return best and best[1]


def _can_mean(wish: DraftStep, step: DraftStep) -> bool:
    # A step that only follows up another's answer is not always asked; but one of the same kind is enough of it.
    return step.condition is None or step.type is wish.type or (wish.type, step.type) == (StepType.PHOTO, StepType.TEXT)


def _compare(
    thing: frozenset[str], step: DraftStep, things: Sequence[frozenset[str]], *, same_kind: bool
) -> Found | None:
    label = things[0]
    everything = frozenset[str]().union(*things)
    common = sum(1 for stemmed in thing if _is_in(stemmed, everything))
    if 2 * common < len(thing) or not common:
        return None
    enough = common == len(thing) or (len(thing) >= _LONG_ENOUGH and common / len(thing) >= _MOST_OF)
    return Found(step, common / max(len(thing), len(label)), common == len(thing), same_kind and enough)


def speaks_of(title: str, thing: frozenset[str], language: Locale) -> bool:
    """Whether a title names all of the thing, be it in a compound: `Spielgeräte` and `Gerät`."""
    words = thing_stems(title, language)
    return bool(thing) and all(_is_in(stemmed, words) for stemmed in thing)


def _is_in(stemmed: str, everything: frozenset[str]) -> bool:
    if stemmed in everything:
        return True
    return len(stemmed) >= _SHORTEST_PART and any(
        stemmed in other or (len(other) >= _SHORTEST_PART and other in stemmed) for other in everything
    )


@lru_cache(maxsize=10_000)
def _things(block: BlockStep, language: Locale) -> tuple[frozenset[str], ...]:
    """The stems of the label, then of each other name of the thing."""
    label = thing_stems(block.label.in_(language), language)
    return label, *(thing_stems(word, language) for word in block.words.in_(language))


def photos_of(step: DraftStep) -> tuple[int, int | None]:
    """How many photos a photo step asks for."""
    fewest = 0 if step.required is False else int(step.minimum or 1)
    return fewest, None if step.maximum is None else int(step.maximum)


def with_photos(known: tuple[int, int | None] | None, wanted: tuple[int, int | None]) -> tuple[int, int | None]:
    """Fewest and most photos of a step of the library's, when the wish wants photos, too.

    "A photo" names no number: it asks for some, and not for fewer than the library does. A number is the wish's own.
    """
    if known is None or wanted != _SOME:
        return wanted
    return max(known[0], wanted[0]), known[1]
