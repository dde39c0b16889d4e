"""What a wish says itself, put into the library's list: enriched or added, nothing twice, nothing lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checklist_composer.draft import Draft, DraftComparison, DraftCondition, DraftSection, DraftStep
from checklist_composer.finishing import finish
from checklist_composer.library import domain, domain_files
from checklist_composer.library_draft import library_draft
from checklist_composer.locales import LOCALES, Locale
from checklist_composer.merging import MOST_DETAILS, with_library
from checklist_crds.condition_types import Operator
from checklist_crds.template_types import StepType
from checklist_crds.template_validation import definition_problems


def wish(*steps: DraftStep, title: str | None = None, **said: object) -> Draft:
    draft = Draft(locale="en", **said)  # type: ignore[arg-type]
    if steps:
        draft.sections = [DraftSection(title, list(steps))]
    return draft


def merged(job: str, *steps: DraftStep, locale: Locale = "en", **said: object) -> Draft:
    return with_library(wish(*steps, **said), job, language="en", locale=locale, complete=False)[0]


def step_of(draft: Draft, key: str) -> DraftStep:
    return next(step for step in draft.steps() if step.key == key)


def labels(draft: Draft) -> list[str]:
    return [step.label for step in draft.steps()]


def test_a_job_by_itself_gets_the_whole_list_of_its_domain() -> None:
    draft, domains = with_library(wish(), "forklift pre-use", language="en", locale="en", complete=False)
    body = domain("forklift-pre-use").body
    assert domains == ("forklift-pre-use",)
    assert labels(draft) == [step.label.en for step in body.steps()]
    assert [section.title for section in draft.sections] == [section.title.en for section in body.sections]
    assert draft.name == "Forklift pre-use check"
    assert draft.est_minutes == 10


def test_the_list_is_in_the_language_that_was_asked_for() -> None:
    draft = merged("forklift pre-use", locale="fr")
    assert draft.locale == "fr"
    assert "Le klaxon" not in labels(draft)
    assert draft.name == "Contrôle du chariot élévateur avant utilisation"


def test_two_jobs_give_both_lists_one_after_the_other() -> None:
    draft, domains = with_library(wish(), "opening and closing of a bar", language="en", locale="en", complete=False)
    assert domains == ("bar-opening", "bar-closing")
    assert draft.name == "Bar opening + Bar closing"
    titles = [section.title for section in draft.sections]
    assert len(set(titles)) == len(titles)
    assert len(set(labels(draft))) == len(labels(draft))


def test_a_complete_wish_gets_nothing_added() -> None:
    given_draft = wish(DraftStep("Check the doors", StepType.BOOLEAN))
    draft, domains = with_library(given_draft, "forklift pre-use", language="en", locale="en", complete=True)
    assert (labels(draft), domains) == (["Check the doors"], ())


def test_a_wish_with_very_many_steps_is_a_list_by_itself() -> None:
    steps = [DraftStep(f"Point {number}", StepType.BOOLEAN) for number in range(MOST_DETAILS + 1)]
    draft, domains = with_library(wish(*steps), "forklift", language="en", locale="en", complete=False)
    assert (len(draft.steps()), domains) == (MOST_DETAILS + 1, ())


@pytest.mark.parametrize(
    ("job", "generic"),
    [
        ("my spaceship", "generic"),
        ("spaceship inspection", "generic-inspection"),
        ("what should I check on my spaceship", "generic-inspection"),
        ("cleaning a spaceship", "generic-cleaning"),
        ("", "generic"),
    ],
)
def test_an_unknown_job_gets_a_generic_list_and_says_so(job: str, generic: str) -> None:
    draft, domains = with_library(wish(), job, language="en", locale="de", complete=False)
    assert domains == ()
    assert (draft.name, draft.tags) == (None, [])
    assert labels(draft) == [step.label.de for step in domain(generic).body.steps()]


def test_an_unknown_job_with_steps_of_its_own_stays_as_it_is() -> None:
    own = wish(DraftStep("Check the hull", StepType.BOOLEAN))
    draft, domains = with_library(own, "my spaceship", language="en", locale="en", complete=False)
    assert (labels(draft), domains) == (["Check the hull"], ())


def test_a_photo_of_a_thing_is_attached_to_the_step_about_it() -> None:
    photo = DraftStep("Photo of the tires", StepType.PHOTO, subject="tires", minimum=2)
    draft = merged("forklift pre-use", photo)
    assert step_of(draft, "forklift-pre-use/tyres").photo == (2, None)
    assert photo not in draft.steps()


def test_photos_without_a_number_are_no_fewer_than_the_library_asks_for() -> None:
    sides = DraftStep("Photo of all sides", StepType.PHOTO, subject="all sides", minimum=1)
    photos = next(one for one in merged("rental car return", sides).steps() if "sides" in one.label)
    known = next(one for one in domain("vehicle-rental-return").body.steps() if one.label.en == photos.label)
    assert (photos.minimum, photos.maximum) == (known.min, known.max)
    assert known.min is not None
    assert known.min > 1


def test_a_number_of_photos_is_the_wish_s_own() -> None:
    sides = DraftStep("Two photos of all sides", StepType.PHOTO, subject="all sides", minimum=2)
    photos = next(one for one in merged("rental car return", sides).steps() if "sides" in one.label)
    assert (photos.minimum, photos.maximum) == (2, None)


def test_a_number_of_photos_of_nothing_is_that_of_the_library_s_only_photo_step() -> None:
    two = DraftStep("At least 2 photos", StepType.PHOTO, subject="at least 2 photos", minimum=2)
    photos = [one for one in merged("incident report", two).steps() if one.type is StepType.PHOTO]
    assert [(one.key, one.minimum) for one in photos] == [("incident-report/photos", 2)]


def test_an_optional_photo_stays_optional() -> None:
    photo = DraftStep("Photo of the tyres", StepType.PHOTO, subject="tyres", required=False)
    assert step_of(merged("forklift pre-use", photo), "forklift-pre-use/tyres").photo == (0, None)


def test_another_unit_makes_the_library_s_bounds_and_limits_void() -> None:
    fridge = DraftStep("Fridge temperature", StepType.NUMBER, subject="fridge", unit="°F")
    draft = merged("restaurant opening", fridge)
    step = step_of(draft, "restaurant-opening/fridge")
    assert (step.unit, step.minimum, step.maximum, step.hint) == ("°F", None, None, None)
    assert "restaurant-opening/fridge-action" not in [one.key for one in draft.steps()]


def test_a_photo_of_a_thing_that_no_step_is_about_is_a_step_of_its_own() -> None:
    photo = DraftStep("Photo of the charging station", StepType.PHOTO, subject="charging station")
    assert photo in merged("forklift pre-use", photo).steps()


def test_the_wish_s_bounds_replace_what_the_library_says_about_limits() -> None:
    fridge = DraftStep("Fridge temperature", StepType.NUMBER, subject="fridge", unit="°F", maximum=39.0)
    draft = merged("restaurant opening", fridge)
    step = step_of(draft, "restaurant-opening/fridge")
    assert (step.minimum, step.maximum, step.unit, step.hint) == (None, 39.0, "°F", None)
    assert "restaurant-opening/fridge-action" not in [one.key for one in draft.steps()]
    assert "restaurant-opening/freezer-action" in [one.key for one in draft.steps()]
    assert fridge not in draft.steps()


def test_the_wish_s_options_replace_the_library_s_and_what_depended_on_them() -> None:
    power = DraftStep(
        "What drives the truck?", StepType.CHOICE, subject="truck drives", options=["Hydrogen", "Battery"]
    )
    draft = merged("forklift pre-use", power)
    assert step_of(draft, "forklift-pre-use/energy").options == ["Hydrogen", "Battery"]
    assert "forklift-pre-use/gas-cylinder" not in [one.key for one in draft.steps()]


def test_what_the_list_asks_already_is_not_asked_twice() -> None:
    horn = DraftStep("Check the horn", StepType.BOOLEAN, subject="horn")
    draft = merged("forklift pre-use", horn)
    assert horn not in draft.steps()
    assert len(draft.steps()) == len(list(domain("forklift-pre-use").body.steps()))


def test_photos_of_what_a_whole_section_is_about_are_a_step_of_that_section() -> None:
    photo = DraftStep("Photos of the bathroom", StepType.PHOTO, subject="bathroom")
    draft = merged("hotel room cleaning", photo)
    assert next(section for section in draft.sections if section.title == "Bathroom").steps[-1] is photo


def test_photos_of_a_part_go_into_the_photo_step_that_the_part_has() -> None:
    photo = DraftStep("At least 4 photos of the outside", StepType.PHOTO, subject="outside", minimum=4)
    draft = merged("rental car return", photo)
    outside = next(section for section in draft.sections if section.title == "Outside")
    assert [step.minimum for step in outside.steps if step.type is StepType.PHOTO] == [4]


def test_what_the_wish_speaks_of_is_required_unless_it_says_otherwise() -> None:
    hours = DraftStep("Hour meter", StepType.NUMBER, subject="hour meter")
    assert step_of(merged("forklift pre-use"), "forklift-pre-use/hours").required is False
    assert step_of(merged("forklift pre-use", hours), "forklift-pre-use/hours").required is True
    hours.required = False
    assert step_of(merged("forklift pre-use", hours), "forklift-pre-use/hours").required is False


def test_a_signature_that_the_list_has_is_not_asked_twice() -> None:
    signature = DraftStep("The customer's signature", StepType.SIGNATURE)
    kinds = [step.type for step in merged("delivery handover", signature).steps()]
    assert kinds.count(StepType.SIGNATURE) == 1


def test_a_measure_of_a_thing_that_the_list_only_looks_at_stands_beside_it() -> None:
    pressure = DraftStep(
        "Tyre pressure", StepType.NUMBER, subject="tyre pressure", unit="bar", minimum=7.0, maximum=9.0
    )
    draft = merged("forklift pre-use", pressure)
    steps = draft.steps()
    assert steps.index(pressure) == steps.index(step_of(draft, "forklift-pre-use/tyres")) + 1


def test_what_the_list_does_not_have_is_added_before_its_result() -> None:
    radio = DraftStep("Is the radio charged?", StepType.BOOLEAN, subject="radio")
    draft = merged("forklift pre-use", radio)
    assert [section.title for section in draft.sections[-2:]] == ["Also", "Result"]
    assert draft.sections[-2].steps == [radio]


def test_a_section_of_the_wish_joins_the_list_s_of_the_same_name() -> None:
    hood = DraftStep("Clean the extractor hood", StepType.BOOLEAN, subject="extractor hood")
    draft, _ = with_library(
        wish(hood, title="Kitchen"), "restaurant opening", language="en", locale="en", complete=False
    )
    assert hood in next(section for section in draft.sections if section.title == "Kitchen").steps
    assert [section.title for section in draft.sections].count("Kitchen") == 1


def test_a_step_that_depends_on_a_merged_one_depends_on_the_list_s_now() -> None:
    tyres = DraftStep("Tyres undamaged", StepType.BOOLEAN, subject="tyres")
    when_not = DraftCondition([DraftComparison(tyres, Operator.EQ, False)])
    detail = DraftStep("Which wheel?", StepType.TEXT, condition=when_not)
    draft = merged("forklift pre-use", tyres, detail)
    source = step_of(draft, "forklift-pre-use/tyres")
    assert detail.condition is not None
    assert detail.condition.comparisons[0].step is source
    assert draft.steps().index(detail) == draft.steps().index(source) + 1


def test_the_wish_s_own_settings_win() -> None:
    draft = merged("truck pre-trip", est_minutes=5.0, allow_skip=True, name="Night run", tags=["night"])
    assert (draft.est_minutes, draft.allow_skip, draft.name) == (5.0, True, "Night run")
    assert draft.tags == ["truck", "safety", "night"]
    assert draft.signature_on_complete is True


def test_a_name_in_another_language_gives_way_to_the_list_s() -> None:
    assert merged("truck pre-trip", locale="de", name="Night run").name == "LKW-Abfahrtskontrolle"


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("domain_id", list(domain_files()))
def test_each_domain_makes_a_valid_template_in_each_language(domain_id: str, locale: Locale) -> None:
    definition = finish(library_draft([domain_id], locale).draft)
    assert definition_problems(definition.to_tdl(), strict=True) == []
    assert len(list(definition.steps())) == len(list(domain(domain_id).body.steps()))


WORDS = [
    "tyres",
    "brake",
    "horn",
    "fridge",
    "temperature",
    "photo",
    "signature",
    "damage",
    "customer",
    "truck",
    "zeppelin",
]
ASKED = [StepType.BOOLEAN, StepType.NUMBER, StepType.PHOTO, StepType.TEXT, StepType.CHOICE, StepType.SIGNATURE]


@st.composite
def wishes(draw: st.DrawFn) -> Draft:
    steps: list[DraftStep] = []
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(ASKED))
        step = DraftStep(f"{draw(st.sampled_from(WORDS))} {draw(st.sampled_from(WORDS))} {number}", kind)
        if kind is StepType.CHOICE:
            step.options = ["Good", "Bad"]
        if kind is StepType.NUMBER:
            step.maximum = draw(st.sampled_from([None, 4.0]))
        if steps and draw(st.booleans()):
            sources = draw(st.lists(st.sampled_from(steps), min_size=1, max_size=2, unique=True))
            step.condition = DraftCondition([DraftComparison(one, Operator.EXISTS, True) for one in sources])
        steps.append(step)
    cut = draw(st.integers(0, len(steps)))
    parts: Sequence[DraftSection] = [DraftSection(None, steps[:cut]), DraftSection("Kitchen", steps[cut:])]
    return Draft(locale="en", sections=[part for part in parts if part.steps])


@given(
    draft=wishes(),
    job=st.sampled_from(
        ["forklift pre-use", "restaurant opening", "delivery handover", "opening and closing of a bar"]
    ),
    locale=st.sampled_from(LOCALES),
)
@settings(max_examples=300, deadline=None)
def test_any_wish_and_any_list_make_a_valid_template_without_losing_conditions(
    draft: Draft, job: str, locale: Locale
) -> None:
    depending = [step for step in draft.steps() if step.condition is not None]
    result, _ = with_library(draft, job, language="en", locale=locale, complete=False)
    steps = result.steps()
    assert len(set(map(id, steps))) == len(steps)
    for step in depending:
        assert step in steps
        assert step.condition is not None
    for place, step in enumerate(steps):
        for comparison in step.condition.comparisons if step.condition else ():
            assert comparison.step in steps[:place]
    assert definition_problems(finish(result).to_tdl(), strict=True) == []
