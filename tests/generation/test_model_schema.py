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
        assert set(config) == set(CONFIG_FIELDS.get(kind, ()))


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
