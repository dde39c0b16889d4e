"""Converts a domain of the library to a draft in one language."""

from collections.abc import Mapping

from .domain_types import BlockStep, Comparison, Domain, Words
from .draft import Draft, DraftComparison, DraftCondition, DraftSection, DraftStep
from .library import domain
from .locales import Locale


def library_draft(domain_id: str, locale: Locale) -> Draft:
    found = domain(domain_id)
    made: dict[str, DraftStep] = {}
    sections = []
    for block in found.body.sections:
        section = DraftSection(block.title.in_(locale))
        for step in block.steps:
            made[step.key] = _step(step, found, locale, made)
            section.steps.append(made[step.key])
        sections.append(section)
    return Draft(
        locale,
        name=found.head.title.in_(locale),
        sections=[section for section in sections if section.steps],
        tags=list(dict.fromkeys(found.head.tags.in_(locale))),
        signature_on_complete=found.head.signature or None,
        est_minutes=found.head.minutes,
    )


def _step(block: BlockStep, found: Domain, locale: Locale, made: Mapping[str, DraftStep]) -> DraftStep:
    def said(words: Words | None) -> str | None:
        return None if words is None else words.in_(locale)

    return DraftStep(
        label=block.label.in_(locale),
        type=block.type,
        hint=said(block.hint),
        required=block.required,
        unit=block.unit.in_(locale) if isinstance(block.unit, Words) else block.unit,
        minimum=block.min,
        maximum=block.max,
        decimal=block.decimal,
        options=[option.label.in_(locale) for option in block.options],
        photo=(block.photo.min, block.photo.max) if block.photo else None,
        geo=block.geo,
        multiline=block.multiline,
        low_label=said(block.low_label),
        high_label=said(block.high_label),
        condition=_condition(block, found, locale, made),
    )


def _condition(block: BlockStep, found: Domain, locale: Locale, made: Mapping[str, DraftStep]) -> DraftCondition | None:
    if not block.comparisons:
        return None
    options = {step.key: {one.key: one.label.in_(locale) for one in step.options} for step in found.body.steps()}
    return DraftCondition(
        [DraftComparison(made[one.step], one.op, _value(one, options[one.step])) for one in block.comparisons],
        any_of=bool(block.when_any),
    )


def _value(comparison: Comparison, labels: Mapping[str, str]) -> object:
    """Options are named by their labels in a draft."""
    value = comparison.value
    if isinstance(value, tuple):
        return [labels.get(one, one) for one in value]
    return labels.get(value, value) if isinstance(value, str) else value
