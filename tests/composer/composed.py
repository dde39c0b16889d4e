"""What tests ask of a composed template: the step that a person would look for."""

from typing import Any

from checklist_composer.composing import compose
from checklist_crds.template_types import Definition, Section, Step, StepType


def template(prompt: str) -> Definition:
    """The template of a prompt."""
    return compose(prompt).definition


def labels(prompt: str) -> list[str]:
    """The labels of all steps, in order."""
    return [step.label for _, step in template(prompt).steps()]


def types(prompt: str) -> list[StepType]:
    """The types of all steps, in order."""
    return [step.type for _, step in template(prompt).steps()]


def step(definition: Definition, *words: str) -> Step:
    """The only step whose label has all of the words, whatever their capitals."""
    found = [step for _, step in definition.steps() if all(word.casefold() in step.label.casefold() for word in words)]
    assert len(found) == 1, f"{words}: {[step.label for _, step in definition.steps()]}"
    return found[0]


def titles(definition: Definition) -> list[str]:
    """The titles of the sections."""
    return [section.title for section in definition.sections]


def section(definition: Definition, title: str) -> Section:
    """The section with a title."""
    return next(section for section in definition.sections if section.title == title)


def bounds(step: Step) -> tuple[float | None, float | None, str | None]:
    """Smallest and largest value, and the unit."""
    return step.config.min, step.config.max, step.config.unit


def options(step: Step) -> list[str]:
    """What can be chosen."""
    return [option.label for option in step.config.options or ()]


def depends(definition: Definition, step: Step) -> tuple[str, str, Any]:
    """The label of the step that the only comparison of the condition looks at, its operator and its value; an option
    by its label.
    """
    assert step.condition is not None, f"{step.label} always applies"
    when = step.condition.when
    assert when.step is not None and when.op is not None, when
    source = next(other for _, other in definition.steps() if other.id == when.step)
    value = when.value
    for option in source.config.options or ():
        if option.id == value:
            value = option.label
    return source.label, when.op.value, value
