"""Pasted lists of any look: bullets, numbers, letters, headings, tables, forms to fill in, emoji, bare lines."""

from importlib.resources import files

import pytest
import yaml
from tests.composer.composed import bounds, depends, labels, options, section, step, template, titles

from checklist_composer.language import language_of
from checklist_composer.language_detection import detect
from checklist_composer.locales import LOCALES
from checklist_composer.reading.outline import Kind, clean, outline
from checklist_composer.reading.words import Words
from checklist_crds.template_types import StepType

THREE = ["Lights off", "Door locked", "Alarm set"]


@pytest.mark.parametrize(
    "prompt",
    [
        "- Lights off\n- Door locked\n- Alarm set",
        "* Lights off\n* Door locked\n* Alarm set",
        "•Lights off\n•Door locked\n•Alarm set",
        "[ ] Lights off\n[x] Door locked\n[ ] Alarm set",
        "- [ ] Lights off\n- [ ] Door locked\n- [ ] Alarm set",
        "1. Lights off\n2. Door locked\n3. Alarm set",
        "1) Lights off\n2) Door locked\n3) Alarm set",
        "a) Lights off\nb) Door locked\nc) Alarm set",
        "Step 1: Lights off\nStep 2: Door locked\nStep 3: Alarm set",
        "Lights off\nDoor locked\nAlarm set",
        "\tLights off\r\n\tDoor locked\r\n\tAlarm set\r\n",
        "✅ Lights off\n✅ Door locked\n✅ Alarm set",
        "☐ Lights off\n☐ Door locked\n☐ Alarm set",
    ],
)
def test_every_line_of_a_list_is_a_step_whatever_stands_in_front(prompt: str) -> None:
    assert labels(prompt) == THREE


def test_an_item_with_commas_is_still_one_thing() -> None:
    assert labels("- Floor, walls and ceiling clean\n- Door locked\n- Alarm set")[0] == "Floor, walls and ceiling clean"


@pytest.mark.parametrize(
    "prompt",
    [
        "# Kitchen\n- Oven off\n- Floor clean\n# Hall\n- Door locked\n- Lamp off",
        "**Kitchen**\n- Oven off\n- Floor clean\n**Hall**\n- Door locked\n- Lamp off",
        "KITCHEN\nOven off\nFloor clean\n\nHALL\nDoor locked\nLamp off",
        "Kitchen:\n- Oven off\n- Floor clean\nHall:\n- Door locked\n- Lamp off",
        "- Kitchen\n  - Oven off\n  - Floor clean\n- Hall\n  - Door locked\n  - Lamp off",
        "1. Kitchen\n1.1 Oven off\n1.2 Floor clean\n2. Hall\n2.1 Door locked\n2.2 Lamp off",
        "1. Kitchen\n- Oven off\n- Floor clean\n2. Hall\n- Door locked\n- Lamp off",
        "Kitchen\nOven off\nFloor clean\n\nHall\nDoor locked\nLamp off",
    ],
)
def test_headings_of_pasted_text_are_sections(prompt: str) -> None:
    definition = template(prompt)
    assert [title.casefold() for title in titles(definition)] == ["kitchen", "hall"]
    assert [[step.label for step in section.steps] for section in definition.sections] == [
        ["Oven off", "Floor clean"],
        ["Door locked", "Lamp off"],
    ]


def test_an_item_among_steps_stays_a_step_though_others_stand_below_it() -> None:
    definition = template("1) Power off\n2) Replace filters\n   a. Note filter size\n3) Clean the pan\n4) Power on")
    assert len(definition.sections) == 1
    assert [step.label for _, step in definition.steps()] == [
        "Power off", "Replace filters", "Note filter size", "Clean the pan", "Power on",
    ]  # fmt: skip


def test_items_below_a_condition_depend_on_it() -> None:
    definition = template("- Mould visible?\n- If yes:\n  - Take 2 photos\n  - Describe where\n- Mirror clean")
    assert depends(definition, step(definition, "photos")) == ("Mould visible?", "eq", True)
    assert depends(definition, step(definition, "describe")) == ("Mould visible?", "eq", True)
    assert step(definition, "mirror").condition is None


def test_an_item_that_goes_on_in_the_next_line_is_one() -> None:
    prompt = (
        "1. All employees wear clean work clothes and hair nets, also\nthe ones in the yard\n2. Hands washed\n3. Done"
    )
    assert len(labels(prompt)) == 3


def test_a_wrapped_paragraph_is_read_as_one_text() -> None:
    prompt = (
        "Please check the doors and the windows of the hall before you leave, and make\n"
        "sure that the alarm is armed and the lights of the whole building are turned\noff."
    )
    assert labels(prompt)[:2] == ["Check the doors", "Check the windows of the hall before you leave"]
    assert [block.kind for block in outline(clean(prompt))] == [Kind.TEXT]


def test_a_table_has_a_step_for_each_row_and_none_for_its_header() -> None:
    definition = template(
        "| Item | Limit |\n|---|---|\n| Fridge 1 | max 5 °C |\n| Freezer | -18 °C or below |\n| Soap | 200-400 ppm |"
    )
    assert [bounds(step) for _, step in definition.steps()] == [(None, 5, "°C"), (None, -18, "°C"), (200, 400, "ppm")]
    tabs = template("Inflow\t20-80\tm³/h\nH2S\tmax 10\tppm\nPump runs\tyes/no")
    assert [step.type for _, step in tabs.steps()] == [StepType.NUMBER, StepType.NUMBER, StepType.BOOLEAN]


def test_a_form_to_fill_in_asks_for_its_fields() -> None:
    definition = template(
        "BOILER SERVICE SHEET\nCustomer name: ______________\nDate: ____/____/____\nGas pressure: ______ mbar\n"
        "Leaks found:  [ ] yes  [ ] no\nBurner condition:  ( ) good  ( ) dirty  ( ) replace\nComments: ______"
    )
    assert [step.type for _, step in definition.steps()] == [
        StepType.TEXT, StepType.DATE, StepType.NUMBER, StepType.BOOLEAN, StepType.CHOICE, StepType.TEXT,
    ]  # fmt: skip
    assert options(step(definition, "burner")) == ["Good", "Dirty", "Replace"]
    assert definition.name == "BOILER SERVICE SHEET"


def test_a_title_in_front_of_lines_names_the_list() -> None:
    definition = template("Campervan return\nFresh water tank full\nGas bottle closed\nToilet clean")
    assert definition.name == "Campervan return"
    assert len(section(definition, "Campervan return").steps) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("check the doors and the windows", "en"),
        ("Türen und Fenster prüfen", "de"),
        ("revisar las puertas y las ventanas", "es"),
        ("vérifier les portes et les fenêtres", "fr"),
        ("Wohnungsübergabe", "de"),
    ],
)
def test_a_text_tells_its_language(text: str, expected: str) -> None:
    assert detect(text) == expected


@pytest.mark.parametrize("locale", LOCALES)
def test_a_text_that_tells_no_language_has_the_one_that_is_asked_for(locale: str) -> None:
    assert detect("xyz 123", locale) == locale  # type: ignore[arg-type]


def test_every_language_has_all_texts_and_the_roles_that_english_has() -> None:
    english = language_of("en")
    for locale in LOCALES:
        language = language_of(locale)
        assert english.texts.keys() == language.texts.keys()
        assert english.quantities.keys() <= language.quantities.keys()
        assert roles(locale) == roles("en"), "a rule that asks for a role no table has does nothing in that language"


def roles(locale: str) -> set[str]:
    text = files("checklist_composer").joinpath("languages", f"{locale}.yaml").read_text(encoding="utf-8")
    return set(yaml.load(text, Loader=yaml.BaseLoader)["words"])


def test_words_that_were_taken_out_leave_no_gap_in_the_text() -> None:
    words = Words(language_of("en"), "Check the fridge (optional), please.").span()
    assert words.without(3, 6).text == "Check the fridge, please."


def test_a_phrase_is_found_in_any_form_of_its_words_but_not_across_a_cut() -> None:
    span = Words(language_of("en"), "Make sure that doors are closed").span()
    assert span.at("confirm") == 3
    assert span.without(1, 2).at("confirm") == 0
