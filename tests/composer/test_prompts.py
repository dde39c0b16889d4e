"""What a prompt says is in the template, in each language and in any form (docs/generating.md, "The composer").

tests/composer/evaluation holds hundreds of prompts to what a person would expect; these are the promises of the page.
"""

from typing import Any

import pytest

from checklist_composer.composing import compose
from checklist_crds.template_types import Definition, IdentityRequired, Step, StepType

BOOLEAN, NUMBER, PHOTO, TEXT = StepType.BOOLEAN, StepType.NUMBER, StepType.PHOTO, StepType.TEXT
CHOICE, RATING, SIGNATURE, DATE = StepType.CHOICE, StepType.RATING, StepType.SIGNATURE, StepType.DATE
MULTI, TIME, SCAN = StepType.MULTI_CHOICE, StepType.TIME, StepType.SCAN


def template(prompt: str) -> Definition:
    return compose(prompt).definition


def labels(prompt: str) -> list[str]:
    return [step.label for _, step in template(prompt).steps()]


def types(prompt: str) -> list[StepType]:
    return [step.type for _, step in template(prompt).steps()]


def only_step(prompt: str) -> Step:
    (found,) = (step for _, step in template(prompt).steps())
    return found


def step(definition: Definition, *words: str) -> Step:
    """The only step whose label has all of the words, whatever their capitals."""
    found = [step for _, step in definition.steps() if all(word.casefold() in step.label.casefold() for word in words)]
    assert len(found) == 1, f"{words}: {[step.label for _, step in definition.steps()]}"
    return found[0]


def titles(definition: Definition) -> list[str]:
    return [section.title for section in definition.sections]


def bounds(step: Step) -> tuple[float | None, float | None, str | None]:
    """Smallest and largest value, and the unit."""
    return step.config.min, step.config.max, step.config.unit


def options(step: Step) -> list[str]:
    return [option.label for option in step.config.options or ()]


def depends(definition: Definition, step: Step) -> tuple[str, str, Any]:
    """The label of the step that the only comparison of the condition looks at, its operator and its value; an option
    by its label.
    """
    assert step.condition is not None, f"{step.label} always applies"
    when = step.condition.when
    assert when.step is not None and when.op is not None, when
    source = next(other for _, other in definition.steps() if other.id == when.step)
    by_id = {option.id: option.label for option in source.config.options or ()}
    return source.label, when.op.value, by_id.get(when.value, when.value) if by_id else when.value


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("check doors, windows and lights", "Check doors|Check windows|Check lights"),
        ("taps cleaned, back door locked!!, alarm set", "Taps cleaned|Back door locked|Alarm set"),
        ("Türen, Fenster und Lichter prüfen", "Türen prüfen|Fenster prüfen|Lichter prüfen"),
        ("Schalten Sie das Licht aus, ziehen Sie den Stecker", "Schalten Sie das Licht aus|Ziehen Sie den Stecker"),
        ("El conductor revisa frenos, luces y claxon", "Revisa frenos|Revisa luces|Revisa claxon"),
        ("Vérifiez l'extincteur et l'éclairage", "Vérifiez l'extincteur|Vérifiez l'éclairage"),
    ],
)
def test_each_thing_that_is_listed_is_a_step_with_its_verb(prompt: str, expected: str) -> None:
    assert labels(prompt) == expected.split("|")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("fridge below 5 °C", (None, 5, "°C")),
        ("tyre pressure 2.2 to 2.6 bar", (2.2, 2.6, "bar")),
        ("hot water must be at least 60 degrees", (60, None, "°C")),
        ("oil temperature 80 ± 5 °C", (75, 85, "°C")),
        ("Fan speed >= 1,200 rpm", (1200, None, "rpm")),
        ("mileage in km", (None, None, "km")),
        ("Tiefkühler höchstens -18 Grad", (None, -18, "°C")),
        ("Humedad entre el 40 % y el 60 %", (40, 60, "%")),
        ("Profondeur des sculptures minimum 1,6 mm", (1.6, None, "mm")),
    ],
)
def test_a_quantity_is_a_number_with_its_unit_and_bounds(prompt: str, expected: tuple[object, ...]) -> None:
    found = only_step(prompt)
    assert found.type is NUMBER
    assert bounds(found) == expected


@pytest.mark.parametrize(
    "prompt", ["Tighten the bolts to 80 Nm", "Add 2 L of water", "Check for cracks or leaks", "Signed the policy?"]
)
def test_what_only_looks_like_a_number_a_choice_or_a_signature_is_a_yes_or_no(prompt: str) -> None:
    assert types(prompt) == [BOOLEAN]
    assert not template(prompt).settings.signature_on_complete


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Kitchen: wipe worktops, empty bin. Bathroom: scrub toilet, clean mirror.", ["Kitchen", "Bathroom"]),
        ("Cuisine : plaques propres, hotte sans graisse. Bureau : lampe éteinte, porte fermée.", ["Cuisine", "Bureau"]),
    ],
)
def test_places_and_titles_with_colons_make_sections(prompt: str, expected: list[str]) -> None:
    assert titles(template(prompt)) == expected


@pytest.mark.parametrize(
    "prompt",
    [
        "Is the door locked? Are the exits free?",
        "¿Está encendida la calefacción? ¿Andamio autorizado?",
        "Le chauffage est-il allumé ? Échafaudage validé ?",
    ],
)
def test_a_question_stays_in_the_writers_words(prompt: str) -> None:
    assert " ".join(labels(prompt)) == prompt
    assert types(prompt) == [BOOLEAN] * 2


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("Room number", TEXT),
        ("Describe the damage", TEXT),
        ("Expiry date of the oldest item", DATE),
        ("Time of departure", TIME),
        ("Scan the serial number", SCAN),
        ("Count the packages", NUMBER),
        ("Never open the valve under pressure", StepType.INSTRUCTION),
        ("Take a photo of the tyres", PHOTO),
        ("Wer war vor Ort?", TEXT),
        ("Contar las sillas", NUMBER),
        ("Décrire le dommage", TEXT),
    ],
)
def test_what_is_asked_decides_the_kind_of_answer(prompt: str, kind: StepType) -> None:
    assert types(prompt) == [kind]


@pytest.mark.parametrize(
    ("prompt", "kind", "expected"),
    [
        ("condition: good, worn or broken", CHOICE, ["Good", "Worn", "Broken"]),
        ("Which areas were cleaned: floor, sinks, ovens (select all that apply)", MULTI, ["Floor", "Sinks", "Ovens"]),
        ("Zustand der Treppe: gut, abgenutzt oder defekt", CHOICE, ["Gut", "Abgenutzt", "Defekt"]),
        ("Nivel de combustible (lleno, medio, vacío)", CHOICE, ["Lleno", "Medio", "Vacío"]),
        ("Quels instruments marchent : altimètre, variomètre, compas ?", MULTI, ["Altimètre", "Variomètre", "Compas"]),
    ],
)
def test_alternatives_are_a_choice(prompt: str, kind: StepType, expected: list[str]) -> None:
    found = only_step(prompt)
    assert found.type is kind
    assert options(found) == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("rate cleanliness from 1 to 5", (1, 5, None, None)),
        ("Gesamteindruck von 1 (schlecht) bis 6 (sehr gut)", (1, 6, "Schlecht", "Sehr gut")),
        ("Noter la propreté de 1 à 5", (1, 5, None, None)),
    ],
)
def test_grades_are_a_rating(prompt: str, expected: tuple[object, ...]) -> None:
    found = only_step(prompt)
    assert found.type is RATING
    assert (found.config.min, found.config.max, found.config.low_label, found.config.high_label) == expected


@pytest.mark.parametrize(
    ("prompt", "photos", "read_off", "signs"),
    [
        ("Mindestens 3 Fotos der Racks, Zählerstand mit Foto, Unterschrift des Mieters", "Racks", "Zähler", "Mieters"),
        ("Au moins 3 photos des baies, kilométrage avec photo, signature du locataire", "baies", "kilom", "locataire"),
    ],
)
def test_photos_are_steps_or_attached_and_another_persons_signature_is_a_step(
    prompt: str, photos: str, read_off: str, signs: str
) -> None:
    definition = template(prompt)
    assert (step(definition, photos).type, step(definition, photos).config.min) == (PHOTO, 3)
    measured = step(definition, read_off)
    assert measured.type is NUMBER
    assert measured.photo and measured.photo.min == 1
    assert step(definition, signs).type is SIGNATURE
    assert not definition.settings.signature_on_complete


@pytest.mark.parametrize(
    "prompt",
    [
        "Check the lights. Takes about 15 minutes. Steps may be skipped. Sign at the end.",
        "Compter la caisse. Certaines étapes peuvent être ignorées. Durée environ 15 minutes. Signature à la fin.",
    ],
)
def test_what_is_said_about_the_whole_list_is_in_its_settings(prompt: str) -> None:
    settings = template(prompt).settings
    assert (settings.allow_skip, settings.est_minutes, settings.signature_on_complete) == (True, 15, True)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Whoever fills it in must give name and e-mail.", True),
        ("Name and e-mail of the customer.", False),
    ],
)
def test_an_identity_is_asked_for_when_that_is_said_and_not_for_others_names(said: str, asked: bool) -> None:
    identity = template(f"Check the doors and the alarm. {said}").execution.identity_required
    assert (identity is IdentityRequired.EXTERNAL) is asked


@pytest.mark.parametrize(
    ("prompt", "required"),
    [
        ("Minibar refilled (optional)", False),
        ("Check the minibar if possible", False),
        ("Check the minibar", True),
        ("Opcional: anotar objetos perdidos", False),
        ("Facultatif : noter les objets trouvés", False),
    ],
)
def test_what_is_listed_is_required_unless_it_is_said_to_be_optional(prompt: str, required: bool) -> None:
    assert only_step(prompt).required is required


def test_a_place_is_taken_down_where_it_is_asked_for() -> None:
    for prompt in ("check the lights and record the GPS location", "Türen prüfen, GPS-Standort erfassen"):
        assert [step.geo for _, step in template(prompt).steps()] == [False, True]


PARCEL = "Is the parcel damaged? If so take two photos and describe the damage. If not, scan the barcode."
LADDER = "Ist die Leiter beschädigt?"


@pytest.mark.parametrize(
    ("prompt", "consequence", "expected"),
    [
        (PARCEL, "describe", ("Is the parcel damaged?", "eq", True)),
        (PARCEL, "barcode", ("Is the parcel damaged?", "eq", False)),
        ("Check the windscreen. If it is damaged take two photos.", "photos", ("Check the windscreen", "eq", False)),
        ("Condition: good, worn or broken. If it is broken, tag it out.", "tag", ("Condition", "eq", "Broken")),
        ("Check the tent. If it is raining, put up the tarp.", "tarp", ("Is it raining?", "eq", True)),
        ("- Mould visible?\n- If yes:\n  - Describe where\n- Mirror clean", "where", ("Mould visible?", "eq", True)),
        ("Falls die Leiter beschädigt ist, machen Sie zwei Fotos.", "Fotos", (LADDER, "eq", True)),
        ("Temperatur messen. Wenn sie über 27 °C liegt, Techniker rufen.", "rufen", ("Temperatur messen", "gt", 27)),
        ("Estado: bueno, desgastado o roto. Si está roto, informar al jefe.", "jefe", ("Estado", "eq", "Roto")),
        ("La vanne est-elle fermée ? Sinon, prévenir.", "prévenir", ("La vanne est-elle fermée ?", "eq", False)),
    ],
)
def test_what_depends_on_an_answer_looks_at_its_question(
    prompt: str, consequence: str, expected: tuple[object, ...]
) -> None:
    definition = template(prompt)
    assert depends(definition, step(definition, consequence)) == expected
    assert next(each for _, each in definition.steps()).condition is None


def test_any_of_several_things_decides_what_comes_after_them() -> None:
    definition = template("Check doors, windows and lights. If anything is damaged, take a photo.")
    condition = step(definition, "photo").condition
    assert condition is not None and condition.when.any is not None
    assert [(part.op, part.value) for part in condition.when.any] == [("eq", False)] * 3


@pytest.mark.parametrize(
    "prompt",
    [
        "When the guests have left: strip the beds and open the windows.",
        "Embalaje intacto (sí/no), daños sí/no, observaciones",
    ],
)
def test_a_moment_and_a_yes_or_no_are_no_condition(prompt: str) -> None:
    assert all(step.condition is None for _, step in template(prompt).steps())


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("hey can u make me a checklist for opening the café: lights on, fridge max 5 °C, a photo of the bar", "café"),
        ("bonjour il me faut une liste pour ouvrir le café : allumer les lumières, frigo max 5 degrés, merci", "café"),
    ],
)
def test_a_greeting_is_no_step_and_what_the_list_is_for_is_its_name(prompt: str, name: str) -> None:
    definition = template(prompt)
    said = {"hey", "hallo", "hola", "bonjour", "checklist", "brauch", "necesito", "faut", "danke", "gracias", "merci"}
    assert not said & {word for label in labels(prompt) for word in label.casefold().split()}
    assert name in definition.name.casefold()
    assert (None, 5, "°C") in [bounds(each) for _, each in definition.steps()]


@pytest.mark.parametrize(
    ("prompt", "locale"),
    [
        ("check the doors and the windows", "en"),
        ("Türen und Fenster prüfen", "de"),
        ("revisar las puertas y las ventanas", "es"),
        ("vérifier les portes et les fenêtres", "fr"),
    ],
)
def test_a_prompt_tells_its_language_is_not_translated_and_else_the_locale_decides(prompt: str, locale: str) -> None:
    made = compose(prompt, locale="fr")
    assert made == compose(prompt)
    assert made.locale == compose("xyz 123", locale=locale).locale == locale
    assert all(word in prompt for _, each in made.definition.steps() for word in each.label.casefold().split()[1:])


# -- pasted lists -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mark", ["- ", "* ", "•", "[ ] ", "- [x] ", "{n}. ", "{n}) ", "{a}) ", "Step {n}: ", "", "\t", "✅ ", "☐ "]
)
def test_every_line_of_a_list_is_a_step_whatever_stands_in_front(mark: str) -> None:
    lines = ["Lights off", "Door locked", "Alarm set"]
    marks = [mark.format(n=number, a="abc"[number - 1]) for number in (1, 2, 3)]
    assert labels("\r\n".join(f"{each}{line}" for each, line in zip(marks, lines, strict=True))) == lines


@pytest.mark.parametrize(
    "prompt",
    [
        "# Kitchen\n- Oven off\n- Floor clean\n# Hall\n- Door locked\n- Lamp off",
        "KITCHEN\nOven off\nFloor clean\n\nHALL\nDoor locked\nLamp off",
        "Kitchen:\n- Oven off\n- Floor clean\nHall:\n- Door locked\n- Lamp off",
        "- Kitchen\n  - Oven off\n  - Floor clean\n- Hall\n  - Door locked\n  - Lamp off",
        "1. Kitchen\n1.1 Oven off\n1.2 Floor clean\n2. Hall\n2.1 Door locked\n2.2 Lamp off",
    ],
)
def test_headings_and_nested_lists_of_pasted_text_are_sections(prompt: str) -> None:
    definition = template(prompt)
    assert [title.casefold() for title in titles(definition)] == ["kitchen", "hall"]
    assert [[step.label for step in section.steps] for section in definition.sections] == [
        ["Oven off", "Floor clean"],
        ["Door locked", "Lamp off"],
    ]


def test_a_table_has_a_step_for_each_row_and_none_for_its_header() -> None:
    definition = template("| Item | Limit |\n|---|---|\n| Fridge 1 | max 5 °C |\n| Soap | 200-400 ppm |")
    assert [bounds(step) for _, step in definition.steps()] == [(None, 5, "°C"), (200, 400, "ppm")]
    assert types("Inflow\t20-80\tm³/h\nH2S\tmax 10\tppm\nPump runs\tyes/no") == [NUMBER, NUMBER, BOOLEAN]


def test_ids_are_made_of_labels_and_no_two_are_the_same() -> None:
    definition = compose("- Door 2\n- Fridge temperature\n- Fridge temperature\n- 检查门\n- Türen prüfen!").definition
    ids = [step.id for _, step in definition.steps()]
    assert len(set(ids)) == len(ids) == 5
    assert {"s-fridge-temperature", "s-tueren-pruefen"} <= set(ids)
