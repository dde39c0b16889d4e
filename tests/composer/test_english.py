"""English wishes: lists, sections, quantities, choices, ratings, photos, signatures, conditions, and the whole list."""

import pytest
from tests.composer.composed import bounds, depends, labels, options, section, step, template, titles, types

from checklist_crds.template_types import StepType

BOOLEAN, NUMBER, PHOTO, TEXT = StepType.BOOLEAN, StepType.NUMBER, StepType.PHOTO, StepType.TEXT
CHOICE, RATING, SIGNATURE = StepType.CHOICE, StepType.RATING, StepType.SIGNATURE


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("check doors, windows and lights", ["Check doors", "Check windows", "Check lights"]),
        ("Please check the doors and the windows.", ["Check the doors", "Check the windows"]),
        (
            "Switch off the oven, lock the door and set the alarm",
            ["Switch off the oven", "Lock the door", "Set the alarm"],
        ),
        ("Check that the floor is clean and dry", ["Check that the floor is clean and dry"]),
        (
            "Make sure all windows, doors and gates are closed and the alarm is armed",
            [
                "Make sure all windows are closed",
                "Make sure doors are closed",
                "Make sure gates are closed",
                "Make sure the alarm is armed",
            ],
        ),
        ("taps cleaned, back door locked!!, alarm set", ["Taps cleaned", "Back door locked", "Alarm set"]),
        ("Check health and safety, then sweep the yard", ["Check health and safety", "Sweep the yard"]),
    ],
)
def test_each_thing_that_is_listed_is_a_question_of_its_own(prompt: str, expected: list[str]) -> None:
    assert labels(prompt) == expected
    assert set(types(prompt)) == {BOOLEAN}


def test_a_word_that_is_a_noun_as_well_is_no_verb_for_the_others() -> None:
    assert labels("grease points, air filter, belts tight") == ["Grease points", "Air filter", "Belts tight"]
    assert labels("water temp ok, skimmers emptied, pump running")[1:] == ["Skimmers emptied", "Pump running"]


def test_titles_with_colons_make_sections() -> None:
    definition = template("Kitchen: wipe worktops, empty bin. Bathroom: scrub toilet, clean mirror, refill soap.")
    assert titles(definition) == ["Kitchen", "Bathroom"]
    assert [step.label for step in section(definition, "Bathroom").steps] == [
        "Scrub toilet",
        "Clean mirror",
        "Refill soap",
    ]


def test_places_in_front_of_what_is_done_there_make_sections() -> None:
    definition = template("In the kitchen check the oven and the hob. In the bathroom test the hot water.")
    assert titles(definition) == ["Kitchen", "Bathroom"]
    assert [step.label for step in section(definition, "Kitchen").steps] == ["Check the oven", "Check the hob"]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("fridge below 5 °C", (None, 5, "°C")),
        ("tyre pressure 2.2 to 2.6 bar", (2.2, 2.6, "bar")),
        ("Check that the freezer is at most -18 °C", (None, -18, "°C")),
        ("humidity between 40 and 60 %", (40, 60, "%")),
        ("hot water must be at least 60 degrees", (60, None, "°C")),
        ("battery voltage above 12.4 V", (12.4, None, "V")),
        ("oil temperature 80 ± 5 °C", (75, 85, "°C")),
        ("Fan speed >= 1,200 rpm", (1200, None, "rpm")),
        ("oven temp 230f or more", (230, None, "°F")),
        ("chlorine 1-3 ppm", (1, 3, "ppm")),
        ("pH between 7.2 and 7.6", (7.2, 7.6, None)),
        ("wind speed max 10 m/s", (None, 10, "m/s")),
        ("noise level under 85 dB", (None, 85, "dB")),
        ("mileage in km", (None, None, "km")),
        ("gas pressure (mbar)", (None, None, "mbar")),
        ("diesel %", (None, None, "%")),
        ("workplace light at least 500 lux", (500, None, "lux")),
    ],
)
def test_a_quantity_is_a_number_with_its_unit_and_bounds(prompt: str, expected: tuple[object, ...]) -> None:
    (found,) = template(prompt).sections[0].steps
    assert found.type is NUMBER
    assert bounds(found) == expected


def test_the_label_of_a_number_says_what_is_measured_and_the_hint_what_it_should_be() -> None:
    (fridge,) = template("fridge below 5 °C").sections[0].steps
    assert (fridge.label, fridge.hint, fridge.id) == ("Fridge temperature", "Below 5 °C", "s-fridge-temperature")
    (level,) = template("AdBlue level in %").sections[0].steps
    assert level.label == "AdBlue level"


def test_a_sentence_about_the_thing_before_bounds_it() -> None:
    (water,) = template("Test the hot water. It must be at least 60 °C.").sections[0].steps
    assert (water.type, *bounds(water)) == (NUMBER, 60, None, "°C")


@pytest.mark.parametrize(
    "prompt",
    ["Tighten the bolts to 80 Nm", "Wait 10 minutes", "No people within 50 m", "Add 2 L of water", "12 tables set"],
)
def test_a_number_that_belongs_to_what_is_done_asks_for_no_number(prompt: str) -> None:
    assert types(prompt) == [BOOLEAN]


def test_qualities_of_one_noun_are_numbers_of_their_own() -> None:
    prompt = "Record current, minimum and maximum temperature"
    assert types(prompt) == [NUMBER] * 3
    assert [label.split()[-2].casefold() for label in labels(prompt)] == ["current", "minimum", "maximum"]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("condition: good, worn or broken", ["Good", "Worn", "Broken"]),
        ("Fuel level (full, three quarters, half or low)", ["Full", "Three quarters", "Half", "Low"]),
        ("The seal is either intact or opened", ["Intact", "Opened"]),
        ("Soot level: low / medium / high", ["Low", "Medium", "High"]),
        ("Is the tank full, half full or empty?", ["Full", "Half full", "Empty"]),
        ("Is the light on or off?", ["On", "Off"]),
        ("Mark the state as good, fair or poor", ["Good", "Fair", "Poor"]),
        ("Mattress: new, good, stained", ["New", "Good", "Stained"]),
    ],
)
def test_alternatives_are_a_choice(prompt: str, expected: list[str]) -> None:
    (found,) = template(prompt).sections[0].steps
    assert found.type is CHOICE
    assert options(found) == expected


@pytest.mark.parametrize("prompt", ["Check for cracks or leaks", "Are there cracks or leaks?", "Door locked? (yes/no)"])
def test_a_question_with_two_answers_is_no_choice(prompt: str) -> None:
    assert types(prompt) == [BOOLEAN]


def test_several_of_the_alternatives_can_be_chosen_where_it_is_said() -> None:
    (found,) = template("Which areas were cleaned: floor, sinks, ovens (select all that apply)").sections[0].steps
    assert found.type is StepType.MULTI_CHOICE
    assert options(found) == ["Floor", "Sinks", "Ovens"]


def test_pass_and_fail_are_the_answers_of_a_question() -> None:
    (found,) = template("Brake test: pass or fail").sections[0].steps
    assert (found.type, found.config.true_label, found.config.false_label) == (BOOLEAN, "Pass", "Fail")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("rate cleanliness from 1 to 5", (1, 5, None, None)),
        ("Tidiness (1-10)", (1, 10, None, None)),
        ("First impression, 1 to 5 stars", (1, 5, None, None)),
        ("Rate the taste from 1 (bad) to 6 (excellent)", (1, 6, "Bad", "Excellent")),
        ("How satisfied are you, from 1 (very unhappy) to 5 (very happy)?", (1, 5, "Very unhappy", "Very happy")),
        ("pain on a scale from 0 to 10", (0, 10, None, None)),
    ],
)
def test_grades_are_a_rating(prompt: str, expected: tuple[object, ...]) -> None:
    (found,) = template(prompt).sections[0].steps
    assert found.type is RATING
    assert (found.config.min, found.config.max, found.config.low_label, found.config.high_label) == expected


def test_things_that_are_rated_alike_have_a_rating_each() -> None:
    definition = template("Rate the following from 1 to 10: cleanliness, friendliness, food quality.")
    assert [(step.type, step.label, step.config.max) for _, step in definition.steps()] == [
        (RATING, "Cleanliness", 10),
        (RATING, "Friendliness", 10),
        (RATING, "Food quality", 10),
    ]


@pytest.mark.parametrize(
    ("prompt", "fewest", "most"),
    [
        ("Take a photo of the tyres", 1, None),
        ("at least 3 photos of the room", 3, None),
        ("two pictures of the damage", 2, None),
        ("Attach up to 5 photos", 1, 5),
        ("photograph the assembled furniture", 1, None),
        ("2 pics of display", 2, None),
    ],
)
def test_photos_that_are_asked_for_by_themselves_are_a_photo_step(prompt: str, fewest: int, most: int | None) -> None:
    (found,) = template(prompt).sections[0].steps
    assert found.type is PHOTO
    assert (found.config.min, found.config.max) == (fewest, most)


@pytest.mark.parametrize(
    "prompt",
    [
        "Check the tyres with a photo",
        "Check the tyres (photo)",
        "Check the tyres and take a photo of them",
        "Check the tyres + photo",
        "- Check the tyres, photo of the tread\n- Horn works\n- Lights work",
    ],
)
def test_a_photo_of_what_was_named_is_attached_to_it(prompt: str) -> None:
    tyres = step(template(prompt), "tyres")
    assert tyres.type is BOOLEAN
    assert tyres.photo and tyres.photo.min == 1


def test_a_photo_of_each_is_attached_to_all_that_was_listed() -> None:
    definition = template("Check doors, windows and lights and take a photo of each")
    assert [bool(step.photo) for _, step in definition.steps()] == [True, True, True]


def test_who_fills_it_in_signs_the_list_and_others_sign_a_step() -> None:
    own = template("Check the lights. Sign at the end.")
    assert own.settings.signature_on_complete
    assert [step.type for _, step in own.steps()] == [BOOLEAN]
    other = template("Check the furniture and let the customer sign.")
    assert not other.settings.signature_on_complete
    assert [step.type for _, step in other.steps()] == [BOOLEAN, SIGNATURE]


@pytest.mark.parametrize(
    "prompt", ["Check the exit signs", "- parking signs\n- chairs\n- tables", "Signed the policy?"]
)
def test_signs_and_what_was_signed_are_no_signatures(prompt: str) -> None:
    definition = template(prompt)
    assert not definition.settings.signature_on_complete
    assert {step.type for _, step in definition.steps()} == {BOOLEAN}


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("Room number", TEXT),
        ("Name of the guard", TEXT),
        ("Describe the damage", TEXT),
        ("Who is responsible on site?", TEXT),
        ("What could we do better?", TEXT),
        ("Expiry date of the oldest item", StepType.DATE),
        ("When was it last serviced?", StepType.DATE),
        ("Time of departure", StepType.TIME),
        ("Scan the serial number", StepType.SCAN),
        ("Barcode of the box", StepType.SCAN),
        ("How many guests are there?", NUMBER),
        ("Count the packages", NUMBER),
        ("Number of keys handed over", NUMBER),
        ("Never open the valve under pressure", StepType.INSTRUCTION),
        ("Everything labelled with a date", BOOLEAN),
        ("Is the door locked?", BOOLEAN),
    ],
)
def test_what_is_asked_decides_the_kind_of_answer(prompt: str, kind: StepType) -> None:
    assert types(prompt) == [kind]


def test_a_place_is_taken_down_where_it_is_asked_for() -> None:
    (found,) = template("Record the GPS location").sections[0].steps
    assert found.geo
    assert step(template("Photograph the car, check the lights and record the location"), "location").geo


@pytest.mark.parametrize(
    ("prompt", "required"),
    [
        ("Minibar refilled (optional)", False),
        ("Optionally check the minibar", False),
        ("Check the minibar if possible", False),
        ("Check the minibar. This is optional.", False),
        ("Check the minibar (required)", True),
        ("Check the minibar", True),
        ("Remarks", False),
    ],
)
def test_what_is_listed_is_required_unless_it_is_said_to_be_optional(prompt: str, required: bool) -> None:
    (found,) = template(prompt).sections[0].steps
    assert found.required is required


def test_what_alone_is_mandatory_leaves_the_rest_optional() -> None:
    definition = template("Employee name, desk number, car park number. Only the employee name is mandatory.")
    assert [step.required for _, step in definition.steps()] == [True, False, False]


def test_what_is_said_about_the_whole_list_is_in_its_settings() -> None:
    settings = template("Lawn mown, hedge trimmed. It takes about 45 minutes. Steps may be skipped.").settings
    assert (settings.est_minutes, settings.allow_skip) == (45, True)
    assert template("Check the doors. Allow one and a half hours.").settings.est_minutes == 90
    assert not template("Check the doors. No skipping.").settings.allow_skip


def test_a_question_decides_what_comes_after_it() -> None:
    definition = template(
        "Is the parcel damaged? If so take two photos and describe the damage. If not, scan the barcode."
    )
    for words, answer in (("photos", True), ("describe", True), ("barcode", False)):
        assert depends(definition, step(definition, words)) == ("Is the parcel damaged?", "eq", answer)


def test_a_check_that_fails_decides_what_comes_after_it() -> None:
    definition = template("Check the windscreen. If it is damaged take two photos and describe the damage.")
    assert depends(definition, step(definition, "photos")) == ("Check the windscreen", "eq", False)


def test_an_option_decides_what_comes_after_it() -> None:
    definition = template("Condition of the ladder: good, worn or broken. If it is broken, tag it out.")
    assert depends(definition, step(definition, "tag")) == ("Condition of the ladder", "eq", "Broken")
    case = template("Type of accident: collision, wildlife or theft. For a collision ask for the licence plate.")
    assert depends(case, step(case, "plate")) == ("Type of accident", "eq", "Collision")


def test_a_number_decides_what_comes_after_it_and_stays_free_to_be_wrong() -> None:
    definition = template("Fridge temperature below 5 °C. If it is above 8 °C call the manager, otherwise sign here.")
    fridge = step(definition, "fridge")
    assert depends(definition, step(definition, "manager")) == (fridge.label, "gt", 8)
    assert depends(definition, step(definition, "sign")) == (fridge.label, "lte", 8)
    assert fridge.config.max is None
    assert fridge.hint == "Below 5 °C"


def test_any_of_several_things_decides_what_comes_after_them() -> None:
    definition = template("Check doors, windows and lights. If anything is damaged, take a photo.")
    condition = step(definition, "photo").condition
    assert condition is not None and condition.when.any is not None
    assert [(part.op, part.value) for part in condition.when.any] == [("eq", False)] * 3


def test_what_nobody_asked_is_asked_before_something_depends_on_it() -> None:
    definition = template("Check the tent. If it is raining, put up the tarp.")
    assert depends(definition, step(definition, "tarp")) == ("Is it raining?", "eq", True)


def test_a_moment_is_no_condition() -> None:
    definition = template("When the guests have left: strip the beds and open the windows.")
    assert [(step.label, step.condition) for _, step in definition.steps()] == [
        ("Strip the beds", None),
        ("Open the windows", None),
    ]


def test_a_condition_in_parentheses_is_one() -> None:
    definition = template("- Chairs aligned\n- Tables set\n- Torches lit (only if dark)")
    assert depends(definition, step(definition, "torches"))[1:] == ("eq", True)


def test_sentences_that_only_tell_something_ask_for_nothing() -> None:
    definition = template("Hi there! We run a small bakery. Check the oven and the fridge. Thanks!")
    assert [step.label for _, step in definition.steps()] == ["Check the oven", "Check the fridge"]


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("Create a weekly greenhouse checklist with door closed and heater off", "Weekly greenhouse checklist"),
        ("Chimney inspection. Soot removed? Flap free?", "Chimney inspection"),
        ("First aid box: seal intact, gloves available, plasters available", "First aid box"),
        ("Hall: chairs aligned, floor swept. Stage: lights on, cables taped.", "Hall, Stage"),
        ("Zip line ready, harness clean, helmets dry", "Zip line ready, harness clean, helmets dry"),
    ],
)
def test_a_list_is_named_after_what_it_is_about(prompt: str, name: str) -> None:
    assert template(prompt).name == name


@pytest.mark.parametrize(
    "sentence", ["Nothing is mandatory except the employee name.", "Everything is optional but the employee name."]
)
def test_everything_but_one_thing_is_optional(sentence: str) -> None:
    definition = template(f"Employee name, desk number, car park number. {sentence}")
    assert [step.required for _, step in definition.steps()] == [True, False, False]


def test_an_or_that_belongs_to_a_bound_makes_no_choice() -> None:
    definition = template("Hot holding: soup above 140 °F, chicken 165 °F or higher, salad bar 41 °F or colder")
    assert [bounds(step) for _, step in definition.steps()] == [(140, None, "°F"), (165, None, "°F"), (None, 41, "°F")]
