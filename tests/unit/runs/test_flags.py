"""Answers outside what a step expects (contract section 4): accepted, flagged, counted, and what they need for the
submit. Which values are flagged is in the shared vectors (`tests/vectors/executor.json`)."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from tests.unit.runs.test_lifecycle import NOW, Life, checklist, diff_of, step, stored

from checklist_crds.errors import AnswerInvalid, Problem, RequiredStepsMissing
from checklist_crds.resources.run import PhotoRef, RunPhase
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.commands import (
    AddPhoto,
    AnswerStep,
    Cancel,
    ClearAnswer,
    Expire,
    SkipStep,
    Submit,
    is_repeated,
    with_operation,
)
from checklist_crds.runs.events import EventName, event_data
from checklist_crds.runs.receipt import receipt_document
from checklist_crds.templates.answers import expected_text
from checklist_crds.templates.validation import definition_problems, parse_definition

OPTIONS = [{"id": f"o-{letter}", "label": letter.upper()} for letter in "abc"]
WITH_NOTE = {"expected": True, "on_flag": {"note": True}}
WITH_PHOTOS = {"expected": {"max": 7}, "on_flag": {"photos": {"min": 2, "max": 3}}}


def url_of(photo: PhotoRef, *, thumbnail: bool = False) -> str:
    return f"https://checklists.example/{photo.key}"


def photograph(life: Life, name: str, key: str) -> None:
    photo = PhotoRef(key=key, content_type="image/png", bytes=1, sha256="0", width=1, height=1)
    life.does(AddPhoto(step_id=f"s-{name}", photo=photo))


def gaps(life: Life) -> list[tuple[str, str]]:
    """Path and code of each reason why the submit is refused."""
    error = life.refuses(Submit(), RequiredStepsMissing)
    return [(problem.path, problem.code) for problem in error.details or () if isinstance(problem, Problem)]


def last_event(life: Life) -> dict[str, Any]:
    return event_data(life.status.outbox[-1], life.run, life.definition, url_of)


def test_an_answer_outside_is_accepted_flagged_and_counted_in_run_and_event() -> None:
    life = Life(checklist(step("door", config={"expected": True}), step("light", config={"expected": True})))
    life.answers("door", False)
    life.answers("light", True)
    assert [life.status.answers[f"s-{name}"].flagged for name in ("door", "light")] == [True, None]
    assert (life.status.flagged, life.run.flagged, life.progress) == (1, 1, (2, 2, 0))
    assert life.events == [EventName.STEP_COMPLETED] * 2
    door, light = (event_data(entry, life.run, life.definition, url_of) for entry in life.status.outbox)
    assert (door["flagged"], "flagged" in light) == (True, False)


def test_the_count_follows_the_answers() -> None:
    condition = {"when": {"step": "s-door", "op": "eq", "value": False}}
    life = Life(
        checklist(
            step("door", config={"expected": True}),
            step("gap", "number", config={"expected": {"max": 2}}, condition=condition),
            allow_skip=True,
        )
    )
    life.answers("door", False)
    life.answers("gap", 5)
    assert life.run.flagged == 2
    life.answers("door", True)  # the other step does not apply any more
    assert (life.run.flagged, "flagged" in life.status.to_kube()) == (0, False)
    life.answers("door", False)
    life.does(SkipStep(step_id="s-gap"))
    assert life.run.flagged == 1
    life.does(ClearAnswer(step_id="s-door"))
    assert life.run.flagged == 0


def test_a_patch_removes_the_mark_of_an_answer_that_is_as_expected_again() -> None:
    life = Life(checklist(step("door", config={"expected": True})))
    life.answers("door", False, note="Jammed.")
    patch = diff_of(life.answers("door", True))
    assert patch["answers"]["s-door"] | {"flagged": None, "note": None} == patch["answers"]["s-door"]
    assert patch["flagged"] is None


@pytest.mark.parametrize("required", [True, False])
def test_a_flagged_answer_prevents_the_submit_until_it_has_its_note(required: bool) -> None:
    life = Life(checklist(step("door", config=WITH_NOTE, required=required)))
    life.answers("door", False)
    assert (life.progress, life.events) == ((1, 0, 0), [])
    assert gaps(life) == [("s-door", "note_required")]
    life.answers("door", False, note="\u200b")
    assert gaps(life) == [("s-door", "note_required")]
    life.answers("door", False, note="The hinge is broken.")
    assert (life.progress, life.events) == ((1, 1, 0), [EventName.STEP_COMPLETED])
    data = last_event(life)
    assert (data["flagged"], data["note"], data["revision"]) == (True, "The hinge is broken.", 1)
    life.does(Submit())
    assert (life.status.phase, life.status.flagged) == (RunPhase.COMPLETED, 1)
    assert last_event(life)["flagged"] == 1


def test_a_flagged_answer_prevents_the_submit_until_it_has_its_photos() -> None:
    life = Life(checklist(step("temp", "number", config=WITH_PHOTOS)))
    life.answers("temp", 9)
    for number in range(2):
        assert gaps(life) == [("s-temp", "photos_required")]
        photograph(life, "temp", f"k{number}")
    life.does(Submit())
    answer = life.status.answers["s-temp"]
    assert (answer.flagged, len(answer.photos)) == (True, 2)


@pytest.mark.parametrize("resolve", ["answer", "clear", "skip"])
def test_an_optional_step_need_not_keep_its_flagged_answer(resolve: str) -> None:
    life = Life(checklist(step("door", config=WITH_NOTE), allow_skip=True))
    life.answers("door", False)
    match resolve:
        case "answer":
            life.answers("door", True)
        case "clear":
            life.does(ClearAnswer(step_id="s-door"))
        case _:
            life.does(SkipStep(step_id="s-door"))
    life.does(Submit())
    assert (life.status.phase, life.run.flagged) == (RunPhase.COMPLETED, 0)


def test_a_flagged_answer_that_does_not_apply_prevents_nothing() -> None:
    condition = {"when": {"step": "s-a", "op": "eq", "value": True}}
    life = Life(checklist(step("a"), step("door", config=WITH_NOTE, condition=condition)))
    life.answers("a", True)
    life.answers("door", False)
    life.answers("a", False)
    life.does(Submit())
    assert list(life.status.answers) == ["s-a"]


def test_photos_are_taken_before_the_answer_is_flagged_and_stay_when_it_is_not_any_more() -> None:
    life = Life(checklist(step("temp", "number", config=WITH_PHOTOS, photo={"min": 0, "max": 1})))
    life.answers("temp", 5)
    for number in range(3):
        photograph(life, "temp", f"k{number}")
    photo = PhotoRef(key="k3", content_type="image/png", bytes=1, sha256="0", width=1, height=1)
    error = life.refuses(AddPhoto(step_id="s-temp", photo=photo), AnswerInvalid)
    assert [problem.code for problem in error.details or () if isinstance(problem, Problem)] == ["too_many"]
    life.answers("temp", 9)
    life.answers("temp", 5)
    assert len(life.status.answers["s-temp"].photos) == 3
    life.does(Submit())


def test_a_step_without_photos_takes_none_only_because_it_expects_something() -> None:
    life = Life(checklist(step("door", config=WITH_NOTE)))
    photo = PhotoRef(key="k", content_type="image/png", bytes=1, sha256="0", width=1, height=1)
    life.refuses(AddPhoto(step_id="s-door", photo=photo), AnswerInvalid)


def test_every_answer_takes_a_note_which_is_replaced_with_it() -> None:
    life = Life(checklist(step("why", "text"), step("door")))
    life.answers("why", "Wood", note="It is wet.")
    assert life.status.answers["s-why"].note == "It is wet."
    assert last_event(life)["note"] == "It is wet."
    life.answers("why", "Wood")
    assert (life.status.answers["s-why"].note, life.run.flagged) == (None, 0)


def test_the_end_of_a_run_tells_how_many_answers_are_flagged() -> None:
    for command, at in ((Cancel(reason="closed"), NOW), (Expire(), NOW + timedelta(days=2))):
        life = Life(checklist(step("door", config={"expected": True})), expires_at=NOW + timedelta(days=1))
        life.answers("door", False)
        life.does(command, at)
        assert last_event(life)["flagged"] == 1


AUCKLAND, HONOLULU, IMPOSSIBLE = (timezone(timedelta(hours=hours)) for hours in (13, -10, 23))


@pytest.mark.parametrize(
    ("now", "zone", "value", "flagged"),
    [
        (NOW, None, "2026-11-21", False),
        (NOW, None, "2026-11-22", True),
        (NOW, None, "2026-11-20", True),
        (NOW, AUCKLAND, "2026-11-22", False),
        (NOW, AUCKLAND, "2026-11-21", True),
        (NOW.replace(hour=5), HONOLULU, "2026-11-20", False),
        (NOW.replace(hour=5), HONOLULU, "2026-11-21", True),
        # An offset that no place has: the last day on earth.
        (NOW.replace(hour=2), IMPOSSIBLE, "2026-11-21", False),
    ],
)
def test_the_day_of_an_answer_is_that_of_the_person(
    now: datetime, zone: timezone | None, value: str, flagged: bool
) -> None:
    life = Life(checklist(step("day", "date", config={"expected": {"not_before": 0, "not_after": 0}})))
    object.__setattr__(life.run, "created_at", now - timedelta(hours=1))
    given_at = None if zone is None else now.astimezone(zone)
    life.does(AnswerStep(step_id="s-day", value=value, given_at=given_at), now)
    answer = life.status.answers["s-day"]
    assert (bool(answer.flagged), answer.at) == (flagged, now)


def test_an_answer_stays_flagged_as_it_was_given_also_when_a_photo_is_added_days_later() -> None:
    life = Life(checklist(step("day", "date", config={"expected": {"not_after": 0}}, photo={"min": 0, "max": 2})))
    life.answers("day", "2026-11-22")
    photo = PhotoRef(key="k", content_type="image/png", bytes=1, sha256="0", width=1, height=1)
    life.does(AddPhoto(step_id="s-day", photo=photo), NOW + timedelta(days=3))
    assert (life.status.answers["s-day"].flagged, life.run.flagged) == (True, 1)


def test_an_operation_without_a_note_has_the_mark_of_earlier_releases() -> None:
    # Computed by the release before notes.
    operations = with_operation("", AnswerStep(step_id="s-a", value=True, op_id="op-1"))
    assert operations == "caDvcZXfqLvi"
    assert is_repeated(operations, AnswerStep(step_id="s-a", value=True, op_id="op-1"))
    assert with_operation("", AnswerStep(step_id="s-a", value=True, op_id="op-1", note="x")) != operations


def test_a_receipt_names_flags_and_notes_only_where_there_are_some() -> None:
    life = Life(checklist(step("door", config=WITH_NOTE), step("light", config=WITH_NOTE)))
    life.answers("door", True)
    life.answers("light", False, note="Dark.")
    life.does(Submit())
    door, light = receipt_document(life.run)["answers"].values()
    assert list(door) == ["value", "photos", "geo", "at"]
    assert (light["flagged"], light["note"]) == (True, "Dark.")


UNUSABLE: list[dict[str, Any]] = [
    {"expected": "5 to 8"},
    {"expected": 5},
    {"expected": {"min": "low"}},
    {"expected": {"min": 9, "max": 1}, "on_flag": {"note": "yes"}},
    {"expected": ["o-unknown"], "on_flag": {"photos": {"min": 3, "max": 2}}},
    {"expected": [1, 2]},
    {"on_flag": "a note"},
]


@pytest.mark.parametrize("config", UNUSABLE, ids=repr)
def test_a_run_of_an_earlier_release_goes_on_whatever_its_template_has_in_these_fields(config: dict[str, Any]) -> None:
    written = {"name": "Old", "sections": [{"id": "g-1", "title": "All", "steps": [step("door", config=config)]}]}
    assert definition_problems(written) != []
    definition = Definition.model_validate(written)
    life = Life(definition)
    life.answers("door", False)
    life.answers("door", True)
    life.does(Submit())
    assert (life.status.phase, life.run.flagged) == (RunPhase.COMPLETED, 0)


def test_fields_without_meaning_for_the_type_expect_nothing() -> None:
    written = checklist(step("why", "text", config=WITH_NOTE)).to_tdl()
    assert definition_problems(written) == []
    assert [problem.code for problem in definition_problems(written, strict=True)] == ["unknown_field"] * 2
    life = Life(parse_definition(written))
    life.answers("why", "Wood")
    life.does(Submit())
    assert life.run.flagged == 0


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": "number", "config": {"unit": "°C", "expected": {"min": 2, "max": 8}}}, "2 °C to 8 °C"),
        ({"type": "number", "config": {"expected": {"min": 2.5}}}, "at least 2.5"),
        ({"type": "number", "config": {"decimal": 1, "expected": {"max": 8}}}, "at most 8.0"),
        ({"type": "rating", "config": {"expected": {"min": 3, "max": 5}}}, "3 to 5"),
        ({"type": "boolean", "config": {"false_label": "Shut", "expected": False}}, "Shut"),
        ({"type": "choice", "config": {"options": OPTIONS, "expected": ["o-a", "o-c"]}}, "A, C"),
        ({"type": "multi_choice", "config": {"options": OPTIONS, "expected": []}}, "None"),
        ({"type": "date", "config": {"expected": {"not_before": 0}}}, "not before the day of the answer"),
        (
            {"type": "date", "config": {"expected": {"not_before": -1, "not_after": 30}}},
            "not before 1 day before the answer, not after 30 days after the answer",
        ),
        ({"type": "number", "config": {}}, ""),
    ],
    ids=repr,
)
def test_what_is_expected_is_formatted_in_words(fields: dict[str, Any], text: str) -> None:
    definition = checklist({"id": "s-a", "label": "A", **fields})
    assert expected_text(definition.all_steps[0]) == text


def test_the_status_of_a_run_without_flags_is_as_before() -> None:
    life = Life(checklist(step("door", config={"expected": True})))
    life.answers("door", True)
    written = life.status.to_kube()
    assert "flagged" not in written
    assert set(written["answers"]["s-door"]) == {"value", "at"}
    assert stored(life.status) == life.status
