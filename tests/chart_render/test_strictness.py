"""A typo is refused at every depth: in each mapping that values may have, in lists and in what Kubernetes defines."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from checklist_dev.chart_files import CHART
from checklist_dev.chart_pod_parts import FILE, asked, text_of
from checklist_dev.kubectl import Kubectl

from .conftest import rendered

Schema = dict[str, Any]
Path = tuple[str | int, ...]
SCHEMA: Schema = json.loads((CHART / "values.schema.json").read_text())
# What Helm hands to a chart that is part of another one, and what the API server alone writes: not ours to know.
OPEN = {"global", "fieldsV1"}


def target(schema: Schema) -> Schema:
    """What a reference leads to."""
    reference = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf", ()) if "$ref" in one), None)
    return SCHEMA["$defs"][reference.rpartition("/")[2]] if reference else schema


def mappings(schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Every place where a mapping may be. 0: in a list; `any`: below a key that everybody names as he likes."""
    schema = target(schema)
    kinds = schema.get("type")
    if "object" in ([kinds] if isinstance(kinds, str) else kinds or ()):
        yield path, schema
        for name, child in schema.get("properties", {}).items():
            yield from mappings(child, (*path, name))
        if isinstance(schema.get("additionalProperties"), dict):
            yield from mappings(schema["additionalProperties"], (*path, "any"))
    if isinstance(schema.get("items"), dict):
        yield from mappings(schema["items"], (*path, 0))


def insert(values: Any, path: Path, key: str) -> None:
    """`key: 1` in the mapping at `path`; the same element of a list for all."""
    for step, following in zip(path, [*path, ""][1:], strict=True):
        empty: Any = [] if following == 0 else {}
        if isinstance(step, int):
            if not values:
                values.append(empty)
            values = values[0]
        else:
            values = values.setdefault(step, empty)
    values[key] = 1


def test_every_mapping_knows_its_keys_or_the_type_of_all() -> None:
    found = dict(mappings(SCHEMA))
    assert len(found) > 150
    for path, schema in found.items():
        if path[-1:] not in {(name,) for name in OPEN}:
            allowed = schema.get("additionalProperties")
            assert allowed is False or (isinstance(allowed, dict) and allowed), path


def test_a_typo_below_any_mapping_is_refused() -> None:
    """All in one go; Helm names each."""
    values: dict[str, Any] = {}
    typos = []
    for number, (path, schema) in enumerate(mappings(SCHEMA)):
        if schema.get("additionalProperties") is False:
            typos.append(f"typo-{number}")
            insert(values, path, typos[-1])
    assert len(typos) > 150
    with pytest.raises(ValueError, match="additional properties") as refused:
        rendered(values)
    assert [typo for typo in typos if f"'{typo}'" not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("values", "typo"),
    [
        ({"api": {"tolerations": [{"keyy": "apps"}]}}, "keyy"),
        ({"operator": {"affinity": {"nodeAffinty": {}}}}, "nodeAffinty"),
        ({"api": {"extraEnv": [{"name": "A", "valueFrom": {"secretKeyRefs": {}}}]}}, "secretKeyRefs"),
        ({"api": {"extraVolumes": [{"name": "x", "emptydir": {}}]}}, "emptydir"),
        ({"api": {"autoscaling": {"behavior": {"scaleDown": {"policy": []}}}}}, "policy"),
        ({"networkPolicy": {"apiEgress": [{"to": [{"ipBlock": {"cidrs": "10.0.0.0/8"}}]}]}}, "cidrs"),
        (
            {"metrics": {"prometheusRule": {"extraGroups": [{"name": "a", "rules": [{"expression": "1"}]}]}}},
            "expression",
        ),
    ],
    ids=str,
)
def test_a_typo_in_what_kubernetes_defines_is_refused(values: dict[str, Any], typo: str) -> None:
    with pytest.raises(ValueError, match=f"additional properties '{typo}' not allowed"):
        rendered(values)


def test_these_parts_are_those_of_the_api_server(kubectl: Kubectl) -> None:
    """`python -m checklist_dev.chart_pod_parts` writes them anew."""
    assert FILE.read_text() == text_of(asked(kubectl))
