"""The judge of templates: what the person who sent the prompt could do with it.

usable: unchanged. draft: with some work, and without harm. harmful: unchanged use would lose something or force
something wrong. poor: everything else. The judge uses the rubric and the template only.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from checklist_crds.resources.template_definition import Definition, StepType

from .batches import Item, Prompt
from .findings import Family, Finding, Weight, cost, harm, misfit, worst
from .serving import How, Place, Service, places_of, services, shows_repetition
from .step_answers import answer_findings, type_findings
from .step_conditions import Whole, condition_findings, sources_of
from .words import says

Rank = Literal["usable", "draft", "poor", "harmful"]
RANKS: Final[tuple[Rank, ...]] = ("usable", "draft", "poor", "harmful")
DRAFT_SHARE: Final = 0.7
"""Share of fitting items in the right order, in a draft."""
EXTRA_SHARE: Final = 0.2
"""Unrequested required steps that are not yet harmful, as a share of the items."""
VOLUNTARY_SHARE: Final = 1 / 3
"""Share of unconditional items that may be optional unless the prompt says so."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rank of a template, and its findings."""

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
    """The verdict on the template of a prompt; None: it was refused."""
    if definition is None:
        refused = harm("refused", "a checklist was requested, and refused")
        return Verdict("harmful", (refused,)) if prompt.checklist else Verdict("usable")
    if not prompt.checklist:
        what = harm("not_a_checklist", f"no checklist was requested: {prompt.why or prompt.trade}")
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
    """Findings about an item, except when it applies."""
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
                how = "one step" if shows_repetition(service) else "not"
                yield misfit("repetition", f"{item.say!r} is asked for {how}, instead of once for each of {item.each}")
    if item.optional and any(place.step.required for place in service.places) and service.how is How.OWN:
        yield cost("required", f"{item.say!r} is optional, its step is required")


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
    """A text step can hold several items; otherwise the type must be right."""
    item, step = service.item, service.places[0].step
    types = type_findings(item, step)
    if step.type is not StepType.TEXT or worst(types) is Weight.HARM:
        yield from types


def _of_extras(prompt: Prompt, extras: Sequence[Place]) -> Iterator[Finding]:
    """Findings about steps that serve no item."""
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
        yield harm("chatter", f"unrequested required steps {required}")
    elif required:
        yield cost("extra", f"unrequested required step {required[0]!r}")
    if len(voluntary) > 1:
        yield cost("extra", f"unrequested steps {voluntary}")


def _of_additions(prompt: Prompt, served: Sequence[Service]) -> Iterator[Finding]:
    """Chatter in labels of steps that serve an item, and required photos that were not requested."""
    steps = {place.index: place.step for service in served for place in service.places}
    for step in steps.values():
        if word := next((word for word in prompt.never if says(step.label, word)), None):
            yield cost("chatter", f"{step.label!r} has chatter in it ({word})")
    for service in served:
        if service.how is How.OWN and not _wants_photos(service, served):
            for place in service.places:
                bounds = place.step.photo_bounds
                if bounds is not None and bounds.min > 0 and place.step.type is not StepType.PHOTO:
                    yield cost("extra", f"unrequested photos of {place.step.label!r}")


def _wants_photos(service: Service, served: Sequence[Service]) -> bool:
    mine = {place.index for place in service.places}
    return any(
        (each.item.photos > 0 or "photo" in each.item.kinds) and any(place.index in mine for place in each.places)
        for each in served
    )


def _of_whole(prompt: Prompt, definition: Definition, served: Sequence[Service]) -> Iterator[Finding]:
    """The order, required steps, the signature on completion, the name."""
    positions = _positions(served)
    inversions = sum(a > b for index, a in enumerate(positions) for b in positions[index + 1 :])
    if inversions > 1:
        yield cost("order", f"the order of the steps differs: {_said(served)}")
    loose = [service.item.say for service in served if _is_loose(service)]
    if len(loose) > VOLUNTARY_SHARE * len(prompt.items):
        yield cost("required", f"not required, though the prompt does not make them optional: {loose}")
    if definition.settings.signature_on_complete and not any(service.how is How.AT_THE_END for service in served):
        yield cost("signature", "unrequested signature on completion, or a duplicate of a step")
    words = prompt.name_words
    if words and not any(says(definition.name, word) for word in words):
        yield cost("name", f"the name {definition.name!r} has none of {words}")


def _said(served: Sequence[Service]) -> list[str]:
    """The items in the order of their steps."""
    placed = [service for service in served if service.is_served and service.places]
    return [service.item.say for service in sorted(placed, key=_position)]


def _is_loose(service: Service) -> bool:
    """Whether an unconditional item is optional in the template."""
    item: Item = service.item
    if not service.is_served or item.optional or item.is_conditional:
        return False
    asking = [place.step for place in service.places if place.step.type is not StepType.INSTRUCTION]
    return bool(asking) and not any(step.required for step in asking)


def _position(service: Service) -> int:
    return min(place.index for place in service.places)


def _positions(served: Sequence[Service]) -> list[int]:
    """Positions of the items with a step, in the order of the rubric."""
    return [_position(service) for service in served if service.is_served and service.places]


def _longest_rising(positions: Sequence[int]) -> list[int]:
    """The ends of the longest non-decreasing run; its length is the number of items in order."""
    ends: list[int] = []
    for position in positions:
        place = bisect_right(ends, position)
        ends[place : place + 1] = [position]
    return ends
