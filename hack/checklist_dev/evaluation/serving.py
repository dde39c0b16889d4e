"""Matches the steps of a template to the items of a rubric, and finds out what happened to unmatched items."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from checklist_crds.resources.template_definition import Definition, Section, Step, StepType

from .assignment import best_assignment
from .batches import Item
from .findings import Weight, worst
from .step_answers import answer_findings, takes, text_of, type_findings
from .words import says

_KIND_WORDS: Final = {
    "photo": "foto photo picture image imagen bild aufnahme",
    "sign": "unterschrift unterschreiben signatur signature signieren firma firmar signer sign visum",
    "date": "datum date fecha uhrzeit zeit time hora heure tag dia jour",
    "scan": "scan scannen escanear scanner barcode qr code codigo",
    "geo": "standort location gps position posicion ubicacion lugar lieu emplacement ort",
}
"""Words that a step's kind stands for: a photo step `Seal` is a photo of the seal."""


class How(Enum):
    """How an item is served by the template."""

    OWN = "by steps of its own"
    ONCE = "by one step instead of one for each"
    TOGETHER = "in one step with its neighbour, as the rubric allows"
    ATTACHED = "by photos or a place attached to another item's step"
    AT_THE_END = "by the signature on completion"
    LISTED = "as an option of another step"
    GLUED = "in the text of another item's step"
    LOST = "nowhere"


@dataclass(frozen=True, slots=True)
class Place:
    """A step and its position."""

    index: int
    section: Section
    step: Step

    @property
    def heading(self) -> str:
        return f"{self.section.title} {text_of(self.step)}"


@dataclass(slots=True)
class Service:
    """The steps that serve one item; with `each`, also by name."""

    item: Item
    how: How = How.LOST
    places: list[Place] = field(default_factory=list)
    """For a glued or listed item: the step with its words."""
    by_name: dict[str, Place] = field(default_factory=dict)

    @property
    def is_served(self) -> bool:
        return self.how not in (How.LISTED, How.GLUED, How.LOST)


def say_of(place: Place, item: Item) -> bool:
    """Whether the step has the item's words, whatever its type."""
    return _clarity(item, place) > 0


def places_of(definition: Definition) -> list[Place]:
    return [Place(index, section, step) for index, (section, step) in enumerate(definition.steps())]


def services(items: Sequence[Item], definition: Definition) -> list[Service]:
    """How each item is served. A step serves one item, unless items may share."""
    places, is_signed_at_the_end = places_of(definition), definition.settings.signature_on_complete

    def assigned(once: set[str]) -> list[Service]:
        return _assigned(items, places, once=once, is_signed_at_the_end=is_signed_at_the_end)

    result = assigned(set())
    if once := {each.item.say for each in result if len(each.by_name) < len(each.item.each)}:
        result = assigned(once)
    for index, service in enumerate(result):
        if service.places:
            continue
        if "sign" in service.item.kinds and is_signed_at_the_end:
            service.how, is_signed_at_the_end = How.AT_THE_END, False
        elif found := _shared(index, result):
            service.how, service.places = found
    for service in result:
        if service.how is How.LOST:
            _find_words(service, result, places)
    _add_companions(result, places)
    return result


def _assigned(
    items: Sequence[Item], places: Sequence[Place], *, once: set[str], is_signed_at_the_end: bool
) -> list[Service]:
    """The best assignment; items of `once` may have one step instead of one per name."""
    rows: list[tuple[Service, str | None]] = []
    for item in items:
        service = Service(item)
        rows += [(service, name) for name in item.each]
        rows += [(service, None)] * (not item.each or item.say in once)
    order = {item.say: index / max(1, len(items) - 1) for index, item in enumerate(items)}
    last = max(1, len(places) - 1)

    def weight(item: Item, name: str | None, place: Place) -> float:
        if "sign" in item.kinds and is_signed_at_the_end and not takes("sign", place.step):
            return 0  # the signer's name is not the signature
        return _weight(item, name, place, abs(order[item.say] - place.index / last))

    weights = [[weight(service.item, name, place) for place in places] for service, name in rows]
    for (service, name), column in zip(rows, best_assignment(weights), strict=True):
        if column is None:
            continue
        service.places.append(places[column])
        service.how = How.ONCE if service.item.say in once else How.OWN
        if name is not None:
            service.by_name[name] = places[column]
    return list({service.item.say: service for service, _ in rows}.values())


def _weight(item: Item, name: str | None, place: Place, distance: float) -> float:
    """How well the step serves the item: first that it does, then its type, then the order."""
    clarity = _clarity(item, place, name)
    if clarity == 0:
        return 0
    step = place.step
    bad = worst(type_findings(item, step))
    fits = {0: 4.0, Weight.MISFIT: 2.0, Weight.HARM: 0.0}[bad]
    fits += 0.5 * (worst(answer_findings(item, step)) <= Weight.COST)
    fits += 1.5 * (item.is_conditional is (step.condition is not None))
    alone = 0.3 * min(1.0, len(item.say) / len(step.label))
    if name is None and item.each:
        fits += 1.0 * _has_all_names(item, place)
    return (6 if _is_taken_along(item, step) else 10) + clarity + fits + 2 * (1 - distance) + alone


def _is_taken_along(item: Item, step: Step) -> bool:
    """Whether the step has it in addition to an answer, which another item may want."""
    if "photo" in item.kinds and step.type is not StepType.PHOTO and step.photo_bounds is not None:
        return True
    return "geo" in item.kinds and step.geo


def _clarity(item: Item, place: Place, name: str | None = None) -> float:
    """0 without the words, else by where they are: 3 label, 2 hint, 1 section or kind."""
    step = place.step
    if name is not None and not names(place.heading, name):
        return 0
    if says(step.label, item.say):
        return 3
    if says(text_of(step), item.say):
        return 2
    own = f"{text_of(step)} {step.config.unit or ''} {_kind_words(item, step)}"
    if not says(f"{place.section.title} {own}", item.say):
        return 0
    # A section's title alone would match each of its steps.
    is_own = any(says(own, word) for word in item.say.split()) or len(place.section.steps) == 1
    return float(is_own or (name is not None and names(text_of(step), name)))


def _kind_words(item: Item, step: Step) -> str:
    return " ".join(
        words
        for kind, words in _KIND_WORDS.items()
        if kind in item.kinds and (takes(kind, step) or (kind == "photo" and step.photo_bounds is not None))
    )


def names(text: str, name: str) -> bool:
    """Whether the text has one of the names of `each`; a number or a letter only as a separate one."""
    if name.strip().isdigit():
        return re.search(rf"(?<!\d)0*{name.strip()}(?!\d)", text) is not None
    if len(name.strip()) == 1:
        return re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", text, re.IGNORECASE) is not None
    return says(text, name)


def _has_all_names(item: Item, place: Place) -> bool:
    return all(names(place.heading, name) for name in item.each) or names(place.heading, str(len(item.each)))


def shows_repetition(service: Service) -> bool:
    """Whether one of its steps says that it is for each of the names."""
    return any(_has_all_names(service.item, place) for place in service.places)


def _shared(index: int, result: Sequence[Service]) -> tuple[How, list[Place]] | None:
    """The step of a neighbour that serves this item, too."""
    item = result[index].item
    for neighbour in _group(index, result):
        if found := [place for place in neighbour.places if say_of(place, item) or _is_taken_along(item, place.step)]:
            return How.TOGETHER, found
    triggers = {trigger.say for trigger in item.triggers}
    hosts = [*result[max(0, index - 1) : index], *(each for each in result[:index] if each.item.say in triggers)]
    for host in hosts:
        if host.is_served and (found := [place for place in host.places if _is_taken_along(item, place.step)]):
            return How.ATTACHED, found
    return None


def _group(index: int, result: Sequence[Service]) -> Iterator[Service]:
    """Items that may share a step with this one and have a step, the nearest first."""
    first = last = index
    while first > 0 and result[first].item.with_previous:
        first -= 1
    while last + 1 < len(result) and result[last + 1].item.with_previous:
        last += 1
    for other in sorted(range(first, last + 1), key=lambda other: abs(other - index)):
        if other != index and result[other].how in (How.OWN, How.ONCE):
            yield result[other]


def _find_words(service: Service, result: Sequence[Service], places: Sequence[Place]) -> None:
    """Find the words of an item without a step in other steps."""
    hosts = [place for other in result if other.is_served and other is not service for place in other.places]
    for place in sorted(hosts, key=lambda place: place.step.type not in (StepType.TEXT, StepType.INSTRUCTION)):
        if says(text_of(place.step), service.item.say):
            service.how, service.places = How.GLUED, [place]
            return
    for place in places:
        if place.step.type is StepType.MULTI_CHOICE and any(
            says(option.label, service.item.say) for option in place.step.config.options or ()
        ):
            service.how, service.places = How.LISTED, [place]
            return


def _add_companions(result: Sequence[Service], places: Sequence[Place]) -> None:
    """Add the other steps of an item that follows one of several answers."""
    used = {place.index for service in result for place in service.places}
    for service in result:
        if service.how is How.OWN and not service.item.each and len({each.say for each in service.item.triggers}) > 1:
            more = [
                place
                for place in places
                if place.index not in used and place.step.condition is not None and say_of(place, service.item)
            ]
            service.places += more
            used |= {place.index for place in more}
