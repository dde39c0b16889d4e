"""Jobs of the library, and the work of the composer."""

import contextlib
import re
import sys
from types import FrameType
from typing import Any

import pytest

from checklist_composer.composing import NothingToCompose, compose
from checklist_composer.domain_types import Words
from checklist_composer.library import domain, heads
from checklist_composer.locales import LOCALES
from checklist_composer.ranking import find_domains
from checklist_crds.resources.template_definition import Operator
from checklist_crds.templates.validation import definition_problems
from checklist_dev.evaluation.hostile_prompts import HOSTILE, LONGEST

CLAIMS = re.compile(
    r"\b(haccp|osha|iso\s?\d|dguv|gdpr|dsgvo|rgpd|compl(?:y|ies|iant|iance)|certif|norm ?konform|gesetzeskonform"
    r"|vorschriftsm[aä]ßig|conforme (?:a|à) (?:la|las|los|le|les) (?:ley|norma|loi|normes?))",
    re.IGNORECASE,
)
"""No reader of a template may think that it makes them follow some law."""


@pytest.mark.parametrize("job", heads(), ids=lambda head: head.id)
def test_each_job_is_found_by_its_names_and_makes_a_good_template_in_each_language(job: Any) -> None:
    of_locale = {}
    for locale in LOCALES:
        for name in (job.title.in_(locale), *job.names.in_(locale), *job.also.in_(locale)):
            assert find_domains(name, locale)[:1] == (job.id,), name
        made = compose(job.title.in_(locale), locale=locale)
        assert (made.locale, made.domains[:1]) == (locale, (job.id,))
        assert {(source.start, source.end) for source in made.sources} == {(None, None)}
        assert definition_problems(made.definition.to_tdl(), strict=True) == []
        labels = of_locale[locale] = [step.label for _, step in made.definition.steps()]
        assert 8 <= len(labels) == len({label.casefold() for label in labels})
        assert not CLAIMS.search(str(made.definition.to_tdl()))
        for label in labels:
            assert len(label) <= 110 and not label.endswith((":", ";", ",")), label
    assert len({sum(label.endswith("?") for label in labels) for labels in of_locale.values()}) == 1
    for locale in ("de", "es", "fr"):
        assert len(set(of_locale["en"]) & set(of_locale[locale])) <= 3


@pytest.mark.parametrize("job", heads(), ids=lambda head: head.id)
def test_nothing_of_a_job_is_lost_in_its_template(job: Any) -> None:
    assert all(job.names.in_(locale) and job.tags.in_(locale) for locale in LOCALES)
    blocks = list(domain(job.id).body.steps())
    assert len({block.key for block in blocks}) == len(blocks)
    assert len({section.key for section in domain(job.id).body.sections}) == len(domain(job.id).body.sections)
    earlier: dict[str, Any] = {}
    steps = [step for _, step in compose(job.title.en).definition.steps()]
    for block, step in zip(blocks, steps, strict=True):
        unit = block.unit.en if isinstance(block.unit, Words) else block.unit
        config = step.config
        made = config.unit, config.min, config.max, config.decimal, len(config.options or ())
        wanted = unit, block.min, block.max, block.decimal, len(block.options)
        assert all(one in (None, other) for one, other in zip(wanted, made, strict=True)), block.key
        assert block.photo is None or (step.photo.min, step.photo.max) == (block.photo.min, block.photo.max)
        assert len({option.key for option in block.options}) == len(block.options)
        assert (step.condition is not None) is bool(block.comparisons), block.key
        assert block.when is None or not block.when_any
        for comparison in block.comparisons:
            options = {option.key for option in earlier[comparison.step].options}
            values = comparison.value if isinstance(comparison.value, tuple) else (comparison.value,)
            assert not options or comparison.op is Operator.EXISTS or set(values) <= options, block.key
        earlier[block.key] = block


def test_the_library_knows_at_least_forty_jobs() -> None:
    assert len(heads()) >= 40


@pytest.mark.parametrize(
    ("prompt", "domains"),
    [
        ("Forklift pre-use checklist", ("forklift-pre-use",)),
        ("Staplercheckliste", ("forklift-pre-use",)),
        ("swiming pool daily test", ("swimming-pool-check",)),
        ("apertura del restarante", ("restaurant-opening",)),
        ("Forklift pre-use:\n- Horn works\n- Forks straight\n- Lights work", ()),
        ("Restaurant opening:\n- Lights on\n- Chairs down\n- Door unlocked\n- Till counted", ()),
    ],
)
def test_jobs_are_found_by_paraphrase(prompt: str, domains: tuple[str, ...]) -> None:
    assert compose(prompt).domains == domains


LONG = {name: prompt for name, prompt in HOSTILE.items() if len(prompt) >= LONGEST * 3 // 4}


@pytest.fixture(autouse=True, scope="module")
def _tables_that_are_read_once() -> None:
    for locale in LOCALES:
        compose("forklift pre-use", locale=locale)
        calls("- check the doors\n- photo of the floor", locale)


def calls(prompt: str, locale: str | None = None) -> int:
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        with contextlib.suppress(NothingToCompose):
            compose(prompt, locale=locale)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", LONG)
def test_a_hostile_prompt_of_twice_the_length_is_about_twice_the_work(name: str) -> None:
    prompt = LONG[name][:LONGEST]
    half = calls(prompt[: len(prompt) // 2])
    whole = calls(prompt)
    assert whole <= 3 * half + 10_000  # what grows with the square is four times
