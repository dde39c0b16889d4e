"""What people of all languages do alike: limits before articles, evidence, settings, answers behind questions."""

import pytest
from tests.composer.composed import bounds, depends, labels, options, step, template, titles, types

from checklist_composer.composing import compose
from checklist_crds.template_types import StepType

BOOLEAN, NUMBER, TEXT = StepType.BOOLEAN, StepType.NUMBER, StepType.TEXT


@pytest.mark.parametrize(
    ("prompt", "evidence"),
    [
        ("Fridge below 5 °C with a photo of the display", "Photo of the display"),
        ("Temperatur unter 5 °C mit Foto der Anzeige", "Foto der Anzeige"),
        ("Nevera por debajo de 5 °C con foto del termómetro", "Foto del termómetro"),
        ("Frigo en dessous de 5 °C avec photo du thermomètre", "Photo du thermomètre"),
    ],
)
def test_a_photo_of_something_is_attached_and_its_motive_is_a_hint(prompt: str, evidence: str) -> None:
    definition = template(prompt)
    (only,) = [each for _, each in definition.steps()]
    assert (only.type, only.config.max) == (NUMBER, 5)
    assert only.photo is not None and only.photo.min == 1
    assert evidence.split(maxsplit=1)[0] not in only.label
    assert only.hint is not None and only.hint.endswith(evidence)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Varroa por debajo del 3 %, puertas cerradas", (None, 3, "%")),
        ("Cámara como máximo a 7 °C, puertas cerradas", (None, 7, "°C")),
        ("La luz no supera los 50 lux, puertas cerradas", (None, 50, "lux")),
        ("Humidité en dessous des 60 %, portes fermées", (None, 60, "%")),
        ("Le bruit n'excède pas 80 dB, portes fermées", (None, 80, "dB")),
    ],
)
def test_a_limit_is_one_before_an_article_and_behind_a_no(
    prompt: str, expected: tuple[float | None, float | None, str | None]
) -> None:
    assert bounds(next(each for _, each in template(prompt).steps() if each.type is NUMBER)) == expected


@pytest.mark.parametrize(
    ("prompt", "minutes"),
    [
        ("Türen prüfen, Licht prüfen. Ungefähr eine halbe Stunde.", 30),
        ("Comprobar puertas y luces. Unos treinta y cinco minutos.", 35),
        ("Vérifier portes et lumières. Environ une demi-heure.", 30),
        ("Türen prüfen, Licht prüfen. Dauert eine Viertelstunde.", 15),
    ],
)
def test_minutes_are_said_in_words_and_in_parts_of_an_hour(prompt: str, minutes: float) -> None:
    assert template(prompt).settings.est_minutes == minutes


@pytest.mark.parametrize(
    ("prompt", "locale"),
    [("RTW Check", "de"), ("audit 5S", "fr"), ("5S audit", "en"), ("checklist barco", "es"), ("fork lift check", "en")],
)
def test_a_word_of_several_languages_does_not_tell_the_language(prompt: str, locale: str) -> None:
    assert compose(prompt).locale == locale


@pytest.mark.parametrize(
    ("prompt", "domains"),
    [
        ("Revisión del barco antes de zarpar con foto de los chalecos y firma del patrón", {"boat-departure-check"}),
        ("Öffnung und Schließung der Bar", {"bar-opening", "bar-closing"}),
        ("Kontrolle von Rolltreppe und Aufzug im Kaufhaus", {"escalator-check", "elevator-check"}),
    ],
)
def test_a_job_with_details_is_one_of_the_library(prompt: str, domains: set[str]) -> None:
    assert set(compose(prompt).domains) == domains


def test_one_thing_to_measure_is_a_step_and_no_job() -> None:
    assert types("Kühlschrank Temperatur messen") == [NUMBER]
    assert types("medir la temperatura de la nevera") == [NUMBER]


@pytest.mark.parametrize(
    ("prompt", "first", "last"),
    [
        (
            "Für die Lese müssen wir täglich festhalten: Parzelle, Zahl der Kisten und ob die Presse gereinigt wurde.",
            "Parzelle",
            "Wurde die Presse gereinigt?",
        ),
        (
            "Para la vendimia hay que registrar la parcela, el número de cajas y si la prensa está limpia.",
            "Registrar la parcela",
            "¿La prensa está limpia?",
        ),
        ("Note the plot, the number of boxes and if the press is clean.", "Note the plot", "Is the press clean?"),
    ],
)
def test_what_it_is_for_is_no_step_and_a_last_whether_is_no_condition(prompt: str, first: str, last: str) -> None:
    assert (labels(prompt)[0], labels(prompt)[-1]) == (first, last)
    assert types(prompt) == [TEXT, NUMBER, BOOLEAN]
    assert all(each.condition is None for _, each in template(prompt).steps())


@pytest.mark.parametrize(
    "prompt",
    [
        "Tür prüfen, Licht prüfen. Zum Schluss unterschreibt der Kellermeister.",
        "Vérifier la porte, vérifier la lumière. Le maître de chai signe à la fin.",
    ],
)
def test_whoever_signs_at_the_end_signs_for_all_of_it(prompt: str) -> None:
    assert template(prompt).settings.signature_on_complete
    assert len(labels(prompt)) == 2


@pytest.mark.parametrize(
    "prompt",
    [
        "Camillas montadas, nevera limpia. ¿Qué bebidas hay? Agua, zumo, té.",
        "Welche Getränke sind da? Wasser, Saft, Tee.",
        "Quelles boissons sont là ? Eau, jus, thé.",
    ],
)
def test_what_is_listed_behind_a_question_are_its_answers(prompt: str) -> None:
    definition = template(prompt)
    asked = [each for _, each in definition.steps()][-1]
    assert asked.type is StepType.MULTI_CHOICE
    assert len(options(asked)) == 3


def test_a_german_case_ends_with_its_noun() -> None:
    definition = template(
        "Blattläuse kontrollieren. Bei Befall die Pflanzen isolieren und fotografieren, andernfalls normal gießen. "
        "Bei Schichtende Licht ausschalten."
    )
    assert depends(definition, step(definition, "isolieren")) == ("Befall vorhanden?", "eq", True)
    assert depends(definition, step(definition, "gießen")) == ("Befall vorhanden?", "eq", False)
    assert step(definition, "Schichtende Licht ausschalten").condition is None


def test_yes_and_no_are_called_by_the_names_that_they_were_given() -> None:
    definition = template(
        "- Metalldetektor getestet (Ergebnis: bestanden / nicht bestanden)\n- Tür sauber\n"
        "- Wenn nicht bestanden: Band anhalten"
    )
    assert depends(definition, step(definition, "Band anhalten")) == ("Metalldetektor getestet", "eq", False)


def test_a_place_below_a_heading_names_its_measurements_and_opens_no_section() -> None:
    definition = template(
        "Vor der Schicht\n- Boden trocken\n- Kühlraum: Temperatur 2-7 °C, Feuchte 75-80 %\n- Müll leer\n\n"
        "Nach der Schicht\n- Licht aus\n- Tür zu"
    )
    assert titles(definition) == ["Vor der Schicht", "Nach der Schicht"]
    assert bounds(step(definition, "Kühlraum", "Temperatur")) == (2, 7, "°C")
    assert bounds(step(definition, "Kühlraum", "Feuchte")) == (75, 80, "%")


def test_what_is_forbidden_is_told_and_not_asked_for() -> None:
    assert types("Kapelle gelüftet, Kerzen angezündet. Fotos sind nicht erlaubt.") == [
        BOOLEAN,
        BOOLEAN,
        StepType.INSTRUCTION,
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "Hallo, wir betreiben eine Kletterhalle und ich hätte gerne einen Ablauf, mit dem Aushilfen die Seile prüfen: "
        "Code scannen, Mantel unbeschädigt, Enden vernäht",
        "Salut, on gère une salle et je voudrais quelque chose pour que les moniteurs vérifient les cordes : "
        "scanner le code, gaine intacte, extrémités cousues",
    ],
)
def test_a_wish_that_comes_late_in_its_sentence_is_no_step(prompt: str) -> None:
    assert types(prompt) == [StepType.SCAN, BOOLEAN, BOOLEAN]


def test_one_of_something_that_nothing_named_is_asked_for() -> None:
    definition = template("Nourrir les chiens, changer l'eau. Si un animal est malade, appeler le vétérinaire.")
    assert depends(definition, step(definition, "vétérinaire")) == ("Un animal est malade ?", "eq", True)
    definition = template("Türen prüfen, Fenster prüfen. Falls eines defekt ist, Hausmeister rufen.")
    called = step(definition, "Hausmeister").condition
    assert called is not None and called.when.any is not None


def test_a_place_has_no_verb() -> None:
    assert titles(
        template("Für die Vorstellung muss der Inspizient prüfen, ob der Vorhang schließt und ob das Licht brennt.")
    ) == ["Vorstellung"]
