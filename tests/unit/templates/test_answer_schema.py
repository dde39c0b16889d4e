"""JSON Schema of answers: answers of completed runs are valid, wrong ones are not."""

import itertools
import re
import sys
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.unit.runs.test_lifecycle import HERE, MEMBER, NOW, Life, checklist, step
from tests.unit.templates.tdl_strategies import GivenAnswer, definitions, valid_values

from checklist_crds.errors import ServiceError
from checklist_crds.resources.run import PhotoRef, RunPhase
from checklist_crds.resources.template_definition import Definition, Operator, Step, StepType
from checklist_crds.runs.commands import AddPhoto, AnswerStep, ClearAnswer, GiveIdentity, SkipStep, Submit
from checklist_crds.runs.events import answer_view
from checklist_crds.step_types.answer_schemas import VISIBLE, sorts_after
from checklist_crds.templates.answer_schema import answer_schema
from checklist_crds.templates.answers import is_flagged, validate_value
from checklist_crds.templates.conditions import applicable_step_ids, missing_required
from checklist_crds.templates.validation import parse_definition
from checklist_crds.values.json_types import has_visible_text

Json = dict[str, Any]
VISIBLE_SURELY, VISIBLE_POSSIBLY = (re.compile(schema["pattern"]) for schema in (VISIBLE.surely, VISIBLE.possibly))  # type: ignore[index]
parsed_definitions = definitions(min_steps=1).map(parse_definition)


def validator(definition: Definition) -> Draft202012Validator:
    schema = answer_schema(definition)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def photo(number: int) -> PhotoRef:
    return PhotoRef(key=f"k{number}", content_type="image/jpeg", bytes=9, sha256="ab", width=4, height=3)


def url_of(photo: PhotoRef, *, thumbnail: bool = False) -> str:
    return f"https://checklists.example/v1/photos/{photo.key}?thumbnail={thumbnail}"


def rendered(life: Life) -> Json:
    """Render `answers` as the API returns them."""
    return {step_id: answer_view(answer, url_of) for step_id, answer in life.status.answers.items()}


class Person:
    """Applies random commands to one run, then completes it."""

    def __init__(self, definition: Definition, data: st.DataObject) -> None:
        self.life = Life(definition, events=None)
        self.data = data
        self.by = MEMBER if definition.identity_mode == "member" else None
        self.photos = itertools.count()
        self.steps = [each for each in definition.all_steps if each.type.rules.takes_answer]
        if definition.identity_mode == "external":
            self.life.does(GiveIdentity(name="Ada", email="ada@example.com"))

    def act_at_random(self) -> None:
        for each in self.data.draw(st.lists(st.sampled_from(self.steps), max_size=12) if self.steps else st.just([])):
            action = self.data.draw(st.sampled_from(["answer", "answer", "photo", "photo", "skip", "clear"]))
            try:
                match action:
                    case "answer":
                        self.answer(each, geo=self.data.draw(st.booleans()))
                    case "photo":
                        self.photograph(each)
                    case "skip":
                        self.life.does(SkipStep(step_id=each.id, by=self.by))
                    case _:
                        self.life.does(ClearAnswer(step_id=each.id, by=self.by))
            except ServiceError as error:
                assert error.status in {404, 422}

    def answer(self, step: Step, *, geo: bool, note: str | None = None) -> None:
        value = self.data.draw(valid_values(step))
        note = self.data.draw(st.sampled_from([None, "Seen."])) if note is None else note
        self.life.does(AnswerStep(step_id=step.id, value=value, geo=HERE if geo else None, note=note, by=self.by))

    def photograph(self, step: Step) -> None:
        self.life.does(AddPhoto(step_id=step.id, photo=photo(next(self.photos)), by=self.by))

    def complete(self) -> Json:
        while gaps := missing_required(self.life.definition, self.life.status.answers, self.life.status.skipped_steps):
            gap = gaps[0]  # its answer can decide whether the others apply
            self.answer(gap, geo=True, note="The manager knows.")
            bounds, asked = gap.photo_bounds, gap.on_flag
            needed = max(0 if bounds is None else bounds.min, 0 if asked is None else asked.fewest_photos)
            for _ in range(len(self.life.status.answers[gap.id].photos), needed):
                self.photograph(gap)
        self.life.does(Submit(signature_name="Ada", by=self.by), NOW + timedelta(minutes=1))
        assert self.life.status.phase is RunPhase.COMPLETED
        return rendered(self.life)


@settings(max_examples=100)
@given(parsed_definitions, st.data())
def test_the_answers_of_every_completed_run_are_valid(definition: Definition, data: st.DataObject) -> None:
    person = Person(definition, data)
    person.act_at_random()
    answers = person.complete()
    assert [error.message for error in validator(definition).iter_errors(answers)] == []


@settings(max_examples=60)
@given(parsed_definitions, st.data())
def test_values_that_no_step_accepts_are_invalid(definition: Definition, data: st.DataObject) -> None:
    person = Person(definition, data)
    person.act_at_random()
    answers, fits = person.complete(), validator(definition)
    given_steps = [each for each in person.steps if each.id in answers]
    for each in given_steps:
        for part, wrong in _wrong_parts(each):
            changed = answers | {each.id: answers[each.id] | {part: wrong}}
            assert not fits.is_valid(changed), (each.type, part, wrong)
        for part in answers[each.id].keys() - {"received_at", "flagged", "note"}:  # earlier exports lack them
            rest = {name: value for name, value in answers[each.id].items() if name != part}
            assert not fits.is_valid(answers | {each.id: rest}), part
    one = next(iter(answers.values()), None)
    if one is not None:
        no_steps = ["s-of-another-template", *(each.id for each in definition.all_steps if each not in person.steps)]
        assert not any(fits.is_valid({**answers, step_id: one}) for step_id in no_steps)


def _wrong_parts(step: Step) -> list[tuple[str, Any]]:
    wrong: list[Any] = [{"other": 1}, [1], 5.5 if step.type is not StepType.NUMBER else "5", "\x00" * 5_000]
    config, bounds = step.config, step.photo_bounds
    match step.type:
        case StepType.NUMBER | StepType.RATING:
            wrong += [bound + beyond for bound, beyond in ((config.min, -1), (config.max, 1)) if bound is not None]
            wrong += [True, "1"]
        case StepType.BOOLEAN:
            wrong += [0, 1, "true"]
        case StepType.CHOICE:
            wrong += ["o-unknown", ["o-0"]]
        case StepType.MULTI_CHOICE:
            wrong += [["o-unknown"], ["o-0", "o-0"], "o-0", [f"o-{number}" for number in range(5)]]
        case StepType.DATE | StepType.TIME | StepType.DATETIME:
            wrong += ["2026-11", "13", "2026-11-21T13:50:00", "24:00", "today"]
        case StepType.SIGNATURE:
            wrong += [{"name": "Ada"}, {"url": None, "name": "", "signed_at": None}]
        case _:
            pass
    picture = {"photo_index": 0, "url": "https://checklists.example/x"}
    most, fewest = step.most_photos, bounds.min if bounds is not None and step.required else 0
    photos: list[Any] = [None, [picture] * (most + 1), *([[picture] * (fewest - 1)] if fewest else [])]
    places = [{"lat": 91, "lng": 0}, {"lat": 1}, "here", *([None] if step.required and step.geo_required else [])]
    return [
        *(("value", value) for value in wrong),
        *(("photos", value) for value in photos),
        *(("geo", place) for place in places),
        ("received_at", "yesterday"),
        *(("note", note) for note in (5, "x" * 2_001)),
        *([("flagged", None)] if step.expects else []),
    ]


def is_unambiguous(value: Any) -> bool:
    """Whether the schema decides exactly if this text has visible characters."""
    if not isinstance(value, str):
        return True
    return bool(VISIBLE_SURELY.search(value)) or not VISIBLE_POSSIBLY.search(value)


@settings(max_examples=150)
@given(parsed_definitions, st.data())
def test_answers_are_valid_exactly_if_they_can_complete_a_run(definition: Definition, data: st.DataObject) -> None:
    """Random answers to random steps."""
    answers: dict[str, GivenAnswer] = {}
    for each in definition.all_steps:
        if each.type.rules.takes_answer and data.draw(st.booleans()):
            value = each.type.rules.stamped(validate_value(each, data.draw(valid_values(each))), NOW)
            photos = [f"k{number}" for number in range(data.draw(st.integers(0, each.most_photos)))]
            flagged, note = is_flagged(each, value, NOW.date()), data.draw(st.sampled_from([None, "Seen."]))
            answers[each.id] = GivenAnswer(value, photos, {"lat": 1.0, "lng": 2.0}, flagged, note)
    applicable = applicable_step_ids(definition, answers, ())
    could_be = answers.keys() <= applicable and not missing_required(definition, answers, ())
    document = {
        step_id: {
            "value": answer.value,
            "photos": [{"photo_index": index, "url": key} for index, key in enumerate(answer.photos)],
            "geo": answer.geo,
            "at": "2026-11-21T12:00:00.000Z",
            "by": None,
            "flagged": answer.flagged,
            "note": answer.note,
        }
        for step_id, answer in answers.items()
    }
    fits = validator(definition).is_valid(document)
    if all(is_unambiguous(answer.value) for answer in answers.values()):
        assert fits is could_be
    else:
        assert fits or not could_be


OPTIONS = [{"id": f"o-{letter}", "label": letter.upper()} for letter in "abc"]
MOMENTS = [
    "2026-11-21T13:50:00.000Z",
    "2026-11-21T13:50:00.001Z",
    "2026-12-01T00:00:00.000Z",
    "2025-12-31T23:59:59.999Z",
]
CASES: dict[str, tuple[Json, list[Any], list[Any]]] = {
    # config, answered values, values of conditions
    "boolean": ({}, [True, False], [True, False]),
    "number": ({}, [-1, 0, 0.5, 1, 7.25], [-1, 0, 0.5, 1.0, 8]),
    "rating": ({"min": -1, "max": 3}, [-1, 0, 1, 3], [-1, 0, 1, 2.0]),
    "choice": ({"options": OPTIONS}, ["o-a", "o-b"], ["o-a", "o-b", "o-c"]),
    "multi_choice": ({"options": OPTIONS}, [[], ["o-a"], ["o-a", "o-b"]], ["o-a", "o-b", "o-c"]),
    "text": (
        {},
        ["", "  ", "a", "a.b", "axb\n(", "\u200b", "Ünï 漢 🙂"],
        ["", "a", "a.b", "b\n(", "🙂", "\u200b", " "],
    ),
    "scan": ({}, ["", "1^2$[3]"], ["^", "2$", "[", "]", "1^2$[3]", "12"]),
    "date": ({}, ["2026-11-21", "2026-11-22", "2026-09-30", "1999-12-31", "2030-01-01"], ["2026-11-21", "1999-12-31"]),
    "time": (
        {},
        ["13:50", "13:50:01", "13:49:59", "00:00", "23:59:59", "09:00"],
        ["13:50", "13:50:00", "13:50:30", "09:00"],
    ),
    "datetime": ({}, MOMENTS, [*MOMENTS, "2026-11-21T14:50:00+01:00"]),
    "photo": ({}, [None], [True, False]),
    "signature": ({}, [{"name": "Ada"}], [True, False]),
}


def test_every_type_with_operators_has_cases() -> None:
    assert set(CASES) == {kind.value for kind in StepType if kind.rules.operators}


@pytest.mark.parametrize("kind", CASES)
def test_every_operator_means_the_same_in_the_schema_and_in_a_run(kind: str) -> None:
    config, values, wanted = CASES[kind]
    seen = set()
    for op in sorted(StepType(kind).rules.operators):
        some = [True, False] if op is Operator.EXISTS else wanted
        lists = [[one] for one in wanted] + [wanted[:2], [wanted[0], wanted[0]]]
        for value in lists if op in {Operator.IN, Operator.NOT_IN} else some:
            condition = {"when": {"step": "s-a", "op": op.value, "value": value}}
            definition = checklist(step("a", kind, config=config), step("b", required=True, condition=condition))
            fits = validator(definition)
            for given_value in [..., *values]:
                answers: Json = {}
                if given_value is not ...:
                    life = Life(definition, events=None)
                    life.answers("a", given_value)
                    if kind == "photo":
                        life.does(AddPhoto(step_id="s-a", photo=photo(1)))
                    answers = life.status.answers
                applies = "s-b" in applicable_step_ids(definition, answers, ())
                document = {step_id: answer_view(answer, url_of) for step_id, answer in answers.items()}
                with_it = document | {"s-b": {"value": True, "photos": [], "geo": None, "at": MOMENTS[0], "by": None}}
                where = (op.value, value, given_value)
                assert (fits.is_valid(with_it), fits.is_valid(document)) == (applies, not applies), where
                seen.add((op, applies))
    assert seen == {(op, applies) for op in StepType(kind).rules.operators for applies in (True, False)}


@settings(max_examples=300)
@given(st.dates(), st.dates())
def test_the_pattern_for_later_dates_is_exact(one: Any, other: Any) -> None:
    later, not_earlier = (re.compile(sorts_after(other.isoformat(), or_equal=or_equal)) for or_equal in (False, True))
    assert bool(later.search(one.isoformat())) is (one > other)
    assert bool(not_earlier.search(one.isoformat())) is (one >= other)


def test_the_visibility_patterns_bound_has_visible_text() -> None:
    for code_point in range(sys.maxunicode + 1):
        if not 0xD800 <= code_point <= 0xDFFF:
            character = chr(code_point)
            is_visible = has_visible_text(character)
            assert is_visible or not VISIBLE_SURELY.search(character), hex(code_point)
            assert not is_visible or VISIBLE_POSSIBLY.search(character), hex(code_point)


@example(["s-a", "s-b"])
@given(st.lists(st.sampled_from(["s-a", "s-b"]), unique=True))
def test_a_checklist_without_conditions_has_no_rules_and_an_empty_one_allows_no_answers(required: list[str]) -> None:
    definition = checklist(step("a", required="s-a" in required), step("b", required="s-b" in required))
    schema = answer_schema(definition)
    assert (schema.get("required", []), schema.get("allOf")) == (sorted(required), None)
    assert validator(checklist()).is_valid({})
    assert not validator(checklist()).is_valid({"s-a": None})
