"""The judge: what a person who sent a prompt could do with the template that came back.

usable: unchanged. draft: with some work, nothing in it does harm. harmful: used unchanged, something would be lost, or
somebody would be forced to something wrong. poor: everything else. The judge knows the rubric and the template alone.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from checklist_crds.resources.template_definition import Definition, StepType

from .batches import Item, Prompt
from .findings import Family, Finding, Weight, cost, harm, misfit, worst
from .serving import How, Place, Service, places_of, services, tells_repetition
from .step_answers import answer_findings, type_findings
from .step_conditions import Whole, condition_findings, sources_of
from .words import says

Rank = Literal["usable", "draft", "poor", "harmful"]
RANKS: Final[tuple[Rank, ...]] = ("usable", "draft", "poor", "harmful")
DRAFT_SHARE: Final = 0.7
"""Items that fit and are in order, in a draft."""
EXTRA_SHARE: Final = 0.2
"""Required steps that nobody asked for, of the number of items, which are still no harm."""
VOLUNTARY_SHARE: Final = 1 / 3
"""Unconditional items that may be voluntary though nobody said so."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the template is, and all that is wrong with it."""

    verdict: Rank
    findings: tuple[Finding, ...] = ()

    @property
    def reasons(self) -> list[str]:
        """One plain sentence for each finding."""
        return [finding.text for finding in self.findings]

    @property
    def families(self) -> list[Family]:
        """The family of each reason."""
        return [finding.family for finding in self.findings]


def judge(prompt: Prompt, definition: Definition | None) -> Verdict:
    """The verdict on the template of a prompt; None when the service refused to make one."""
    if definition is None:
        refused = harm("refused", "a checklist was wanted, and refused")
        return Verdict("harmful", (refused,)) if prompt.checklist else Verdict("usable")
    if not prompt.checklist:
        what = harm("not_a_checklist", f"no checklist was wanted: {prompt.why or prompt.trade}")
        return Verdict("harmful", (what,))
    return _of_template(prompt, definition)


def _of_template(prompt: Prompt, definition: Definition) -> Verdict:
    served = services(prompt.items, definition)
    used = {place.index for service in served for place in service.places}
    free = [place for place in places_of(definition) if place.index not in used]
    whole = Whole({service.item.say: service for service in served}, free, prompt.prompt)
    findings: list[Finding] = []
    fitting: list[Service] = []
    for service in served:
        mine = list(_of_service(service))
        if service.is_served:
            mine += condition_findings(service, whole)
        if worst(mine) <= Weight.COST:
            fitting.append(service)
        findings += mine
    asked = {
        source
        for service in served
        if service.item.unless_said
        for place in service.places
        for source in sources_of(place.step)
    }
    findings += _of_extras(prompt, [place for place in free if place.step.id not in asked])
    findings += _of_additions(prompt, served)
    findings += _of_whole(prompt, definition, served)
    in_order = len(_longest_rising(_positions(fitting)))
    share = (in_order + sum(not service.places for service in fitting)) / len(prompt.items)
    return Verdict(_rank(findings, share), tuple(findings))


def _rank(findings: Sequence[Finding], share: float) -> Rank:
    if not findings:
        return "usable"
    if worst(list(findings)) is Weight.HARM:
        return "harmful"
    is_draft = share >= DRAFT_SHARE and all(finding.family != "wrong_condition" for finding in findings)
    return "draft" if is_draft else "poor"


def _of_service(service: Service) -> Iterator[Finding]:
    """What is wrong with an item apart from when it applies."""
    item = service.item
    match service.how:
        case How.LOST:
            yield harm("lost", f"{item.say!r} is nowhere")
        case How.GLUED | How.LISTED:
            yield _without_step(service)
        case How.AT_THE_END:
            pass
        case How.ATTACHED:
            yield from (finding for place in service.places[:1] for finding in type_findings(item, place.step))
        case How.TOGETHER:
            yield from _together(service)
        case How.OWN | How.ONCE:
            for place in service.places:
                yield from answer_findings(item, place.step)
            if service.how is How.ONCE:
                told = "one step" if tells_repetition(service) else "not"
                yield misfit("repetition", f"{item.say!r} is asked for {told}, instead of once for each of {item.each}")
    if item.optional and any(place.step.required for place in service.places) and service.how is How.OWN:
        yield cost("required", f"{item.say!r} is voluntary, its step is required")


def _without_step(service: Service) -> Finding:
    item, step = service.item, service.places[0].step
    text = f"{item.say!r} has no step of its own, it is in {step.label!r}"
    if service.how is How.LISTED:
        return misfit("glued", text) if {"yes", "info"} & set(item.kinds) else harm("glued", text)
    loses_little = step.type in (StepType.TEXT, StepType.INSTRUCTION) and says(step.label, item.say)
    return (
        misfit("glued", text)
        if loses_little and worst(type_findings(item, step)) < Weight.HARM
        else harm("glued", text)
    )


def _together(service: Service) -> Iterator[Finding]:
    """A text step can hold what is asked for in one step with its neighbour; else the type must be right."""
    item, step = service.item, service.places[0].step
    types = type_findings(item, step)
    if step.type is not StepType.TEXT or worst(types) is Weight.HARM:
        yield from types


def _of_extras(prompt: Prompt, extras: Sequence[Place]) -> Iterator[Finding]:
    """Steps that serve nothing."""
    required, voluntary = [], []
    for place in extras:
        step = place.step
        word = next((word for word in prompt.never if says(step.label, word)), None)
        if word is not None and (step.required or step.type is not StepType.INSTRUCTION):
            yield harm("chatter", f"{step.label!r} is chatter ({word})")
        elif step.required and step.type is not StepType.INSTRUCTION:
            required.append(step.label)
        else:
            voluntary.append(step.label)
    if len(required) > max(1, EXTRA_SHARE * len(prompt.items)):
        yield harm("chatter", f"nobody asked for the required steps {required}")
    elif required:
        yield cost("extra", f"nobody asked for the required step {required[0]!r}")
    if len(voluntary) > 1:
        yield cost("extra", f"nobody asked for the steps {voluntary}")


def _of_additions(prompt: Prompt, served: Sequence[Service]) -> Iterator[Finding]:
    """Chatter in the labels of steps that serve something, and photos that they need though nobody asked for them."""
    steps = {place.index: place.step for service in served for place in service.places}
    for step in steps.values():
        if word := next((word for word in prompt.never if says(step.label, word)), None):
            yield cost("chatter", f"{step.label!r} has chatter in it ({word})")
    for service in served:
        if service.how is How.OWN and not _wants_photos(service, served):
            for place in service.places:
                bounds = place.step.photo_bounds
                if bounds is not None and bounds.min > 0 and place.step.type is not StepType.PHOTO:
                    yield cost("extra", f"nobody asked for photos of {place.step.label!r}")


def _wants_photos(service: Service, served: Sequence[Service]) -> bool:
    mine = {place.index for place in service.places}
    return any(
        (each.item.photos > 0 or "photo" in each.item.kinds) and any(place.index in mine for place in each.places)
        for each in served
    )


def _of_whole(prompt: Prompt, definition: Definition, served: Sequence[Service]) -> Iterator[Finding]:
    """The order, what is required, the signature on completion, the name."""
    positions = _positions(served)
    inversions = sum(a > b for index, a in enumerate(positions) for b in positions[index + 1 :])
    if inversions > 1:
        yield cost("order", f"the steps come in another order: {_said(served)}")
    loose = [service.item.say for service in served if _is_loose(service)]
    if len(loose) > VOLUNTARY_SHARE * len(prompt.items):
        yield cost("required", f"not required, though nobody said that they are voluntary: {loose}")
    if definition.settings.signature_on_complete and not any(service.how is How.AT_THE_END for service in served):
        yield cost("signature", "nobody asked for a signature on completion, or it has a step already")
    words = prompt.name_words
    if words and not any(says(definition.name, word) for word in words):
        yield cost("name", f"the name {definition.name!r} has none of {words}")


def _said(served: Sequence[Service]) -> list[str]:
    """The items in the order of their steps."""
    placed = [service for service in served if service.is_served and service.places]
    return [service.item.say for service in sorted(placed, key=_position)]


def _is_loose(service: Service) -> bool:
    """Whether an item that everybody must answer is voluntary."""
    item: Item = service.item
    if not service.is_served or item.optional or item.is_conditional:
        return False
    asking = [place.step for place in service.places if place.step.type is not StepType.INSTRUCTION]
    return bool(asking) and not any(step.required for step in asking)


def _position(service: Service) -> int:
    return min(place.index for place in service.places)


def _positions(served: Sequence[Service]) -> list[int]:
    """Where the items with a step are, in the order of the rubric."""
    return [_position(service) for service in served if service.is_served and service.places]


def _longest_rising(positions: Sequence[int]) -> list[int]:
    """The ends of the longest run that does not fall; its length is the number of items that are in order."""
    ends: list[int] = []
    for position in positions:
        place = bisect_right(ends, position)
        ends[place : place + 1] = [position]
    return ends
