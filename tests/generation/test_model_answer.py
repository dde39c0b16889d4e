"""What a model is asked to write, what is forgiven in its answer, and what is not: the verdict is that of create."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.generation.model_server import TEMPLATE

from checklist_api.generation.language_model.answer import Unusable, read_answer
from checklist_api.generation.language_model.schema import strict_schema
from checklist_crds.resources.template_definition import Definition, StepType
from checklist_crds.templates.validation import parse_definition

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> str:
    document = copy.deepcopy(TEMPLATE)
    change(document)
    return json.dumps(document)


def steps_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return list(document["sections"][0]["steps"])


def problems_of(text: str) -> str:
    with pytest.raises(Unusable) as unusable:
        read_answer(text)
    return "\n".join(unusable.value.problems)


def test_an_estimate_that_cannot_be_is_none_and_settings_may_be_left_out() -> None:
    for settings, expected in (({"est_minutes": 1e15}, None), ({"est_minutes": 12.5}, 12.5), (None, None)):
        made = read_answer(changed(lambda it, settings=settings: it.update(settings=settings))).to_tdl()["settings"]
        assert made == {"allow_skip": False, "signature_on_complete": False, "est_minutes": expected}


def test_photos_may_be_written_in_other_ways() -> None:
    ways = ((None, False), (False, False), ({"min": 0, "max": 0}, False), (True, {"min": 1, "max": 20}))
    for photo, expected in ways:
        made = read_answer(changed(lambda it, photo=photo: steps_of(it)[0].update(photo=photo)))
        assert made.to_tdl()["sections"][0]["steps"][0]["photo"] == expected


def test_options_may_be_plain_texts_and_conditions_may_name_their_labels() -> None:
    def change(document: dict[str, Any]) -> None:
        _, choice, text = steps_of(document)
        choice["config"]["options"] = ["Good", "Broken", "Good"]
        text["condition"] = {"step": "s-2", "op": "in", "value": ["Broken"]}

    steps = read_answer(changed(change)).to_tdl()["sections"][0]["steps"]
    assert [option["id"] for option in steps[1]["config"]["options"]] == ["o-good", "o-broken", "o-good-2"]
    assert steps[2]["condition"]["when"] == {"step": "s-state-of-the-door-seal", "op": "in", "value": ["o-broken"]}


def test_ids_are_made_of_labels_of_any_script() -> None:
    for labels, ids in (
        (("Temperature",) * 3, ["s-temperature", "s-temperature-2", "s-temperature-3"]),
        (("温度", "Größe prüfen", "🔥"), ["s-1", "s-grosse-prufen", "s-3"]),
    ):
        document = copy.deepcopy(TEMPLATE)
        for step, label in zip(steps_of(document), labels, strict=True):
            step.update(id="§ 1", label=label, condition=None)
        assert [step.id for _, step in read_answer(json.dumps(document)).steps()] == ids


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda it: steps_of(it)[2]["condition"]["when"].update(step="s-9"), "There is no step s-9"),
        (lambda it: steps_of(it)[2]["condition"]["when"].update(value="o-9"), "condition.when.value"),
        (lambda it: steps_of(it)[0]["config"].update(min=9, max=1), "config.min"),
        (lambda it: steps_of(it)[0].update(type="slider"), "type: Must be one of"),
        (lambda it: steps_of(it)[0].update(label="x" * 501), "label: Has at most 500"),
        (lambda it: steps_of(it)[0].update(photo={"min": 9, "max": 2}), "photo.min"),
        (lambda it: it["sections"][0].update(steps={}), "steps: Must be a list"),
        (lambda it: it.update(sections=it["sections"] * 51), "sections"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: Change, problem: str) -> None:
    assert problem in problems_of(changed(change))


_names = "name sections steps id type label photo config options condition when step op value all any min max settings"
_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=8)
    | st.sampled_from(["s-1", "s-2", "choice", "number", "eq", "o-1"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from([*_names.split(), "title", "tags"]), inner, max_size=5),
    max_leaves=30,
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A template in which some things are replaced by others."""
    document = copy.deepcopy(TEMPLATE)
    for _ in range(draw(st.integers(1, 3))):
        place: Any = document
        while isinstance(place, dict | list) and place:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], dict | list) or draw(st.booleans()):
                place[key] = draw(_values)
                break
            place = place[key]
    return json.dumps(document)


@given(damaged() | st.text() | _values.map(json.dumps))
def test_every_answer_is_a_template_that_create_takes_or_unusable(text: str) -> None:
    try:
        made = read_answer(text)
    except Unusable as unusable:
        assert unusable.problems
        return
    assert isinstance(made, Definition)
    assert parse_definition(json.loads(json.dumps(made.to_tdl())), strict=True).to_tdl() == made.to_tdl()


# --- the schema for structured output: what strict servers take, and nothing that validation would refuse by form

ALLOWED = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "$ref", "$defs"}
BOUNDS = {"maxLength", "maxItems", "minimum", "maximum"}
SCHEMA = strict_schema(bounded=False)


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    yield node
    for part in (*node.get("properties", {}).values(), *node.get("$defs", {}).values(), *node.get("anyOf", ())):
        yield from nodes(part)
    if "items" in node:
        yield from nodes(node["items"])


def test_it_is_a_schema_of_keywords_that_strict_mode_knows_and_bounds_add_nothing_else() -> None:
    bounded = copy.deepcopy(strict_schema(bounded=True))
    for schema in (SCHEMA, bounded):
        Draft202012Validator.check_schema(schema)
    used = set()
    for node in nodes(SCHEMA):
        assert set(node) <= ALLOWED
        if node.get("type") == "object":
            assert (node["additionalProperties"], node["required"]) == (False, list(node["properties"]))
        if "$ref" in node:
            assert list(node) == ["$ref"]
            used.add(node["$ref"].removeprefix("#/$defs/"))
    assert used == set(SCHEMA["$defs"])
    for node in nodes(bounded):
        if node.get("type") == "string":
            assert "enum" in node or node["maxLength"] <= 300
        if node.get("type") in ("integer", "number"):
            assert node["minimum"] < node["maximum"]
        for bound in BOUNDS:
            node.pop(bound, None)
    assert bounded == SCHEMA


def test_every_type_of_step_has_its_own_config_and_no_other() -> None:
    for kind in StepType:
        step = SCHEMA["$defs"][f"Step_{kind.value}"]["properties"]
        config = step.get("config", {"properties": {}})["properties"]
        assert set(config) == set(kind.rules.config_fields) - {
            "expected",
            "on_flag",
        }  # a person decides what is expected


def test_a_template_within_the_bounds_fits_and_is_taken_by_create_and_others_do_not() -> None:
    fits = Draft202012Validator(strict_schema(bounded=True)).is_valid
    longest = {"name": "x" * 120, "description": "x" * 300, "tags": ["x" * 40] * 6}
    assert fits(TEMPLATE) and fits(TEMPLATE | longest)
    parse_definition({"name": TEMPLATE["name"], "sections": [], **longest})
    for change in ({"name": "x" * 121}, {"tags": ["x"] * 7}, {"id": "t-1"}):
        assert not fits(TEMPLATE | change)
    for missing in ("unit", "options"):
        broken = copy.deepcopy(TEMPLATE)
        for step in broken["sections"][0]["steps"]:
            step["config"].pop(missing, None)
        assert not fits(broken)
