"""Judges whether a step applies exactly when its item should be asked, whatever operators its condition uses."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from checklist_crds.resources.step_condition import Clause, Comparison, When
from checklist_crds.resources.template_definition import Condition, Definition, Section, Step, StepType
from checklist_crds.templates.conditions import applicable_step_ids, comparisons_of

from .batches import Item
from .features import Given
from .findings import Finding, harm, misfit
from .serving import How, Place, Service, say_of
from .step_answers import text_of
from .trigger_answers import Reading, readings
from .words import says

_CONDITION_WORDS: Final = re.compile(
    r"\b(if|when|where|unless|otherwise|in case|only|falls|wenn|bei|sofern|sonst|ansonsten|nur|gegebenenfalls|ggf"
    r"|si|cuando|en caso|sino|solo|quand|lorsque|dans le cas|en cas|sinon|seulement)\b"
)


@dataclass(frozen=True, slots=True)
class Whole:
    """The rest of the template: services by the `say` of their item, steps that serve none, and the prompt."""

    services: Mapping[str, Service]
    free: Sequence[Place]
    prompt: str

    def saying(self, item: Item) -> list[Place]:
        """Free steps with the item's words."""
        return [place for place in self.free if say_of(place, item)]

    def steps(self) -> dict[str, Step]:
        """All steps by their id."""
        served = [place for service in self.services.values() for place in service.places]
        return {place.step.id: place.step for place in (*self.free, *served)}


def condition_findings(service: Service, whole: Whole) -> Iterator[Finding]:
    """Findings about when the item's steps apply."""
    item = service.item
    if service.how is How.AT_THE_END:
        if item.is_conditional:
            yield harm("lost_condition", f"{item.say!r}: the signature is always required")
        return
    if item.unless_said and not item.when:
        yield from _of_unknown_trigger(service, whole.free)
    elif not item.when:
        for place in service.places:
            if sources := sources_of(place.step) - _own_sources(service, whole):
                yield harm("wrong_condition", f"{item.say!r} applies always, {place.step.label!r} only for {sources}")
    else:
        yield from _of_trigger(service, whole)


def sources_of(step: Step) -> set[str]:
    """The ids of the steps in the step's condition."""
    return set() if step.condition is None else {each.step for each in comparisons_of(step.condition.when)}


def shows_condition(step: Step, item: Item) -> bool:
    """Whether the text says that the step is conditional."""
    text = " ".join(text_of(step).casefold().split())  # keeps accents: `si` is not `sí`
    return len(text) > len(item.say) and _CONDITION_WORDS.search(text) is not None


def _own_sources(service: Service, whole: Whole) -> set[str]:
    """The sources of the neighbours in the same step, whose condition the item shares."""
    return {
        source
        for other in whole.services.values()
        if service.how is How.TOGETHER and other.item.when
        for place in other.places
        if place in service.places
        for source in sources_of(place.step)
    }


def _of_unknown_trigger(service: Service, free: Sequence[Place]) -> Iterator[Finding]:
    item = service.item
    asked = {place.step.id for place in free}
    for place in service.places:
        step = place.step
        if wrong := sources_of(step) - asked:
            yield harm("wrong_condition", f"{item.say!r}: {step.label!r} depends on {wrong}, unlike the prompt")
        elif step.condition is None and _is_compulsory(step) and not shows_condition(step, item):
            yield harm("lost_condition", f"{item.say!r} has a condition, {step.label!r} is always required")


def _is_compulsory(step: Step) -> bool:
    return step.required and step.type is not StepType.INSTRUCTION


def _of_trigger(service: Service, whole: Whole) -> Iterator[Finding]:
    item = service.item
    sayings = {trigger.say for trigger in item.triggers}
    hosts = {place.step.id for say in sayings for place in whole.services[say].places}
    for place in service.places:
        step = place.step
        if step.id in hosts:
            yield from _in_its_trigger(service, step)
        elif step.condition is None:
            is_shown = any(says(text_of(step), say) for say in sayings)
            text = f"{item.say!r} belongs to {_text(item)}, {step.label!r} applies always"
            harmless = is_shown or not _is_compulsory(step)
            yield misfit("lost_condition", text) if harmless else harm("lost_condition", text)
    steps = [place.step for place in service.places if place.step.condition is not None and place.step.id not in hosts]
    names = {place.step.id: name for name, place in service.by_name.items()}
    for group in [[step] for step in steps] if item.each else [steps] * bool(steps):
        effect = _effect(group, item, whole, names.get(group[0].id))
        labels = ", ".join(repr(step.label) for step in group)
        if effect == "wrong":
            yield harm("wrong_condition", f"{item.say!r} belongs to {_text(item)}, unlike {labels}")
        elif effect == "wide":
            yield misfit("wrong_condition", f"{item.say!r} belongs to {_text(item)}, {labels} to other answers, too")


def _text(item: Item) -> str:
    return " or ".join(f"{trigger.say!r} = {trigger.answer}" for trigger in item.triggers)


def _in_its_trigger(service: Service, step: Step) -> Iterator[Finding]:
    """The item is part of the step that its condition refers to."""
    item = service.item
    if item.with_previous:
        return
    is_forced = service.how is How.ATTACHED and step.photo is not False and step.photo.min > 0
    text = f"{item.say!r} belongs to {_text(item)}, and is always a part of {step.label!r}"
    is_harmful = is_forced and _is_compulsory(step) and not shows_condition(step, item)
    yield harm("lost_condition", text) if is_harmful else misfit("lost_condition", text)


def _effect(steps: Sequence[Step], item: Item, whole: Whole, name: str | None) -> str:
    """`right`, `wide` (applies with other answers, too) or `wrong`; the steps count together."""
    looked_at = set[str]().union(*map(sources_of, steps))
    allowed = _wider(item, whole)
    sources: list[Step] = []
    ways: list[list[Reading]] = []
    for say in dict.fromkeys(trigger.say for trigger in item.triggers):
        trigger = whole.services[say]
        named = trigger.by_name.get(name) if name is not None else None
        places = [named] if named is not None else [*trigger.places, *whole.saying(trigger.item)]
        source = next((place.step for place in places if place.step.id in looked_at), None)
        if source is None or source in sources:
            return "wrong"
        sources.append(source)
        allowed |= {place.step.id for place in places}
        answers = [each.answer for each in item.triggers if each.say == say]
        ways.append(readings(trigger.item, answers, source, whole.prompt))
    if looked_at - allowed - _ancestors(sources, whole.steps()):
        return "wrong"
    effects = [_tried(steps, sources, way) for way in product(*ways)]
    return next((effect for effect in ("right", "wide") if effect in effects), "wrong")


def _ancestors(sources: Sequence[Step], known: Mapping[str, Step]) -> set[str]:
    """The steps that the sources depend on."""
    found: set[str] = set()
    left = [each for step in sources for each in sources_of(step)]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += sources_of(known[each]) if each in known else ()
    return found


def _wider(item: Item, whole: Whole) -> set[str]:
    """The steps of the items that the item's triggers depend on."""
    found: set[str] = set()
    for trigger in item.triggers:
        parent = whole.services[trigger.say].item
        for outer in parent.triggers:
            found |= {place.step.id for place in whole.services[outer.say].places} | _wider(parent, whole)
    return found


def _tried(steps: Sequence[Step], sources: Sequence[Step], way: Sequence[Reading]) -> str:
    """Try each answer of one source while the others have a neutral answer."""
    neutral = [reading.others[0] if reading.others else None for reading in way]

    def applies(index: int, answer: Any) -> bool:
        answers = [answer if place == index else other for place, other in enumerate(neutral)]
        return _applies(steps, sources, answers)

    is_wide = False
    for index, reading in enumerate(way):
        if not all(applies(index, answer) for answer in reading.stated):
            return "wrong"
        others = [applies(index, answer) for answer in reading.others]
        if others and all(others):
            return "wrong"
        is_wide = is_wide or any(others)
    return "wide" if is_wide else "right"


def _applies(steps: Sequence[Step], sources: Sequence[Step], answers: Sequence[Any]) -> bool:
    """Whether one of the steps applies with these answers, ignoring other sources."""
    keep = {source.id for source in sources}
    tried = []
    for step in steps:
        when = None if step.condition is None else _pruned(step.condition.when, keep)
        if when is not None:
            tried.append(step.model_copy(update={"condition": Condition.model_validate({"when": when})}))
    asked = [source.model_copy(update={"condition": None}) for source in sources]
    definition = Definition(name="tried", sections=[Section(id="g-tried", title="tried", steps=[*asked, *tried])])
    given = {
        source.id: Given(None, photos=["photo"] if answer is not None else [])
        if source.type is StepType.PHOTO
        else Given(answer)
        for source, answer in zip(sources, answers, strict=True)
    }
    found = applicable_step_ids(definition, given, ())
    return any(step.id in found for step in tried)


def _pruned(part: When | Clause | Comparison, keep: Collection[str]) -> dict[str, Any] | None:
    """The part without comparisons of other steps; None if nothing remains."""
    if isinstance(part, Comparison) or part.step is not None:
        return {"step": part.step, "op": part.op, "value": part.value} if part.step in keep else None
    members = [kept for each in part.all or part.any or () if (kept := _pruned(each, keep)) is not None]
    return {"all" if part.all is not None else "any": members} if members else None
