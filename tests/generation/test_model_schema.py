"""The schema for structured output: what strict servers take, and nothing that validation would then refuse by form."""

import copy
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from tests.generation.model_server import TEMPLATE

from checklist_api.generation.model_schema import strict_schema
from checklist_crds.step_rules import CONFIG_FIELDS
from checklist_crds.template_types import StepType
from checklist_crds.template_validation import parse_definition

ALLOWED = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "$ref", "$defs"}
BOUNDS = {"maxLength", "maxItems", "minimum", "maximum"}
SCHEMA = strict_schema(bounded=False)


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """All schemas within a schema."""
    yield node
    for part in (*node.get("properties", {}).values(), *node.get("$defs", {}).values(), *node.get("anyOf", ())):
        yield from nodes(part)
    if "items" in node:
        yield from nodes(node["items"])


def problems(document: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(strict_schema(bounded=True)).iter_errors(document)]


def test_it_is_a_schema_of_keywords_that_strict_mode_knows() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for node in nodes(SCHEMA):
        assert set(node) <= ALLOWED
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
        if "$ref" in node:
            assert list(node) == ["$ref"]
            assert node["$ref"].removeprefix("#/$defs/") in SCHEMA["$defs"]
    assert SCHEMA["type"] == "object"
    used = {node["$ref"].removeprefix("#/$defs/") for node in nodes(SCHEMA) if "$ref" in node}
    assert used == set(SCHEMA["$defs"])


def test_every_type_of_step_has_its_own_config_and_no_other() -> None:
    for kind in StepType:
        step = SCHEMA["$defs"][f"Step_{kind.value}"]["properties"]
        config = step.get("config", {"properties": {}})["properties"]
        assert set(config) == set(CONFIG_FIELDS.get(kind, ()))


def test_a_complete_template_fits_and_what_is_missing_or_foreign_does_not() -> None:
    assert problems(TEMPLATE) == []
    for change in ("unit", "options"):
        broken = copy.deepcopy(TEMPLATE)
        for step in broken["sections"][0]["steps"]:
            step["config"].pop(change, None)
        assert problems(broken)
    assert problems(TEMPLATE | {"id": "t-1"})


def test_with_bounds_it_is_the_same_but_for_the_bounds() -> None:
    bounded = copy.deepcopy(strict_schema(bounded=True))
    Draft202012Validator.check_schema(bounded)
    for node in nodes(bounded):
        assert set(node) <= ALLOWED | BOUNDS
        if node.get("type") == "string":
            assert "enum" in node or node["maxLength"] <= 300
        if node.get("type") in ("integer", "number"):
            assert node["minimum"] < node["maximum"]
        for bound in BOUNDS:
            node.pop(bound, None)
    assert bounded == SCHEMA


def test_no_bound_is_beyond_what_create_takes() -> None:
    longest = {"name": "x" * 120, "description": "x" * 300, "tags": ["x" * 40] * 6}
    assert problems(TEMPLATE | longest) == []
    parse_definition({"name": TEMPLATE["name"], "sections": [], **longest})
    assert problems(TEMPLATE | {"name": "x" * 121})
    assert problems(TEMPLATE | {"tags": ["x"] * 7})
