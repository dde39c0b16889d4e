"""Prints a template as a short outline, to compare it with its prompt."""

from collections.abc import Iterator

from checklist_crds.resources.step_condition import Clause, Comparison, When
from checklist_crds.resources.template_definition import Definition, Step
from checklist_crds.step_types.expected import ExpectedBounds


def outline(definition: Definition) -> str:
    """The name, the sections, and one line for each step."""
    return "\n".join(_lines(definition))


def _lines(definition: Definition) -> Iterator[str]:
    settings = definition.settings
    marks = [f"{settings.est_minutes:g} min"] if settings.est_minutes is not None else []
    marks += ["may skip"] * settings.allow_skip + ["signature at the end"] * settings.signature_on_complete
    yield " · ".join([definition.name, *marks])
    for section in definition.sections:
        yield f"  {section.title}"
        for step in section.steps:
            yield f"    {'*' if step.required else ' '} {step.type.value:12} {step.label}{_rest(step)}"


def _rest(step: Step) -> str:
    config = step.config
    parts = [f"[{config.min}..{config.max}]"] * (config.min is not None or config.max is not None)
    parts += [config.unit] if config.unit else []
    if isinstance(config.expected, ExpectedBounds):
        parts.append(f"expected {config.expected.min}..{config.expected.max}")
    parts += ["{" + " | ".join(option.label for option in config.options) + "}"] if config.options else []
    parts += [f"photos {step.photo.min}..{step.photo.max}"] if step.photo else []
    parts += ["place"] * step.geo
    parts += [f"({step.hint})"] if step.hint else []
    parts += [f"<- {_text(step.condition.when)}"] if step.condition is not None else []
    return "".join(f"  {part}" for part in parts)


def _text(part: When | Clause | Comparison) -> str:
    if not isinstance(part, Comparison) and (part.all or part.any):
        return (" and " if part.all else " or ").join(_text(each) for each in part.all or part.any or ())
    return f"{part.step} {part.op} {part.value!r}"
