"""Sentences that begin with a job which the library knows: the job is told from what is said about it."""

import pytest

from checklist_composer.composing import compose
from checklist_composer.language import language_of
from checklist_composer.locales import Locale
from checklist_composer.reading.known_jobs import known_job_of
from checklist_composer.reading.words import Words
from checklist_crds.template_types import StepType


@pytest.mark.parametrize(
    ("sentence", "language", "job", "rest"),
    [
        ("Forklift pre-use with a photo of the tyres", "en", "Forklift pre-use", "a photo of the tyres"),
        ("truck pre trip, tyre pressure 7 to 9 bar", "en", "truck pre trip", "tyre pressure 7 to 9 bar"),
        ("What should I check before buying a house?", "en", "What should I check before buying a house", ""),
        ("Store closing for our Berlin branch, cash count", "en", "Store closing for our Berlin branch", "cash count"),
        ("Check the ladder", "en", "Check the ladder", ""),
        ("IT onboarding for a new developer, laptop", "en", "IT onboarding for a new developer", "laptop"),
        ("Hotel room cleaning with photos of the bathroom", "en", "Hotel room cleaning", "photos of the bathroom"),
        ("Mietwagen Rückgabe mit Fotos von allen Seiten", "de", "Mietwagen Rückgabe", "Fotos von allen Seiten"),
        ("Restaurant schließen, Kühlschrank 4 °C", "de", "Restaurant schließen", "Kühlschrank 4 °C"),
        ("Devolución de coche de alquiler con fotos", "es", "Devolución de coche de alquiler", "fotos"),
        ("Restitution de voiture de location avec photos", "fr", "Restitution de voiture de location", "photos"),
        ("Vérification des extincteurs du magasin", "fr", "Vérification des extincteurs du magasin", ""),
        ("Revisión del barco antes de zarpar con fotos", "es", "Revisión del barco antes de zarpar", "fotos"),
    ],
)
def test_a_job_s_name_ends_where_the_details_begin(sentence: str, language: Locale, job: str, rest: str) -> None:
    found = known_job_of(Words(language_of(language), sentence).span())
    assert found is not None
    assert (found.job.text, found.rest.text) == (job, rest)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Check the fire extinguisher, the emergency exits and the lights", "en"),
        ("Clean the restroom. Check the ladder. Lock the doors.", "en"),
        ("Clean the restroom, empty the bins", "en"),
        ("Was the workplace left clean?", "en"),
        ("Kitchen: wipe the worktops", "en"),
        ("Toiletten putzen, Boden wischen", "de"),
        ("Türen und Fenster prüfen", "de"),
        ("Kühlschrank Temperatur messen", "de"),
        ("Measure the temperature of the fridge", "en"),
        ("Ladder in good order", "en"),
    ],
)
def test_things_to_do_and_questions_are_no_jobs(sentence: str, language: Locale) -> None:
    assert known_job_of(Words(language_of(language), sentence).span()) is None


def test_a_job_with_details_becomes_the_library_s_list_with_these_details() -> None:
    made = compose("Forklift pre-use check with a photo of the tyres")
    tyres = next(step for _, step in made.definition.steps() if "tyres" in step.label)
    assert made.domains == ("forklift-pre-use",)
    assert tyres.photo
    assert tyres.photo.min == 1


def test_a_photo_of_each_step_is_attached_to_every_step_that_can_have_one() -> None:
    made = compose("Forklift checklist, take a photo of each step")
    for _, step in made.definition.steps():
        assert step.type in {StepType.PHOTO, StepType.SIGNATURE, StepType.INSTRUCTION} or step.photo, step.label


def test_photos_of_each_of_some_things_are_attached_to_the_part_about_them() -> None:
    made = compose("Spielplatzkontrolle mit Foto von jedem Gerät")
    equipment = next(section for section in made.definition.sections if "geräte" in section.title.lower())
    assert all(step.photo for step in equipment.steps)
    assert not all(step.photo for section, step in made.definition.steps() if section is not equipment)


@pytest.mark.parametrize(
    ("prompt", "steps"),
    [
        ("Entrega del piso con lectura del contador de luz y firma del inquilino", 28),
        ("Wohnungsübergabe mit Stromzähler und Unterschrift beider Parteien", 28),
        ("Incident report with two photos", 17),
    ],
)
def test_what_the_library_asks_for_in_other_words_is_not_asked_twice(prompt: str, steps: int) -> None:
    assert len(list(compose(prompt).definition.steps())) == steps


def test_the_library_s_texts_come_in_the_locale_for_a_short_english_name() -> None:
    made = compose("forklift checklist", locale="de")
    assert made.locale == "de"
    assert "Sind die Gabelzinken gerade, ohne Risse und gesichert?" in [
        step.label for _, step in made.definition.steps()
    ]


@pytest.mark.parametrize(
    ("prompt", "domain_id"),
    [
        ("Nuestros conductores deben revisar el camión cada mañana", "truck-pre-trip"),
        ("Unsere Fahrer sollen vor der Abfahrt den LKW kontrollieren", "truck-pre-trip"),
        ("warehouse", "warehouse-safety-walk"),
        ("état des lieux", "flat-handover"),
        ("Wohnungsübergabeprotokoll", "flat-handover"),
    ],
)
def test_a_prompt_that_lists_nothing_is_looked_up_as_a_whole(prompt: str, domain_id: str) -> None:
    assert compose(prompt).domains == (domain_id,)


@pytest.mark.parametrize(
    "prompt", ["Check the brakes of the forklift below 4 bar", "Lock the doors", "Is the oven off?"]
)
def test_one_thing_to_check_is_one_step(prompt: str) -> None:
    made = compose(prompt)
    assert made.domains == ()
    assert len(list(made.definition.steps())) == 1


def test_a_generic_list_says_in_which_language_it_is() -> None:
    made = compose("spaceship checklist", locale="fr")
    assert (made.locale, made.domains) == ("fr", ())
    assert "Peut-on commencer en sécurité ?" in [step.label for _, step in made.definition.steps()]
