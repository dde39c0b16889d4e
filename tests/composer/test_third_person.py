"""Sentences that tell who does what, and when: the steps are what is done, the occasion is no more than the name."""

import pytest
from tests.composer.composed import labels, step, template, types

from checklist_crds.template_types import StepType


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            "After each class the coach records the room number, wipes the mats and locks the cupboard.",
            ["Record the room number", "Wipe the mats", "Lock the cupboard"],
        ),
        (
            "Every hour the guard checks the padlock, shines a torch behind the shed, and looks for footprints.",
            ["Check the padlock", "Shine a torch behind the shed", "Look for footprints"],
        ),
        (
            "When a kayak comes back, the clerk notes the number, rinses the hull and takes a photo of the rudder.",
            ["Note the number", "Rinse the hull", "Take a photo of the rudder"],
        ),
        (
            "Before the parade the marshal walks the route: barriers placed, drains covered, exits free.",
            ["Barriers placed", "Drains covered", "Exits free"],
        ),
    ],
)
def test_what_somebody_does_is_what_is_asked_for(prompt: str, expected: list[str]) -> None:
    assert labels(prompt) == expected


@pytest.mark.parametrize("prompt", ["The alarm rings the office. Doors closed.", "The pump starts the cycle. Lamp on."])
def test_what_a_machine_does_is_no_instruction(prompt: str) -> None:
    assert labels(prompt)[0] == prompt.split(".", maxsplit=1)[0]


def test_the_occasion_is_the_name() -> None:
    assert (
        template("Before the parade the marshal checks the ropes, opens the gate and counts the bands.").name
        == "Parade"
    )


@pytest.mark.parametrize(
    ("prompt", "name", "first"),
    [
        ("Lecture hall 4, after the talk: board wiped, projector off, doors locked.", "Lecture hall 4", "Board wiped"),
        ("Gallery, start of each day. Lights on, ropes up, guards present.", "Gallery", "Lights on"),
    ],
)
def test_a_place_and_an_occasion_are_the_name(prompt: str, name: str, first: str) -> None:
    assert template(prompt).name == name
    assert labels(prompt)[0] == first


def test_a_shared_verb_that_may_be_a_noun_is_still_one() -> None:
    assert types("Note the batch and the renter, doors closed.")[:2] == [StepType.TEXT, StepType.TEXT]


def test_whoever_signs_is_not_whoever_fills_it_in() -> None:
    definition = template("Count the chairs. The tenant checks the keys and signs the protocol.")
    assert definition.settings.signature_on_complete or step(definition, "The tenant").type is StepType.SIGNATURE
