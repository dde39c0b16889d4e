"""English as strangers write it: in a hurry, with greetings, in words that no table was made for."""

import pytest
from tests.composer.composed import bounds, depends, labels, options, step, template, titles, types

from checklist_composer.composing import compose
from checklist_crds.template_types import IdentityRequired, StepType

BOOLEAN, NUMBER, PHOTO, TEXT = StepType.BOOLEAN, StepType.NUMBER, StepType.PHOTO, StepType.TEXT
CHOICE, RATING, SIGNATURE = StepType.CHOICE, StepType.RATING, StepType.SIGNATURE


def test_a_text_without_any_comma_is_cut_where_quantities_answers_and_states_end() -> None:
    prompt = (
        "pond round water temp 12-18 oxygen 6 to 9 mg/l filters running y/n nets not torn feed given photo of the pond"
    )
    said = template(prompt)
    assert types(prompt) == [NUMBER, NUMBER, BOOLEAN, BOOLEAN, BOOLEAN, PHOTO]
    assert bounds(step(said, "oxygen")) == (6, 9, "mg/L")


def test_a_sentence_without_commas_that_asks_for_one_thing_stays_one() -> None:
    prompt = "Check that the doors of the big hall are closed before the last guest has left the building"
    assert labels(prompt) == [prompt]


@pytest.mark.parametrize(
    "frame",
    [
        "Dear all, please could you build me a checklist: ",
        "hey can u make me a checklist: ",
        "Hi there, we would need a checklist: ",
    ],
)
def test_what_is_said_around_a_wish_is_no_step(frame: str) -> None:
    assert labels(f"{frame}sweep the yard, feed the hens, lock the gate") == [
        "Sweep the yard",
        "Feed the hens",
        "Lock the gate",
    ]


@pytest.mark.parametrize(
    "who",
    [
        "Every morning the first person in should",
        "The milker must",
        "Every two hours someone has to",
        "Staff on duty must",
    ],
)
def test_who_checks_and_how_often_is_not_in_the_label(who: str) -> None:
    assert labels(f"{who} check the ovens, note the humidity in % and count the trays") == [
        "Check the ovens",
        "Note the humidity",
        "Count the trays",
    ]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Van: tyres, lights (ok / needs attention), horn", ["Ok", "Needs attention"]),
        ("Crates, team (A, B, C), parcel number", ["A", "B", "C"]),
        ("Name, paid by cash or card, price", ["Cash", "Card"]),
        ("Filters OK / REPLACE", ["OK", "REPLACE"]),
        ("Damage (select all that apply): dent, scratch, crack", ["Dent", "Scratch", "Crack"]),
        ("Name, phone, any of the following: asthma, epilepsy, none", ["Asthma", "Epilepsy", "None"]),
    ],
)
def test_a_choice_is_known_by_its_form(prompt: str, expected: list[str]) -> None:
    chosen = [found for _, found in template(prompt).steps() if found.config.options]
    assert [options(found) for found in chosen] == [expected]


def test_the_ends_of_a_rating_may_be_all_that_is_said_of_it() -> None:
    rated = step(template("How satisfied are you (1 = not at all, 5 = very)? Would you come back?"), "satisfied")
    assert (rated.type, rated.config.min, rated.config.max) == (RATING, 1, 5)
    assert (rated.config.low_label, rated.config.high_label) == ("Not at all", "Very")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Check the freezer is minus 18 °C or colder, cones stocked", (None, -18, "°C")),
        ("Fridge max 5 C, floor clean", (None, 5, "°C")),
        ("Mains 230 V ± 10 %, fuses in place", (207, 253, "V")),
    ],
)
def test_quantities_are_read_as_people_type_them(prompt: str, expected: tuple[float | None, float, str]) -> None:
    number = next(found for _, found in template(prompt).steps() if found.type is NUMBER)
    assert bounds(number) == expected


def test_numbers_that_only_name_things_are_no_quantity() -> None:
    assert set(types("- Doors 1-4 open\n- Bell works\n- Horn works")) == {BOOLEAN}


def test_a_count_with_a_fraction_behind_it_is_a_valid_template() -> None:
    assert template("how many fish ph 8.1 to 8.4").steps()


def test_a_condition_within_a_list_belongs_to_one_thing_of_it() -> None:
    said = template("Sweep the path, water the beds if dry, rake the leaves, close the gate")
    assert depends(said, step(said, "water the beds"))[2] is True
    assert [found.label for _, found in said.steps() if found.condition is not None] == ["Water the beds"]


def test_otherwise_at_the_end_of_a_list_is_when_something_of_it_fails() -> None:
    said = template("Drains not blocked and the vacuum works, otherwise call maintenance")
    assert step(said, "call maintenance").condition is not None


def test_slashes_between_what_is_written_down_separate_it() -> None:
    assert types("recipient name / plate / mileage / photo of the dent / customer signature") == [
        TEXT,
        TEXT,
        NUMBER,
        PHOTO,
        SIGNATURE,
    ]


def test_a_table_says_what_kind_of_answer_each_row_has() -> None:
    said = template("site ID;text;required\nlamp works;yes/no;required\ncomments;text;optional\ncode;text;required")
    assert [(found.type, found.required) for _, found in said.steps()] == [
        (TEXT, True),
        (BOOLEAN, True),
        (TEXT, False),
        (TEXT, True),
    ]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Whoever fills it in must give name and e-mail.", True),
        ("The person filling this out has to identify themselves.", True),
        ("Name and e-mail of the customer.", False),
        ("Driver name required.", False),
    ],
)
def test_who_fills_it_in_is_asked_for_when_that_is_said_and_not_for_others_names(said: str, asked: bool) -> None:
    definition = template(f"Check the doors and the alarm. {said}")
    external = definition.execution.identity_required is IdentityRequired.EXTERNAL
    assert external is asked


def test_a_place_in_a_list_of_things_is_no_text() -> None:
    prompt = "Kitchen: floor, stove, sink. Hall: floor, mirror, lamps."
    assert titles(template(prompt)) == ["Kitchen", "Hall"]
    assert set(types(prompt)) == {BOOLEAN}


def test_a_signature_of_somebody_else_is_a_step() -> None:
    said = template("Glass intact, lid closed, signature of the courier")
    assert step(said, "courier").type is SIGNATURE
    assert not said.settings.signature_on_complete


@pytest.mark.parametrize(("prompt", "locale"), [("RTW Check", "de"), ("audit 5S", "fr"), ("5S audit", "en")])
def test_the_name_of_a_job_tells_its_language_by_its_other_word_and_their_order(prompt: str, locale: str) -> None:
    assert compose(prompt).locale == locale


def test_the_name_of_a_procedure_is_behind_the_colon() -> None:
    prompt = "Procedure: freeing people from a lift\n1. Switch off the main switch\n2. Open the door\n3. Help them out"
    assert template(prompt).name == "Freeing people from a lift"
