"""Which domains a wish asks for, in four languages, with typing errors, and when it asks for none."""

import pytest

from checklist_composer.library import domain, heads
from checklist_composer.locales import LOCALES, Locale
from checklist_composer.ranking import find_domains, names_job


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("domain_id", [head.id for head in heads()])
def test_a_domain_is_found_by_its_title_and_by_each_of_its_names(domain_id: str, locale: Locale) -> None:
    found = domain(domain_id).head
    for name in (found.title.in_(locale), *found.names.in_(locale), *found.also.in_(locale)):
        assert find_domains(name, locale)[:1] == (found.id,), name


@pytest.mark.parametrize(
    ("wish", "language", "wanted"),
    [
        ("checking our forklifts before the shift", "en", "forklift-pre-use"),
        ("a fork lift truck, every morning", "en", "forklift-pre-use"),
        ("cafe opening", "en", "restaurant-opening"),
        ("closing my bakery in the evening", "en", "retail-store-closing"),
        ("pre-trip inspection for a delivery van", "en", "vehicle-pre-trip"),
        ("HGV daily walkaround check", "en", "truck-pre-trip"),
        ("Staplercheckliste", "de", "forklift-pre-use"),
        ("Gabelstaplerprüfung vor Schichtbeginn", "de", "forklift-pre-use"),
        ("Wohnungsübergabeprotokoll", "de", "flat-handover"),
        ("Filiale schliessen", "de", "retail-store-closing"),
        ("die Schließung der Bar", "de", "bar-closing"),
        ("Abfahrtskontrolle für unsere Sattelzüge", "de", "truck-pre-trip"),
        ("revisión de los montacargas", "es", "forklift-pre-use"),
        ("limpieza de las habitaciones del hotel", "es", "hotel-room-cleaning"),
        ("cierre de la tienda por la noche", "es", "retail-store-closing"),
        ("contrôle du chariot élévateur", "fr", "forklift-pre-use"),
        ("nettoyage des bureaux", "fr", "office-cleaning"),
        ("réception des marchandises", "fr", "goods-receiving"),
        ("relevé de température des frigos", "fr", "kitchen-food-safety"),
        ("pharmacy opening in the morning", "en", "retail-store-opening"),
    ],
)
def test_words_are_found_in_any_form_and_order(wish: str, language: Locale, wanted: str) -> None:
    assert find_domains(wish, language) == (wanted,)


@pytest.mark.parametrize(
    ("wish", "language", "wanted"),
    [
        ("forlift check", "en", "forklift-pre-use"),
        ("restaraunt opening", "en", "restaurant-opening"),
        ("warehose safty inspection", "en", "warehouse-safety-walk"),
        ("Gabelstabler prüfen", "de", "forklift-pre-use"),
        ("Wareneingnagskontrolle", "de", "goods-receiving"),
        ("apertura del restarante", "es", "restaurant-opening"),
        ("ouverture du restaurent", "fr", "restaurant-opening"),
    ],
)
def test_a_typing_error_does_not_hide_a_name(wish: str, language: Locale, wanted: str) -> None:
    assert find_domains(wish, language) == (wanted,)


@pytest.mark.parametrize("accents", ["ÖFFNUNG RESTAURANT", "Offnung Restaurant", "öffnung restaurant"])
def test_capitals_and_accents_do_not_matter(accents: str) -> None:
    assert find_domains(accents, "de") == ("restaurant-opening",)


@pytest.mark.parametrize("language", LOCALES)
def test_the_name_of_a_job_is_found_in_another_language_than_the_text_s(language: Locale) -> None:
    assert find_domains("forklift pre-use", language) == ("forklift-pre-use",)
    assert find_domains("Wohnungsübergabe", language) == ("flat-handover",)


@pytest.mark.parametrize(
    ("wish", "wanted"),
    [
        ("Opening and closing checklist for a bar", ("bar-opening", "bar-closing")),
        ("closing & opening of our restaurant", ("restaurant-closing", "restaurant-opening")),
        ("forklift and ladder inspection", ("forklift-pre-use", "ladder-inspection")),
    ],
)
def test_two_jobs_in_one_wish_are_both_found_in_its_order(wish: str, wanted: tuple[str, ...]) -> None:
    assert find_domains(wish, "en") == wanted


def test_what_is_done_may_be_a_noun_or_a_verb_in_german() -> None:
    for wish in ("Öffnung und Schließung der Bar", "Bar öffnen und schließen"):
        assert find_domains(wish, "de") == ("bar-opening", "bar-closing")


def test_the_longer_name_wins_when_only_one_job_is_named() -> None:
    assert find_domains("fork lift truck check", "en") == ("forklift-pre-use",)
    assert find_domains("hotel room inspection", "en") == ("housekeeping-inspection",)
    assert find_domains("hotel room cleaning", "en") == ("hotel-room-cleaning",)


@pytest.mark.parametrize(
    ("wish", "wanted"),
    [
        ("checklist for our bar", "bar-opening"),
        ("cleaning checklist please", "office-cleaning"),
        ("car", "vehicle-pre-trip"),
    ],
)
def test_a_wide_word_means_a_domain_when_the_wish_says_nothing_else(wish: str, wanted: str) -> None:
    assert find_domains(wish, "en") == (wanted,)


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("checklist for my spaceship", "en"),
        ("cleaning the grill", "en"),
        ("car wash", "en"),
        ("pool table maintenance", "en"),
        ("car park inspection", "en"),
        ("bar stool assembly", "en"),
        ("buy a used forklift", "en"),
        ("training of forklift drivers", "en"),
        ("excavator daily check", "en"),
        ("horse inspection", "en"),
        ("safety inspection", "en"),
        ("travel packing list", "en"),
        ("dog grooming salon", "en"),
        ("make me a checklist", "en"),
        ("Monday morning", "en"),
        ("", "en"),
        ("!!! ???", "en"),
        ("Raumschiff vor dem Start", "de"),
        ("Gabelstapler kaufen", "de"),
        ("mi nave espacial", "es"),
        ("comprar un montacargas", "es"),
        ("mon vaisseau spatial", "fr"),
        ("acheter un chariot élévateur", "fr"),
    ],
)
def test_a_wish_about_something_else_finds_nothing(wish: str, language: Locale) -> None:
    assert find_domains(wish, language) == ()


@pytest.mark.parametrize(
    ("text", "language", "whole"),
    [
        ("Forklift pre-use check", "en", True),
        ("opening and closing checklist for a bar", "en", True),
        ("Forklift pre-use check with a photo of the tyres", "en", False),
        ("Check doors, windows and lights", "en", False),
        ("Kitchen", "en", False),
        ("Mietwagen Rückgabe", "de", True),
        ("Mietwagen Rückgabe mit Fotos von allen Seiten", "de", False),
        ("contrôle de l'aire de jeux", "fr", True),
        ("limpieza de la oficina", "es", True),
        ("Revisión del barco antes de zarpar", "es", True),
        ("", "en", False),
    ],
)
def test_a_job_s_name_is_told_from_a_text_that_says_more(text: str, language: Locale, whole: bool) -> None:
    assert names_job(text, language) is whole


def test_only_the_first_words_of_a_wish_name_its_job() -> None:
    assert find_domains("tidy up " * 30 + "forklift", "en") == ()


def test_hostile_words_are_words_like_others() -> None:
    for wish in (
        '" OR names:"',
        "forklift* NEAR(",
        "'; drop table domains; --",
        "\x00\ud800",
        "a" * 4_000,
        "é" * 4_000,
    ):
        assert find_domains(wish, "en") in {(), ("forklift-pre-use",)}
