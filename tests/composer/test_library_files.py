"""Every domain file of the library is one that a template can be made of, in every language."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from checklist_composer.domain_types import BlockStep, Domain, Words
from checklist_composer.library import domain, domain_files, heads
from checklist_composer.locales import LOCALES
from checklist_crds.template_types import StepType

CLAIMS = re.compile(
    r"\b(haccp|osha|iso\s?\d|dguv|gdpr|dsgvo|rgpd|compl(?:y|ies|iant|iance)|certif|norm ?konform|gesetzeskonform"
    r"|vorschriftsm[aä]ßig|conforme (?:a|à) (?:la|las|los|le|les) (?:ley|norma|loi|normes?))",
    re.IGNORECASE,
)
"""Nobody who reads the template may think that it makes them follow some law."""

every_domain = pytest.mark.parametrize("domain_id", list(domain_files()))


def texts(found: Domain) -> Iterator[tuple[str, Words]]:
    yield "title", found.head.title
    for section in found.body.sections:
        yield section.key, section.title
        for step in section.steps:
            for text in (step.label, step.hint, step.placeholder, step.true_label, step.false_label):
                if text is not None:
                    yield step.key, text
            for option in step.options:
                yield step.key, option.label


def labels(found: Domain, locale: str) -> list[tuple[BlockStep, str]]:
    return [(step, getattr(step.label, locale)) for step in found.body.steps()]


@every_domain
def test_a_file_is_named_after_its_domain_and_has_as_many_steps_as_a_person_answers_in_one_go(domain_id: str) -> None:
    assert domain(domain_id).head.id == domain_id
    assert 8 <= len(list(domain(domain_id).body.steps())) <= 45


@every_domain
@pytest.mark.parametrize("locale", LOCALES)
def test_labels_differ_are_short_capitalised_and_end_like_a_label(domain_id: str, locale: str) -> None:
    counted = Counter(label.casefold() for _, label in labels(domain(domain_id), locale))
    assert [label for label, count in counted.items() if count > 1] == []
    for step, label in labels(domain(domain_id), locale):
        first, second = [character for character in label if character.isalnum()][:2]
        assert first == first.upper() or second.isupper(), label  # pH, eSIM
        assert len(label) <= 110, label
        if step.type is not StepType.INSTRUCTION:
            assert not label.endswith((".", ":", ";", ",")), label


@every_domain
def test_texts_are_questions_in_every_language_or_in_none_and_claim_no_compliance(domain_id: str) -> None:
    for key, text in texts(domain(domain_id)):
        asked = {locale: text.in_(locale).endswith("?") for locale in LOCALES}
        assert len(set(asked.values())) == 1, f"{key}: {asked}"
        assert ("¿" in text.es) == text.es.endswith("?"), f"{key}: {text.es}"
        assert not text.fr.endswith("?") or text.fr[-2] in " \u00a0\u202f", f"{key}: {text.fr}"
        for locale in LOCALES:
            assert not CLAIMS.search(text.in_(locale)), f"{key}: {text.in_(locale)}"


@every_domain
def test_languages_are_not_copies_of_each_other(domain_id: str) -> None:
    found = domain(domain_id)
    for locale in ("de", "es", "fr"):
        same = [
            label
            for (_, label), (_, english) in zip(labels(found, locale), labels(found, "en"), strict=True)
            if label == english
        ]
        assert len(same) <= 3, f"{locale}: {same}"


def test_the_library_knows_at_least_forty_jobs() -> None:
    assert len(heads()) >= 40


def test_a_name_means_one_domain() -> None:
    for locale in LOCALES:
        owners = Counter(
            name for head in heads() for name in {*map(str.casefold, (*head.names.in_(locale), *head.also.in_(locale)))}
        )
        assert [name for name, count in owners.items() if count > 1] == []
