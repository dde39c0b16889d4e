"""German wishes: verbs at the end, Sie and du, compounds, commas in numbers and before ob, wenn and dass."""

import pytest
from tests.composer.composed import bounds, depends, labels, options, step, template, titles, types

from checklist_composer.composing import compose
from checklist_composer.verb_forms import looks_like_infinitive, verb_forms
from checklist_crds.template_types import StepType

BOOLEAN, NUMBER, PHOTO, TEXT = StepType.BOOLEAN, StepType.NUMBER, StepType.PHOTO, StepType.TEXT


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Türen, Fenster und Lichter prüfen", ["Türen prüfen", "Fenster prüfen", "Lichter prüfen"]),
        ("Bitte Türen und Fenster kontrollieren", ["Türen kontrollieren", "Fenster kontrollieren"]),
        ("Prüfe Türen, Fenster und Lichter", ["Prüfe Türen", "Prüfe Fenster", "Prüfe Lichter"]),
        ("Prüfen Sie die Bremsen, die Reifen und das Licht", ["Bremsen", "Reifen", "Licht"]),
        ("türen, fenster und licht prüfen, müll rausbringen", ["türen", "fenster", "licht", "müll rausbringen"]),
    ],
)
def test_what_is_listed_shares_its_verb_wherever_it_stands(prompt: str, expected: list[str]) -> None:
    found = labels(prompt)
    assert len(found) == len(expected)
    assert all(words.casefold() in label.casefold() for words, label in zip(expected, found, strict=True))
    assert set(types(prompt)) == {BOOLEAN}


def test_every_thing_keeps_the_verb_that_is_said_with_it() -> None:
    assert labels("Hände waschen, Schürze anziehen, danach Arbeitsflächen desinfizieren und Müll leeren") == [
        "Hände waschen",
        "Schürze anziehen",
        "Arbeitsflächen desinfizieren",
        "Müll leeren",
    ]


def test_a_state_shares_no_verb_that_comes_after_it() -> None:
    assert labels("Fluchtwege frei, Feuerlöscher vorhanden und Prüfdatum notieren") == [
        "Fluchtwege frei",
        "Feuerlöscher vorhanden",
        "Prüfdatum notieren",
    ]


def test_two_things_that_the_same_is_done_to_are_one_step() -> None:
    assert labels("Tische und Stühle abwischen") == ["Tische und Stühle abwischen"]


def test_a_verb_at_the_end_tells_the_kind_of_step() -> None:
    definition = template(
        "- Wasserstand ablesen (in Liter)\n- Prüfdatum notieren\n- Seriennummer scannen\n- Schaden beschreiben\n"
        "- Boden wischen\n- Anzahl der Stühle angeben\n- Fahrzeug fotografieren"
    )
    assert [step.type for _, step in definition.steps()] == [
        NUMBER,
        StepType.DATE,
        StepType.SCAN,
        TEXT,
        BOOLEAN,
        NUMBER,
        PHOTO,
    ]
    assert step(definition, "Wasserstand").config.unit == "L"


def test_verbs_that_are_taken_apart_begin_a_step_of_their_own() -> None:
    assert labels("Schalten Sie die Maschine aus, ziehen Sie den Stecker und nehmen Sie die Haube ab") == [
        "Schalten Sie die Maschine aus",
        "Ziehen Sie den Stecker",
        "Nehmen Sie die Haube ab",
    ]


@pytest.mark.parametrize(
    ("prompt", "word", "expected"),
    [
        ("Kühlschrank unter 5 °C", "Kühlschrank", (None, 5, "°C")),
        ("Tiefkühler höchstens -18 Grad", "Tiefkühler", (None, -18, "°C")),
        ("Reifendruck zwischen 2,2 und 2,6 bar messen", "Reifendruck", (2.2, 2.6, "bar")),
        ("Profiltiefe mindestens 1,6 mm", "Profiltiefe", (1.6, None, "mm")),
        ("pH-Wert 7,0 bis 7,4", "pH-Wert", (7.0, 7.4, None)),
        ("Chlor 0,3-0,6 mg/l", "Chlor", (0.3, 0.6, "mg/L")),
        ("Die Temperatur im Serverraum darf 27 °C nicht überschreiten", "Serverraum", (None, 27, "°C")),
        ("Der Kühlraum muss zwischen 2 und 7 °C haben", "Kühlraum", (2, 7, "°C")),
        ("Temperatur der Kühlware max. 7 Grad", "Kühlware", (None, 7, "°C")),
        ("Druckprüfung mit mind. 6 bar", "Druck", (6, None, "bar")),
        ("Drehmoment der Radmuttern 110 Nm ± 10", "Radmuttern", (100, 120, "Nm")),
        ("Luftfeuchtigkeit 40 bis 60 Prozent", "Luftfeuchtigkeit", (40, 60, "%")),
    ],
)
def test_quantities_have_their_unit_and_their_bounds(
    prompt: str, word: str, expected: tuple[float | None, float | None, str | None]
) -> None:
    found = step(template(prompt), word)
    assert found.type is NUMBER
    assert bounds(found) == expected


def test_sections_have_the_names_of_the_places() -> None:
    definition = template(
        "Küche: Herd sauber, Kühlschranktemperatur unter 7 °C. Bad: Spiegel putzen, Handtücher wechseln."
    )
    assert titles(definition) == ["Küche", "Bad"]
    assert [len(section.steps) for section in definition.sections] == [2, 2]
    assert titles(template("Im Lager: Fluchtwege frei, Regale stabil. Im Büro: Fenster geschlossen, Licht aus.")) == [
        "Lager",
        "Büro",
    ]


def test_questions_stay_questions() -> None:
    prompt = "Ist der Notausgang frei? Funktioniert die Notbeleuchtung? Boden gewischt?"
    assert labels(prompt) == ["Ist der Notausgang frei?", "Funktioniert die Notbeleuchtung?", "Boden gewischt?"]
    assert set(types(prompt)) == {BOOLEAN}


def test_open_questions_take_a_text() -> None:
    assert types("Welche Arbeiten wurden ausgeführt? Wer war vor Ort? Was können wir verbessern?") == [TEXT] * 3


def test_choices_have_the_writers_options() -> None:
    definition = template(
        "Zustand der Treppe: gut, abgenutzt oder defekt. Tankfüllung (voll, halb, leer). "
        "Welche Mängel liegen vor? Mehrfachauswahl: Kratzer, Dellen, Risse, Rost"
    )
    assert options(step(definition, "Treppe")) == ["Gut", "Abgenutzt", "Defekt"]
    assert options(step(definition, "Tankfüllung")) == ["Voll", "Halb", "Leer"]
    several = step(definition, "Mängel")
    assert several.type is StepType.MULTI_CHOICE
    assert options(several) == ["Kratzer", "Dellen", "Risse", "Rost"]


def test_grades_have_their_ends() -> None:
    definition = template(
        "Sauberkeit von 1 bis 5 bewerten. Bewerten Sie die Freundlichkeit mit 1 bis 10 Sternen. "
        "Gesamteindruck von 1 (schlecht) bis 6 (sehr gut)."
    )
    assert {step.type for _, step in definition.steps()} == {StepType.RATING}
    assert bounds(step(definition, "Sauberkeit"))[:2] == (1, 5)
    assert bounds(step(definition, "Freundlichkeit"))[:2] == (1, 10)
    assert bounds(step(definition, "Gesamteindruck"))[:2] == (1, 6)
    assert step(definition, "Gesamteindruck").config.low_label == "Schlecht"
    assert step(definition, "Gesamteindruck").config.high_label == "Sehr gut"


def test_photos_are_steps_or_attached_to_one() -> None:
    definition = template("Mindestens 3 Fotos der Racks machen, Zählerstand mit Foto, Foto vom Tresen")
    assert step(definition, "Racks").type is PHOTO
    assert step(definition, "Racks").config.min == 3
    assert step(definition, "Zählerstand").type is NUMBER
    assert step(definition, "Zählerstand").photo
    assert step(definition, "Tresen").type is PHOTO


def test_a_signature_at_the_end_is_a_setting_and_anothers_a_step() -> None:
    assert template("Boden wischen, Müll leeren, Unterschrift am Ende").settings.signature_on_complete
    definition = template("Zählerstand ablesen, Unterschrift des Mieters")
    assert step(definition, "Mieter").type is StepType.SIGNATURE
    assert not definition.settings.signature_on_complete


def test_place_remarks_and_codes() -> None:
    definition = template("GPS-Standort erfassen, Barcode des Zählers scannen, Uhrzeit der Ankunft, Bemerkungen")
    assert step(definition, "Standort").geo
    assert step(definition, "Barcode").type is StepType.SCAN
    assert step(definition, "Uhrzeit").type is StepType.TIME
    remarks = step(definition, "Bemerkungen")
    assert remarks.type is TEXT and remarks.config.multiline and not remarks.required


def test_optional_and_required_are_told_apart() -> None:
    definition = template("Türen prüfen, optional: Fundsachen notieren, Foto vom Zähler ist Pflicht, Logo wenn möglich")
    assert not step(definition, "Fundsachen").required
    assert step(definition, "Zähler").required
    assert not step(definition, "Logo").required


def test_skipping_and_the_time_it_takes_are_settings() -> None:
    settings = template(
        "Kasse zählen, Licht aus. Schritte dürfen übersprungen werden. Dauert etwa 15 Minuten."
    ).settings
    assert settings.allow_skip
    assert settings.est_minutes == 15


@pytest.mark.parametrize(
    "prompt",
    [
        "Wenn die Leiter beschädigt ist, zwei Fotos machen und den Schaden beschreiben",
        "Falls die Leiter beschädigt ist, machen Sie zwei Fotos und beschreiben Sie den Schaden",
        "Ist die Leiter beschädigt? Wenn ja, zwei Fotos machen und den Schaden beschreiben",
        "Ist die Leiter beschädigt, zwei Fotos machen und den Schaden beschreiben",
    ],
)
def test_what_follows_from_a_condition_depends_on_its_question(prompt: str) -> None:
    definition = template(prompt)
    photos, text = step(definition, "Fotos"), step(definition, "beschreib")
    assert photos.type is PHOTO and photos.config.min == 2
    assert text.type is TEXT
    assert depends(definition, photos) == ("Ist die Leiter beschädigt?", "eq", True)
    assert depends(definition, text) == ("Ist die Leiter beschädigt?", "eq", True)


def test_a_condition_looks_at_the_number_that_was_measured() -> None:
    definition = template(
        "Temperatur im Serverraum messen. Wenn die Temperatur über 27 °C liegt, Klimaanlage prüfen "
        "und Techniker anrufen."
    )
    assert depends(definition, step(definition, "Klimaanlage")) == ("Temperatur im Serverraum messen", "gt", 27)
    assert depends(definition, step(definition, "Techniker")) == ("Temperatur im Serverraum messen", "gt", 27)


def test_a_condition_looks_at_the_option_that_was_chosen() -> None:
    definition = template("Zustand: gut, abgenutzt oder defekt. Wenn defekt, Vorgesetzten informieren.")
    assert depends(definition, step(definition, "Vorgesetzten")) == ("Zustand", "eq", "Defekt")


def test_a_noun_can_open_a_condition() -> None:
    definition = template(
        "Leiter bereitstellen, Uhrzeit notieren. Bei Schäden am Holm bitte Foto machen und Schaden beschreiben."
    )
    assert depends(definition, step(definition, "Foto")) == ("Schäden am Holm vorhanden?", "eq", True)
    assert depends(definition, step(definition, "Schaden beschreiben")) == ("Schäden am Holm vorhanden?", "eq", True)


def test_a_fault_is_that_the_check_before_was_not_passed() -> None:
    definition = template("Ölstand prüfen. Bei Mängeln Foto machen.")
    assert depends(definition, step(definition, "Foto")) == ("Ölstand prüfen", "eq", False)


def test_what_has_to_be_made_sure_is_asked_with_ob_and_dass() -> None:
    found = labels("Prüfen, ob alle Fenster geschlossen sind und ob das Licht aus ist")
    assert found == ["Prüfen, ob alle Fenster geschlossen sind", "Prüfen, ob das Licht aus ist"]
    assert len(labels("Sicherstellen, dass der Herd aus ist und dass niemand mehr im Haus ist")) == 2


def test_a_wish_is_no_step() -> None:
    definition = template(
        "hallo brauch ne liste fürs tägliche öffnen vom café: licht an, kaffeemaschine einschalten, "
        "milchkühlschrank max 5 grad, kasse zählen (betrag in euro), foto vom tresen wär gut, danke"
    )
    own = [step.label for _, step in definition.steps()]
    assert not any("danke" in label.casefold() or "brauch" in label.casefold() for label in own)
    assert "café" in definition.name.casefold() and "hallo" not in definition.name.casefold()
    assert bounds(step(definition, "milchkühlschrank")) == (None, 5, "°C")
    assert step(definition, "kasse").config.unit == "€"
    assert not step(definition, "tresen").required


def test_a_numbered_procedure_is_read_step_by_step() -> None:
    definition = template(
        "1. Maschine abschalten\n2. Netzstecker ziehen\n3. Keilriemen auf Risse prüfen\n"
        "4. Spannung messen (zwischen 220 und 240 V)\n5. Probelauf durchführen"
    )
    assert [step.label for _, step in definition.steps()] == [
        "Maschine abschalten",
        "Netzstecker ziehen",
        "Keilriemen auf Risse prüfen",
        "Spannung messen",
        "Probelauf durchführen",
    ]
    assert bounds(step(definition, "Spannung")) == (220, 240, "V")


def test_who_does_it_is_no_part_of_the_label() -> None:
    definition = template("Der Fahrer prüft Bremsen, Licht und Hupe; notiert den Kilometerstand; unterschreibt")
    assert [step.type for _, step in definition.steps()][:4] == [BOOLEAN, BOOLEAN, BOOLEAN, NUMBER]
    assert definition.settings.signature_on_complete or definition.sections[-1].steps[-1].type is StepType.SIGNATURE


@pytest.mark.parametrize(
    "prompt", ["Gabelstapler", "Wareneingang", "Wohnungsübergabe", "Spielplatzkontrolle", "Büro putzen"]
)
def test_the_name_of_a_job_tells_the_language(prompt: str) -> None:
    assert compose(prompt).locale == "de"


def test_a_verb_of_the_tables_means_all_its_forms_in_instructions() -> None:
    assert {"prüfen", "prüfen sie", "prüfe", "prüft"} <= set(verb_forms("de", "prüfen"))
    assert {"einschalten", "einzuschalten", "schalte", "schalten sie", "schaltet", "einschaltet"} <= set(
        verb_forms("de", "ein|schalten")
    )
    assert {"sammle", "sammelt"} <= set(verb_forms("de", "sammeln"))
    assert "öffnet" in verb_forms("de", "öffnen")


def test_participles_are_no_instructions() -> None:
    assert labels("Reifen abgefahren, Schrauben verloren, Boden gefroren") == [
        "Reifen abgefahren",
        "Schrauben verloren",
        "Boden gefroren",
    ]
    assert not looks_like_infinitive("de", "abgefahren")


def test_a_verb_that_no_table_has_is_known_by_its_place() -> None:
    assert looks_like_infinitive("de", "dippen")
    assert labels("Zitzen dippen, Euter trockentupfen") == ["Zitzen dippen", "Euter trockentupfen"]


def test_an_occasion_is_no_condition() -> None:
    definition = template("Bei der Rückgabe den Kilometerstand notieren, Schlüssel entgegennehmen")
    assert all(step.condition is None for _, step in definition.steps())


def test_a_condition_needs_no_comma() -> None:
    definition = template("1. Zustand der Dichtung prüfen\n2. Wenn beschädigt ersetzen\n3. Deckel schließen")
    assert step(definition, "ersetzen").condition is not None
    assert step(definition, "Deckel").condition is None
