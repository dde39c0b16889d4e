"""Several things that are rated alike: `Rate from 1 to 10: cleanliness, food and service`."""

from checklist_crds.template_types import StepType

from ..draft import DraftStep
from ..naming import label_of
from .grades import grades_in
from .options import options_in
from .tasks import is_task, task_at
from .words import Span


def rated_things(span: Span) -> list[DraftStep]:
    """A rating for each thing behind the colon, when what stands in front of it says the grades; else nothing."""
    colon = next((i for i in range(1, len(span) - 1) if span[i].text == ":"), None)
    if colon is None:
        return []
    head = span.sub(0, colon)
    grades = None if any(token.text in ",;" for token in head) else grades_in(head)
    if grades is None or options_in(span) is not None:
        return []
    things = _things(span.sub(colon + 1))
    if len(things) < 2 or any(is_task(thing) or len(thing) > 6 for thing in things):
        return []
    return [
        DraftStep(
            label_of(thing.text),
            StepType.RATING,
            minimum=float(grades.low),
            maximum=float(grades.high),
            low_label=grades.low_label,
            high_label=grades.high_label,
            subject=thing.text,
        )
        for thing in things
    ]


def _things(span: Span) -> list[Span]:
    things: list[Span] = []
    start = position = 0
    while position < len(span):
        length = span.at("and", position) or int(span[position].text in ",;")
        if length:
            things.append(span.sub(start, position))
            start = position = position + length
        else:
            position += 1
    things.append(span.sub(start))
    return [thing for thing in (part.stripped(" .,;!") for part in things) if len(thing)]


def share_grades(steps: list[DraftStep], span: Span) -> None:
    """`Rate the room, the staff and the food from 1 to 5`: all of them have the grades that one of them names."""
    if task_at(span)[0] != "rate" or len(steps) < 2:
        return
    graded = next((step for step in steps if step.type is StepType.RATING and step.maximum), None)
    if graded is None or any(step.type not in {StepType.BOOLEAN, StepType.RATING} for step in steps):
        return
    said = {(step.minimum, step.maximum) for step in steps if step.type is StepType.RATING} - {(1.0, 5.0)}
    if len(said) > 1:
        return  # each has its own
    explicit = next((step for step in reversed(steps) if step.type is StepType.RATING), graded)
    for step in steps:
        step.type = StepType.RATING
        step.minimum, step.maximum = explicit.minimum, explicit.maximum
