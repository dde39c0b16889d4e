"""A domain of the library as a draft in one language."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .domain_types import BlockStep, Comparison, Domain, Words
from .draft import Draft, DraftComparison, DraftCondition, DraftSection, DraftStep, Origin
from .library import GENERIC, domain
from .locales import Locale


@dataclass(frozen=True, slots=True)
class LibraryDraft:
    """A draft, and what the library knows about each of its steps beyond that."""

    draft: Draft
    blocks: Mapping[DraftStep, BlockStep]


def library_draft(domain_ids: Iterable[str], locale: Locale) -> LibraryDraft:
    """The blocks of the domains, one domain after the other.

    What two of them share (a step with the same label) is there once. The name and the tags of a generic list are left
    open, since only the wish knows them.
    """
    domains = [domain(domain_id) for domain_id in domain_ids]
    blocks: dict[DraftStep, BlockStep] = {}
    draft = Draft(locale=locale)
    for found in domains:
        _add(found, locale, draft, blocks)
    if not any(found.head.id in GENERIC for found in domains):
        draft.name = _name([found.head.title for found in domains], locale)
        draft.tags = list(dict.fromkeys(tag for found in domains for tag in found.head.tags.in_(locale)))
        draft.est_minutes = sum(found.head.minutes for found in domains)
        draft.signature_on_complete = any(found.head.signature for found in domains) or None
    return LibraryDraft(draft, blocks)


def _name(titles: list[Words], locale: Locale) -> str:
    return " + ".join(title.in_(locale) for title in titles)


def _add(found: Domain, locale: Locale, draft: Draft, blocks: dict[DraftStep, BlockStep]) -> None:
    titles = {section.title for section in draft.sections}
    by_label = {step.label: step for step in draft.steps()}
    made: dict[str, DraftStep] = {}
    for block in found.body.sections:
        title = block.title.in_(locale)
        if title in titles:  # of another job's; together they could put a step before the one that it depends on
            title = f"{found.head.title.in_(locale)}: {title}"
        section = DraftSection(title, key=f"{found.head.id}/{block.key}")
        draft.sections.append(section)
        for block_step in block.steps:
            label = block_step.label.in_(locale)
            same = by_label.get(label)
            if same is not None and same.type is block_step.type and same.condition is None:
                made[block_step.key] = same
                continue
            step = _step(block_step, found, locale, made)
            made[block_step.key] = step
            blocks[step] = block_step
            section.steps.append(step)
    draft.sections = [section for section in draft.sections if section.steps]


def _step(block: BlockStep, found: Domain, locale: Locale, made: Mapping[str, DraftStep]) -> DraftStep:
    def said(words: Words | None) -> str | None:
        return None if words is None else words.in_(locale)

    return DraftStep(
        label=block.label.in_(locale),
        type=block.type,
        origin=Origin.LIBRARY,
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
        placeholder=said(block.placeholder),
        low_label=said(block.low_label),
        high_label=said(block.high_label),
        true_label=said(block.true_label),
        false_label=said(block.false_label),
        condition=_condition(block, found, locale, made),
        key=f"{found.head.id}/{block.key}",
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
