"""A prompt that only names a job: which checklist of the library it gets, in which language, and when it gets none."""

import re
from typing import Any

import pytest

from checklist_composer.composing import compose
from checklist_composer.library import heads
from checklist_composer.locales import LOCALES
from checklist_composer.ranking import find_domains
from checklist_crds.template_types import Definition, StepType
from checklist_crds.template_validation import definition_problems

CLAIMS = re.compile(
    r"\b(haccp|osha|iso\s?\d|dguv|gdpr|dsgvo|rgpd|compl(?:y|ies|iant|iance)|certif|norm ?konform|gesetzeskonform"
    r"|vorschriftsm[aä]ßig|conforme (?:a|à) (?:la|las|los|le|les) (?:ley|norma|loi|normes?))",
    re.IGNORECASE,
)
"""No reader of a template may think that it makes them follow some law."""


def step_labels(definition: Definition) -> list[str]:
    return [step.label for _, step in definition.steps()]


@pytest.mark.parametrize("job", heads(), ids=lambda head: head.id)
def test_each_job_is_found_by_its_names_and_makes_a_good_template_in_each_language(job: Any) -> None:
    of_locale = {}
    for locale in LOCALES:
        for name in (job.title.in_(locale), *job.names.in_(locale), *job.also.in_(locale)):
            assert find_domains(name, locale)[:1] == (job.id,), name
        made = compose(job.title.in_(locale), locale=locale)
        assert (made.locale, made.domains[:1]) == (locale, (job.id,))
        assert definition_problems(made.definition.to_tdl(), strict=True) == []
        labels = of_locale[locale] = step_labels(made.definition)
        assert 8 <= len(labels) == len({label.casefold() for label in labels})
        assert not CLAIMS.search(str(made.definition.to_tdl()))
        for label in labels:
            assert len(label) <= 110 and not label.endswith((":", ";", ",")), label
    assert len({sum(label.endswith("?") for label in labels) for labels in of_locale.values()}) == 1
    for locale in ("de", "es", "fr"):
        assert len(set(of_locale["en"]) & set(of_locale[locale])) <= 3


def test_the_library_knows_at_least_forty_jobs() -> None:
    assert len(heads()) >= 40


@pytest.mark.parametrize(
    ("prompt", "domains"),
    [
        ("lift truck inspections before each shift", "forklift-pre-use"),
        ("weekly fire extinguisher round for our store in Leeds", "fire-extinguisher-check"),
        ("Opening and closing checklist for a bar", "bar-opening,bar-closing"),
        ("swiming pool daily test", "swimming-pool-check"),
        ("Staplercheckliste", "forklift-pre-use"),
        ("OFFNUNG RESTAURANT", "restaurant-opening"),
        ("Unsere Fahrer sollen vor der Abfahrt den LKW kontrollieren", "truck-pre-trip"),
        ("apertura del restarante", "restaurant-opening"),
        ("Revisión del barco antes de zarpar con foto de los chalecos y firma del patrón", "boat-departure-check"),
        ("état des lieux de sortie appartement", "flat-handover"),
        ("Lock the doors", ""),
        ("Kühlschrank Temperatur messen", ""),
        ("Forklift pre-use:\n- Horn works\n- Forks straight\n- Lights work", ""),
    ],
)
def test_a_job_is_known_by_other_words_forms_and_with_typing_errors(prompt: str, domains: str) -> None:
    assert ",".join(compose(prompt).domains) == domains


@pytest.mark.parametrize(
    ("prompt", "locale"),
    [("drone preflight", "en"), ("Windrad Inspektion", "de"), ("apertura del museo", "es"), ("spaceship", "fr")],
)
def test_a_job_of_no_domain_gets_a_general_list_and_no_other_jobs(prompt: str, locale: str) -> None:
    made = compose(f"{prompt} checklist", locale=locale)
    assert (made.domains, len(step_labels(made.definition)) >= 8) == ((), True)


def test_two_jobs_give_both_lists_one_after_the_other() -> None:
    definition = compose("Opening and closing checklist for a bar").definition
    titles = [section.title for section in definition.sections]
    assert len(set(titles)) == len(titles)
    assert len(set(step_labels(definition))) == len(step_labels(definition))


def test_details_of_a_job_are_put_into_its_list() -> None:
    alone = compose("forklift pre-use checklist").definition
    made = compose(
        "forklift pre-use checklist with the driver's signature, tyre pressure 7 to 9 bar and at least 3 photos of the"
        " forks. It takes 5 minutes. Steps may be skipped."
    )
    settings = made.definition.settings
    assert made.domains == ("forklift-pre-use",)
    assert (settings.est_minutes, settings.allow_skip, settings.signature_on_complete) == (5, True, True)
    steps = [step for _, step in made.definition.steps()]
    forks = [step for step in steps if "fork" in step.label.casefold()]
    assert any((step.photo and step.photo.min == 3) or step.config.min == 3 for step in forks)
    assert (7, 9, "bar") in [(step.config.min, step.config.max, step.config.unit) for step in steps]
    assert set(step_labels(alone)) <= set(step_labels(made.definition))


def test_a_photo_of_each_step_is_attached_to_all_of_them() -> None:
    for _, step in compose("Forklift checklist, take a photo of each step").definition.steps():
        assert step.type in {StepType.PHOTO, StepType.SIGNATURE, StepType.INSTRUCTION} or step.photo, step.label


@pytest.mark.parametrize(
    ("prompt", "job"),
    [
        ("Entrega del piso con lectura del contador de luz y firma del inquilino", "Entrega del piso"),
        ("Wohnungsübergabe mit Stromzähler und Unterschrift beider Parteien", "Wohnungsübergabe"),
        ("Incident report with two photos", "Incident report"),
    ],
)
def test_what_the_library_asks_for_in_other_words_is_not_asked_twice(prompt: str, job: str) -> None:
    assert step_labels(compose(prompt).definition) == step_labels(compose(job).definition)


def test_limits_and_units_of_the_prompt_replace_what_the_library_says_about_them() -> None:
    definition = compose("restaurant opening, fridge at most 39 °F").definition
    fridge = next(step for _, step in definition.steps() if step.label == "Fridge temperature")
    assert (fridge.config.min, fridge.config.max, fridge.config.unit) == (None, 39, "°F")
    assert "What was done about the warm fridge?" not in step_labels(definition)


def test_a_condition_of_the_prompt_looks_at_a_step_of_the_list() -> None:
    prompt = "forklift pre-use. If the tyres are damaged, say which wheel"
    steps = [step for _, step in compose(prompt).definition.steps()]
    looked_at = next(step for step in steps if step.label.startswith("Are the tyres undamaged"))
    wheel = steps[steps.index(looked_at) + 1]
    assert wheel.condition is not None and wheel.condition.when.step == looked_at.id
