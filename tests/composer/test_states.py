"""States that exclude each other are a choice; those that hold together are things to see to."""

import pytest
from tests.composer.composed import depends, labels, options, step, template, types

from checklist_crds.template_types import StepType


@pytest.mark.parametrize(
    ("prompt", "words", "expected"),
    [
        (
            "Check the spine. Cover: intact, slightly torn, badly torn. Pages there.",
            "Cover",
            ["Intact", "Slightly torn", "Badly torn"],
        ),
        (
            "Check the harness. Condition of the webbing: new, faded, needs discarding. Stitching holds.",
            "webbing",
            ["New", "Faded", "Needs discarding"],
        ),
        (
            "- Belt: too loose, right, too tight\n- Guard fitted\n- Oil topped up",
            "Belt",
            ["Too loose", "Right", "Too tight"],
        ),
        (
            "Riemen prüfen. Zustand beurteilen: sauber, leicht verstaubt, stark verstaubt.",
            "Zustand",
            ["Sauber", "Leicht verstaubt", "Stark verstaubt"],
        ),
        (
            "- Tiles missing? yes / no / not visible\n- Gutter free\n- Ladder back",
            "Tiles",
            ["Yes", "No", "Not visible"],
        ),
        (
            "Doors locked, lights off. Say who has the key (landlord, neighbour, agency).",
            "key",
            ["Landlord", "Neighbour", "Agency"],
        ),
        (
            "Volets fermés. Indiquer à qui la clé a été rendue (gérant, voisin, agence).",
            "clé",
            ["Gérant", "Voisin", "Agence"],
        ),
        ("Revisar el botiquín. Indicar qué medidas de venda hay: 5, 7, 10.", "venda", ["5", "7", "10"]),
    ],
)
def test_what_cannot_hold_together_is_a_choice(prompt: str, words: str, expected: list[str]) -> None:
    definition = template(prompt)
    found = step(definition, words)
    assert found.type in {StepType.CHOICE, StepType.MULTI_CHOICE}
    assert options(found) == expected


def test_what_holds_together_is_no_choice() -> None:
    assert StepType.CHOICE not in types("Tent poles: straight, clean, dry. Pegs counted, bag closed.")


def test_the_state_in_a_case_is_an_option() -> None:
    definition = template(
        "1. Filter herausnehmen, Zustand beurteilen: sauber, leicht verstaubt, stark verstaubt\n"
        "2. Bei starker Verstaubung Ersatz bestellen\n3. Gehäuse schließen"
    )
    assert depends(definition, step(definition, "Ersatz")) == ("Zustand beurteilen", "eq", "Stark verstaubt")


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("- order no\n- lamp on\n- door shut", StepType.TEXT),
        ("- last serviced on\n- lamp on\n- door shut", StepType.DATE),
        ("- tag (scan it)\n- lamp on\n- door shut", StepType.SCAN),
        ("- Numéro d'amarrage\n- lampe allumée\n- porte fermée", StepType.TEXT),
        ("- zuletzt gewartet am\n- Lampe an\n- Tür zu", StepType.DATE),
        ("- pump hours noted\n- lamp on\n- door shut", StepType.NUMBER),
        ("- Diesel used, litres\n- lamp on\n- door shut", StepType.NUMBER),
        ("- chairs counted\n- lamp on\n- door shut", StepType.NUMBER),
    ],
)
def test_a_noun_asks_for_what_it_names(prompt: str, kind: StepType) -> None:
    assert types(prompt)[0] == kind


@pytest.mark.parametrize(
    ("item", "unit", "low", "high"),
    [
        ("line pressure (bar), min. 6", "bar", 6, None),
        ("room temperature (°C) 15-25", "°C", 15, 25),
        ("boat speed in knots, not above 8", "kn", None, 8),
        ("wind below 12 kn", "kn", None, 12),
        ("pull below 12 kN", "kN", None, 12),
        ("slope in degrees, at most 3", "°", None, 3),
    ],
)
def test_a_unit_and_its_bound_may_stand_apart(item: str, unit: str, low: float | None, high: float | None) -> None:
    config = template(f"- {item}\n- lamp on\n- door shut").sections[0].steps[0].config
    assert (config.unit, config.min, config.max) == (unit, low, high)


def test_a_limit_of_time_in_a_question_and_numbers_of_steps_are_no_numbers() -> None:
    assert types("Does the door close within 10 seconds? Lamp on?")[0] == StepType.BOOLEAN
    prompt = "1. Sand the surface\n2. Is the film uneven? If so, repeat steps 1 to 2\n3. Lid closed"
    assert types(prompt) == [StepType.BOOLEAN] * 4
    assert "Repeat steps 1 to 2" in labels(prompt)


def test_what_all_is_required_but_for_is_a_step_that_is_not() -> None:
    definition = template(
        "Enter the batch number and the moisture in %. All fields are mandatory except the comment at the end."
    )
    assert [(each.label, each.required) for _, each in definition.steps()] == [
        ("Enter the batch number", True), ("Enter the moisture", True), ("Comment", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "minutes"),
    [("Half an hour tops.", 30), ("15 mins max.", 15), ("It should not take more than 20 minutes.", 20)],
)
def test_how_long_it_takes_is_no_step(said: str, minutes: int) -> None:
    definition = template(f"Check doors, blinds and taps. {said}")
    assert definition.settings.est_minutes == minutes
    assert len(list(definition.steps())) == 3


def test_photos_have_a_least_and_a_most() -> None:
    definition = template("Photograph the facade (2 photos at least, 6 at most), windows closed.")
    photo = step(definition, "facade")
    assert (photo.config.min, photo.config.max) == (2, 6)
    definition = template("Take a picture of each tyre (four in total), windows closed.")
    assert step(definition, "tyre").config.min == 4
