"""A prompt that only names a job: which checklist of the library it gets, in which language, and when it gets none."""

import pytest

from checklist_composer.composing import compose
from checklist_composer.library import heads
from checklist_composer.locales import LOCALES, Locale
from checklist_composer.ranking import find_domains
from checklist_crds.template_types import Definition, StepType
from checklist_crds.template_validation import definition_problems


def step_labels(definition: Definition) -> list[str]:
    return [step.label for _, step in definition.steps()]


@pytest.mark.parametrize("locale", LOCALES)
def test_a_job_is_found_by_its_title_and_by_each_of_its_names(locale: Locale) -> None:
    names = {
        name: head.id
        for head in heads()
        for name in (head.title.in_(locale), *head.names.in_(locale), *head.also.in_(locale))
    }
    assert {name: find_domains(name, locale)[:1] for name, wanted in names.items()} == {
        name: (wanted,) for name, wanted in names.items()
    }


@pytest.mark.parametrize("locale", LOCALES)
def test_each_job_makes_a_valid_template_in_each_language(locale: Locale) -> None:
    for head in heads():
        made = compose(head.title.in_(locale), locale=locale)
        assert (made.locale, made.domains[:1]) == (locale, (head.id,)), head.id
        assert definition_problems(made.definition.to_tdl(), strict=True) == []


@pytest.mark.parametrize(
    ("prompt", "domains"),
    [
        ("forklift pre-use", "forklift-pre-use"),
        ("lift truck inspections before each shift", "forklift-pre-use"),
        ("weekly fire extinguisher round for our store in Leeds", "fire-extinguisher-check"),
        ("fork lift truck check", "forklift-pre-use"),
        ("checklist for our bar", "bar-opening"),
        ("Opening and closing checklist for a bar", "bar-opening,bar-closing"),
        ("swiming pool daily test", "swimming-pool-check"),
        ("Staplercheckliste", "forklift-pre-use"),
        ("Wohnungsabnahme beim Auszug", "flat-handover"),
        ("Bar öffnen und schließen", "bar-opening,bar-closing"),
        ("OFFNUNG RESTAURANT", "restaurant-opening"),
        ("Wareneingnagskontrolle", "goods-receiving"),
        ("Unsere Fahrer sollen vor der Abfahrt den LKW kontrollieren", "truck-pre-trip"),
        ("revisión de extintores del hotel", "fire-extinguisher-check"),
        ("apertura del restarante", "restaurant-opening"),
        ("Revisión del barco antes de zarpar con foto de los chalecos y firma del patrón", "boat-departure-check"),
        ("contrôle journalier du chariot élévateur", "forklift-pre-use"),
        ("état des lieux de sortie appartement", "flat-handover"),
        ("ouverture du restaurent", "restaurant-opening"),
    ],
)
def test_a_job_is_known_by_other_words_forms_and_with_typing_errors(prompt: str, domains: str) -> None:
    assert compose(prompt).domains == tuple(domains.split(","))


@pytest.mark.parametrize(
    ("prompt", "locale"),
    [
        ("drone preflight", "en"),
        ("bar stool inspection", "en"),
        ("car park inspection", "en"),
        ("Windrad Inspektion", "de"),
        ("apertura del museo", "es"),
        ("fermeture du musée", "fr"),
        ("spaceship checklist", "fr"),
    ],
)
def test_a_job_of_no_domain_gets_a_general_list_and_no_other_jobs(prompt: str, locale: str) -> None:
    made = compose(prompt, locale=locale)
    assert (made.locale, made.domains) == (locale, ())
    assert len(step_labels(made.definition)) >= 8


@pytest.mark.parametrize(
    "prompt",
    [
        "Check the brakes of the forklift below 4 bar",
        "Lock the doors",
        "Is the oven off?",
        "buy a used forklift",
        "Kühlschrank Temperatur messen",
        "medir la temperatura de la nevera",
    ],
)
def test_one_thing_to_check_is_one_step_and_no_job(prompt: str) -> None:
    made = compose(prompt)
    assert made.domains == ()
    assert len(step_labels(made.definition)) == 1


def test_a_prompt_that_lists_its_own_items_gets_these_and_no_others() -> None:
    made = compose("Forklift pre-use:\n- Horn works\n- Forks straight\n- Lights work")
    assert made.domains == ()
    assert len(step_labels(made.definition)) == 3


def test_two_jobs_give_both_lists_one_after_the_other() -> None:
    definition = compose("Opening and closing checklist for a bar").definition
    titles = [section.title for section in definition.sections]
    assert len(set(titles)) == len(titles)
    assert len(set(step_labels(definition))) == len(step_labels(definition))


def test_details_of_a_job_are_put_into_its_list() -> None:
    alone = compose("forklift pre-use checklist").definition
    made = compose("forklift pre-use checklist with the driver's signature and at least 3 photos of the forks")
    assert made.domains == ("forklift-pre-use",)
    assert made.definition.settings.signature_on_complete
    forks = [step for _, step in made.definition.steps() if "fork" in step.label.casefold()]
    assert any((step.photo and step.photo.min == 3) or step.config.min == 3 for step in forks)
    assert set(step_labels(alone)) <= set(step_labels(made.definition))


def test_a_photo_of_each_step_or_of_each_of_some_things_is_attached_to_all_of_them() -> None:
    for _, step in compose("Forklift checklist, take a photo of each step").definition.steps():
        assert step.type in {StepType.PHOTO, StepType.SIGNATURE, StepType.INSTRUCTION} or step.photo, step.label
    made = compose("Spielplatzkontrolle mit Foto von jedem Gerät").definition
    equipment = next(section for section in made.sections if "geräte" in section.title.lower())
    assert all(step.photo for step in equipment.steps)
    assert not all(step.photo for section, step in made.steps() if section is not equipment)


@pytest.mark.parametrize(
    ("prompt", "job"),
    [
        ("Entrega del piso con lectura del contador de luz y firma del inquilino", "Entrega del piso"),
        ("Wohnungsübergabe mit Stromzähler und Unterschrift beider Parteien", "Wohnungsübergabe"),
        ("Incident report with two photos", "Incident report"),
        ("Forklift pre-use check with a photo of the tyres", "Forklift pre-use check"),
    ],
)
def test_what_the_library_asks_for_in_other_words_is_not_asked_twice(prompt: str, job: str) -> None:
    assert step_labels(compose(prompt).definition) == step_labels(compose(job).definition)


@pytest.mark.parametrize(
    ("prompt", "maximum"),
    [("restaurant opening, fridge at most 39 °F", 39), ("restaurant opening with the fridge temperature in °F", None)],
)
def test_limits_and_units_of_the_prompt_replace_what_the_library_says_about_them(
    prompt: str, maximum: float | None
) -> None:
    definition = compose(prompt).definition
    fridge = next(step for _, step in definition.steps() if step.label == "Fridge temperature")
    assert (fridge.config.min, fridge.config.max, fridge.config.unit) == (None, maximum, "°F")
    assert "What was done about the warm fridge?" not in step_labels(definition)
    assert "What was done about the warm freezer?" in step_labels(definition)


def test_what_the_list_of_a_job_does_not_have_is_added_and_a_condition_looks_at_its_steps() -> None:
    prompt = "forklift pre-use with tyre pressure 7 to 9 bar. If the tyres are damaged, say which wheel"
    steps = [step for _, step in compose(prompt).definition.steps()]
    looked_at = next(step for step in steps if step.label.startswith("Are the tyres undamaged"))
    wheel, pressure = steps[steps.index(looked_at) + 1 :][:2]
    assert wheel.condition is not None
    assert wheel.condition.when.step == looked_at.id
    assert (pressure.config.min, pressure.config.max, pressure.config.unit) == (7, 9, "bar")


def test_what_the_prompt_says_about_the_whole_list_holds_for_that_of_the_library() -> None:
    settings = compose("truck pre-trip check. It takes 5 minutes. Steps may be skipped.").definition.settings
    assert (settings.est_minutes, settings.allow_skip, settings.signature_on_complete) == (5, True, True)
