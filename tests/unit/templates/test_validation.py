"""The verdict on a template definition: what is accepted, what is refused, and with which problems."""

import copy
import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from tests.unit.templates.tdl_strategies import BREAKERS, definitions, json_values

from checklist_crds.errors import Problem, ValidationFailed
from checklist_crds.resources.template_definition import Definition, Operator, StepType
from checklist_crds.templates.validation import MAX_PROBLEMS, definition_problems, parse_definition, runnable_problems

few = settings(max_examples=30)


def template(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    named = [{"id": f"s-{index}", "type": "text", "label": "Label"} | step for index, step in enumerate(steps)]
    return {"name": "Name", "sections": [{"id": "g-1", "title": "Title", "steps": named}]} | fields


def found(data: object, *, strict: bool = False) -> list[tuple[str, str]]:
    return [(problem.path, problem.code) for problem in definition_problems(data, strict=strict)]


def step_of(**step: Any) -> list[tuple[str, str]]:
    return [(path.removeprefix("sections[0].steps[0]."), code) for path, code in found(template(step))]


def without_foreign(config: dict[str, Any]) -> dict[str, Any]:
    """Only the fields that the format has; the strategies begin the names of all others with zz."""
    return {name: value for name, value in config.items() if not name.startswith("zz")}


@settings(max_examples=20)
@given(definitions(max_steps=5))
def test_what_an_author_may_write_is_accepted_and_its_written_form_is_complete_and_strict(data: dict[str, Any]) -> None:
    assert definition_problems(data) == []
    written = parse_definition(data).to_tdl()
    assert parse_definition(written).to_tdl() == written
    assert parse_definition(json.loads(json.dumps(written, allow_nan=False))).to_tdl() == written
    assert written["name"] == data["name"]
    assert written["tags"] == (data.get("tags") or [])
    for section, given_section in zip(written["sections"], data["sections"], strict=True):
        for step, given_step in zip(section["steps"], given_section["steps"], strict=True):
            assert ("condition" in step) == ("condition" in given_step)
            assert step["hint"] == given_step.get("hint")
            assert step["photo"] == (given_step.get("photo") or False)
            step["config"] = without_foreign(step["config"])
            given_config = without_foreign(given_step["config"])
            assert step["config"] == {name: value for name, value in given_config.items() if value is not None}
    assert definition_problems(written, strict=True) == []


@pytest.mark.parametrize("what", sorted(BREAKERS))
def test_each_kind_of_mistake_is_reported_once_and_alone(what: str) -> None:
    code, apply = BREAKERS[what]
    data = template({})
    apply(data, lambda strategy: strategy.example())  # type: ignore[arg-type, return-value]
    assert {problem.code for problem in definition_problems(data)} == {code}


@few
@given(json_values)
@example([])
@example({"name": "x", "sections": [[]]})
def test_no_json_at_all_makes_validation_raise(data: Any) -> None:
    assert definition_problems(data)
    assert isinstance(definition_problems(template({}, name=data, tags=data, settings=data)), list)
    assert isinstance(definition_problems(template({"config": data, "photo": data, "condition": data})), list)
    assert isinstance(definition_problems({"name": "x", "sections": [data, {"steps": [data]}]}, strict=True), list)
    assert isinstance(definition_problems(template({"condition": {"when": data}}, {"config": {"zz": data}})), list)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


EXTREMES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**400, float("nan"), float("inf")),
    *("", " ", "x" * 4_001, "\0", "\ud800", "9999-99-99", "s-" + "a" * 65),
    *([], {}, [None], ["x" * 4_001], ["x" * 5_000, 7] * 60, [[]], {"": None}, {"when": {"value": ["x" * 4_001]}}),
    nested(400),
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from places(inner, (*path, name))


def with_value(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.copy(data)
    changed[path[0]] = with_value(data[path[0]], path[1:], value)
    return changed


def test_no_extreme_value_in_any_place_makes_validation_raise() -> None:
    comparison = {"step": "s-0", "op": "eq", "value": "x"}
    choice = {"type": "multi_choice", "config": {"options": [{"id": "o-1", "label": "One"}], "min": 0, "max": 1}}
    data = template(
        {"hint": "h", "required": True, "geo": True, "geo_required": True, "photo": {"min": 0, "max": 2}},
        {
            "type": "number",
            "config": {"min": 0, "max": 5, "decimal": 1, "unit": "m"},
            "condition": {"when": comparison},
        },
        choice | {"condition": {"when": {"any": [comparison, {"all": [comparison]}]}}},
        {"condition": {"when": {"step": "s-1", "op": "in", "value": [1, 2]}}, "config": {"multiline": True}},
        tags=["t"],
        settings={"allow_skip": True, "est_minutes": 5},
        execution={"scope": "any", "identity_required": "none"},
    )
    assert definition_problems(data) == []
    for path, value in product(list(places(data)), EXTREMES):
        changed = with_value(data, path, value)
        problems = definition_problems(changed, strict=True)
        if all(problem.code == "unknown_field" for problem in problems):
            json.dumps(parse_definition(changed).to_tdl(), allow_nan=False)
        assert all(problem.message for problem in problems), path


def test_a_compared_text_has_at_most_4000_characters() -> None:
    longest = {"step": "s-a", "op": "eq", "value": "x" * 4_000}
    assert condition(longest) == []
    too_long = condition({"all": [{"any": [longest | {"value": "x" * 4_001}]}]})
    assert too_long == [(".all[0].any[0].value", "too_long")]


def test_the_complete_document_has_every_default() -> None:
    given_step = {"id": "s-1", "type": "text", "label": "Label"}
    defaults = {"hint": None, "required": False, "photo": False, "geo": False, "geo_required": False, "config": {}}
    assert parse_definition(template({"id": "s-1"})).to_tdl() == {
        "name": "Name",
        "description": "",
        "tags": [],
        "settings": {"allow_skip": False, "signature_on_complete": False, "est_minutes": None},
        "sections": [{"id": "g-1", "title": "Title", "steps": [given_step | defaults]}],
        "execution": {"scope": "any", "identity_required": "none"},
    }


def test_unknown_config_fields_are_kept() -> None:
    config = {"colour": "red", "nested": {"a": [1, None, {"b": False}]}}
    (step,) = [step for _, step in parse_definition(template({"config": config})).steps()]
    assert step.model_dump(mode="json")["config"] == config


def test_an_integral_float_is_an_integer_since_json_does_not_tell_them_apart() -> None:
    step = {"type": "number", "config": {"min": 3.0, "max": 4.5, "decimal": 2.0}, "photo": {"min": 1.0, "max": 2.0}}
    written = json.dumps(parse_definition(template(step)).to_tdl())
    assert '"min": 3, "max": 4.5, "decimal": 2' in written.replace('"unit": null, ', "")
    assert '"photo": {"min": 1, "max": 2}' in written


def test_null_is_the_same_as_leaving_the_field_out() -> None:
    nulls = dict.fromkeys(("hint", "required", "photo", "geo", "condition", "config"))
    with_nulls = template({"id": "s-1", **nulls}, description=None, tags=None, settings=None, execution=None)
    assert parse_definition(with_nulls).to_tdl() == parse_definition(template({"id": "s-1"})).to_tdl()
    assert found(template(name=None)) == [("name", "missing")]


TWO = [{"id": "o-1", "label": "One"}, {"id": "o-2", "label": "Two"}]
MANY = [{"id": f"o-{n}", "label": "x" * 200} for n in range(101)]


def bounds(low: int, high: int) -> dict[str, Any]:
    return {"config": {"options": TWO, "min_selected": low, "max_selected": high}}


STEPS: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "wrong_type": [
        *(("text", {"required": value}, "required") for value in (1, "true")),
        *(("text", {name: value}, name) for name, value in {"label": 5, "hint": ["x"], "condition": "s-1"}.items()),
        *(("text", {"photo": value}, "photo") for value in (0, True)),
        *(("text", {"photo": {name: value}}, f"photo.{name}") for name, value in {"min": "1", "max": 1.5}.items()),
        *(("text", {"config": {"min": value}}, "config.min") for value in ("5", True)),
        ("text", {"config": {"decimal": True}}, "config.decimal"),
        ("text", {"config": {"options": {}}}, "config.options"),
        ("text", {"config": [1]}, "config"),
    ],
    "too_long": [
        ("text", {"label": "x" * 501}, "label"),
        ("text", {"hint": "x" * 1001}, "hint"),
        ("text", {"id": "s-" + "x" * 65}, "id"),
        ("choice", {"config": {"options": [{"id": "o-1", "label": "x" * 201}]}}, "config.options[0].label"),
    ],
    "too_many": [("choice", {"config": {"options": MANY}}, "config.options")],
    "missing": [("choice", {"config": {"options": None}}, "config.options")],
    "out_of_range": [
        *(("text", {"photo": {"max": value}}, "photo.max") for value in (0, 21)),
        *(("photo", {"config": value}, "config") for value in ({"max": 0}, {"min": -1}, {"max": 21})),
        ("photo", {"photo": {"min": 3, "max": 2}}, "config"),
        *(("rating", {"config": {"max": value}}, "config") for value in (0, 101)),
        ("number", {"config": {"decimal": -1}}, "config.decimal"),
        *(("multi_choice", bounds(0, value), "config.max_selected") for value in (0, 3)),
        ("multi_choice", bounds(2, 1), "config.min_selected"),
    ],
    "": [
        *((kind.value, {"required": True}, "") for kind in StepType if "choice" not in kind.value),
        ("text", {"label": "x" * 500, "hint": "x" * 1000, "id": "s-" + "x" * 64}, ""),
        *(("text", {"photo": {"max": value}}, "") for value in (1, 20)),
        *(("photo", {"config": {"min": value}}, "") for value in (0, 3)),
        ("instruction", {"photo": {"min": 3, "max": 2}, "geo": True}, ""),
        *(("rating", {"config": value}, "") for value in ({"min": 3, "max": 3}, {"min": -100, "max": 100})),
        ("number", {"config": {"min": 1, "max": 1}}, ""),
        ("number", {"config": {"min": 0.1, "max": 0.9, "decimal": 1}}, ""),
        ("boolean", {"config": {"min": 9, "max": 1}}, ""),
        ("choice", {"config": {"options": MANY[:100]}}, ""),
        ("multi_choice", bounds(0, 2), ""),
    ],
}
"""Code of the problem: type of a step, its fields, path of the problem."""


@pytest.mark.parametrize("code", STEPS)
def test_types_and_limits_of_a_step(code: str) -> None:
    for kind, step, path in STEPS[code]:
        assert step_of(type=kind, **step) == ([(path, code)] if code else []), step


def test_limits_of_a_template() -> None:
    assert found(template(name="x" * 200, description="✓" * 4000, tags=["x" * 64] * 50)) == []
    assert found(template(name="x" * 201)) == [("name", "too_long")]
    assert found(template(description="✓" * 4001)) == [("description", "too_long")]
    assert found(template(tags=["x"] * 51)) == [("tags", "too_many")]
    assert found(template(tags=["x" * 65])) == [("tags[0]", "too_long")]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300, 2**53, 10**400])
def test_numbers_that_json_cannot_carry_exactly_are_refused(number: float) -> None:
    assert step_of(type="number", config={"min": number}) == [("config.min", "out_of_range")]
    assert step_of(config={"zz": {"deep": [number]}}) == [("config.zz", "out_of_range")]


def test_labels_must_be_readable_and_free_text_may_be_empty_but_not_unstorable() -> None:
    for text in ("", " \t", "\u00a0\u3000\u200b"):
        assert step_of(label=text) == [("label", "blank")]
    assert found(template(description="")) == []
    for text in ("a\x00", "\ud800", "\udfff"):
        assert step_of(label=text) == [("label", "invalid_text")]
        assert found(template(description=text)) == [("description", "invalid_text")]
    assert step_of(config={"zz": "\udfff"}) == [("config.zz", "invalid_text")]


def many_steps(*counts: int) -> dict[str, Any]:
    def steps(section: int, count: int) -> list[dict[str, Any]]:
        return [{"id": f"s-{section}-{n}", "type": "text", "label": "L"} for n in range(count)]

    sections = [{"id": f"g-{n}", "title": "T", "steps": steps(n, count)} for n, count in enumerate(counts)]
    return {"name": "N", "sections": sections}


def test_500_steps_in_50_sections_are_allowed_and_one_more_is_not() -> None:
    assert found(many_steps(*[10] * 50)) == []
    assert found(many_steps(*[10] * 51)) == [("sections", "too_many")]
    assert found(many_steps(500)) == []
    assert found(many_steps(250, 251)) == [("sections", "too_many")]
    assert found(many_steps(501)) == [("sections[0].steps", "too_many")]


def condition(when: Any, **source: Any) -> list[tuple[str, str]]:
    """The problems of a condition at the second step, which looks at the first."""
    data = template({"id": "s-a"} | source, {"id": "s-b", "condition": {"when": when}}, {"id": "s-c"})
    return [(path.removeprefix("sections[0].steps[1].condition.when"), code) for path, code in found(data)]


_ALLOWED = {
    **dict.fromkeys(("number", "rating"), "eq ne gt gte lt lte in not_in exists"),
    **dict.fromkeys(("text", "scan"), "eq ne contains not_contains exists"),
    **dict.fromkeys(("date", "time", "datetime"), "eq ne gt gte lt lte exists"),
    **dict.fromkeys(("photo", "signature"), "exists"),
    "boolean": "eq ne exists",
    "choice": "eq ne in not_in exists",
    "multi_choice": "contains not_contains exists",
    "instruction": "",
}
_VALUES: dict[str, Any] = {
    **{"boolean": True, "number": 1.5, "rating": 3, "choice": "o-1", "multi_choice": "o-1"},
    **{"date": "2026-11-21", "time": "13:50", "datetime": "2026-11-21T13:50:00+01:00"},
}


@pytest.mark.parametrize("kind", sorted(_ALLOWED))
def test_each_type_has_its_operators(kind: str) -> None:
    single = _VALUES.get(kind, "text")
    config = {"options": [{"id": "o-1", "label": "One"}]} if "choice" in kind else {}
    for op in Operator:
        value = True if op == "exists" else [single] if op in {"in", "not_in"} else single
        problems = condition({"step": "s-a", "op": op.value, "value": value}, type=kind, config=config)
        assert problems == ([] if op in _ALLOWED[kind].split() else [(".op", "operator_not_allowed")]), op


def test_the_value_must_be_of_the_source_steps_type() -> None:
    wrong: dict[str, list[Any]] = {
        "boolean": [1, "true"],
        "number": [True, "5", [5]],
        "rating": [2.5, True],
        "text": [5],
        "choice": [1],
        "date": ["2026-02-29", "21.11.2026", "2026-11-21T00:00:00Z"],
        "time": ["24:00", "9:15"],
        "datetime": ["2026-11-21T13:50:00", "2026-W47-6T13:50:00Z", "0001-01-01T00:00:00+14:00", 5],
    }
    choice = {"type": "choice", "config": {"options": TWO}}
    for kind, value in ((kind, value) for kind, values in wrong.items() for value in values):
        problems = condition({"step": "s-a", "op": "eq", "value": value}, **choice | {"type": kind})
        assert problems == [(".value", "value_type")], (kind, value)
    for op, unknown in (("eq", "o-3"), ("in", ["o-1", "o-3"])):
        assert condition({"step": "s-a", "op": op, "value": unknown}, **choice) == [(".value", "unknown_option")]


def test_a_condition_looks_back_and_never_at_itself_or_ahead() -> None:
    for source in ("s-b", "s-c", "s-elsewhere"):
        assert condition({"step": source, "op": "exists", "value": True}) == [(".step", "invalid_reference")]
    data = many_steps(1, 1)
    data["sections"][1]["steps"][0]["condition"] = {"when": {"step": "s-0-0", "op": "exists", "value": False}}
    assert found(data) == [], "an earlier section"


def test_a_condition_has_at_most_ten_comparisons_on_two_levels() -> None:
    leaf = {"step": "s-a", "op": "exists", "value": True}
    assert condition({"any": [{"all": [leaf] * 5}, {"any": [leaf] * 5}]}) == []
    assert condition({"any": [leaf] * 11}) == [(".any", "too_many")]
    assert condition({"any": [{"all": [leaf] * 5}, {"any": [leaf] * 5}, leaf]}) == [("", "too_many")]
    assert condition({"any": []}) == [(".any", "too_few")]
    assert (".all[0].any[0].step", "missing") in condition({"all": [{"any": [{"all": [leaf]}]}]})


def test_only_a_scope_of_member_asks_for_an_identity() -> None:
    for scope, identity in product(("any", "member", "external"), ("none", "external", "member")):
        problems = found(template(execution={"scope": scope, "identity_required": identity}))
        refused = scope == "member" and identity != "member"
        assert problems == ([("execution.identity_required", "identity_scope_mismatch")] if refused else [])


def test_all_problems_are_reported_at_once() -> None:
    when = {"all": [{"step": "s-1", "op": "contains", "value": 3}]}
    steps = [
        {"id": "s-1", "type": "number", "label": "", "config": {"min": 5, "max": 1, "unit": 7}},
        {"id": "s-1", "type": "chioce", "label": "Second"},
        {"id": "s-2", "type": "choice", "label": "Third", "required": "x"},
        "no step at all",
        {"id": "s-3", "type": "boolean", "label": "Last", "condition": {"when": when}},
    ]
    sections = [{"id": "g-1", "steps": steps}, {"id": "g-1", "title": "Again", "steps": []}]
    data = {"name": " ", "settings": {"allow_skip": "yes"}, "execution": {"scope": "member"}, "sections": sections}
    assert set(found(data)) == {
        ("name", "blank"),
        ("settings.allow_skip", "wrong_type"),
        ("execution.identity_required", "identity_scope_mismatch"),
        ("sections[0].title", "missing"),
        ("sections[0].steps[0].label", "blank"),
        ("sections[0].steps[0].config.unit", "wrong_type"),
        ("sections[0].steps[0].config.min", "out_of_range"),
        ("sections[0].steps[1].id", "duplicate_id"),
        ("sections[0].steps[1].type", "unknown_value"),
        ("sections[0].steps[2].required", "wrong_type"),
        ("sections[0].steps[2].config.options", "missing"),
        ("sections[0].steps[3]", "wrong_type"),
        ("sections[0].steps[4].condition.when.all[0].op", "operator_not_allowed"),
        ("sections[1].id", "duplicate_id"),
    }


def test_a_mistake_does_not_drag_false_ones_behind_it() -> None:
    # The type of the source is unreadable, so nothing is said about the operator; its id is known and may be used.
    source = {"id": "s-a", "type": "chioce", "config": {"options": "none"}, "photo": "no"}
    looks_at_it = {"condition": {"when": {"step": "s-a", "op": "gt", "value": "x"}}}
    assert found(template(source, looks_at_it)) == [
        ("sections[0].steps[0].type", "unknown_value"),
        ("sections[0].steps[0].photo", "wrong_type"),
        ("sections[0].steps[0].config.options", "wrong_type"),
    ]


def test_a_flood_of_mistakes_is_cut_and_counted_and_parsing_raises_with_all() -> None:
    problems = definition_problems(many_steps(0) | {"sections": [{}] * 50})
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == Problem("", "more_problems", "And at least 50 more problems.")
    with pytest.raises(ValidationFailed) as caught:
        parse_definition({"name": 5})
    assert caught.value.details == [
        Problem("name", "wrong_type", "Must be a string, not a number."),
        Problem("sections", "missing", "sections is required."),
    ]


def test_steps_beyond_the_limit_are_counted_but_not_judged() -> None:
    template = many_steps(499, 1)
    template["sections"][1]["steps"] += [{}] * 24_000
    assert found(template) == [("sections[1].steps", "too_many"), ("sections", "too_many")]
    template["sections"][0]["steps"].pop()
    assert ("sections[1].steps[1].id", "missing") in found(template)
    assert not [path for path, _ in found(template) if path.startswith("sections[1].steps[2]")]


def test_unknown_fields_are_ignored_unless_strict() -> None:
    data = template(
        {"colour": "red", "photo": {"min": 1, "best": 2}, "config": {"unit": "m", "zz": 1}},
        {"condition": {"when": {"step": "s-0", "op": "exists", "value": True, "or": 1}, "x": 1}},
        owner="me",
        settings={"theme": 1},
    )
    assert found(data) == []
    assert isinstance(parse_definition(data), Definition)
    assert set(found(data, strict=True)) == {
        ("owner", "unknown_field"),
        ("settings.theme", "unknown_field"),
        ("sections[0].steps[0].colour", "unknown_field"),
        ("sections[0].steps[0].photo.best", "unknown_field"),
        ("sections[0].steps[0].config.unit", "unknown_field"),
        ("sections[0].steps[0].config.zz", "unknown_field"),
        ("sections[0].steps[1].condition.x", "unknown_field"),
        ("sections[0].steps[1].condition.when.or", "unknown_field"),
    }


def test_a_template_without_steps_can_be_stored_but_not_run() -> None:
    assert [problem.code for problem in runnable_problems(parse_definition(many_steps(0, 0)))] == [
        "template_not_runnable"
    ]
    assert runnable_problems(parse_definition(many_steps(0, 1))) == []
