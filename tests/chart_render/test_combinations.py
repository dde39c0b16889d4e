"""Each combination of values renders to what it has to, and to what it rendered to before (snapshots/).

After a change that was meant: `.venv/bin/python -m pytest tests/chart_render --snapshots=write`, then look at the
difference with git.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import HERE, Case, Object, cases, rendered

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_combination_of_values_renders_as_it_should(case: Case, request: pytest.FixtureRequest) -> None:
    objects = rendered(case.values)
    counts = Counter(body["kind"] for body in objects)
    for kind, wanted in case.kinds.items():
        assert counts[kind] == wanted, f"{counts[kind]} of kind {kind}"
    for where, value in case.expect.items():
        assert found_at(objects, where) == value, where
    names = [(body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"]) for body in objects]
    assert len(names) == len(set(names)), "two objects have one name"
    compare(case.name, objects, write=request.config.getoption("--snapshots") == "write")


def test_there_are_at_least_thirty_combinations_and_no_snapshot_without_one() -> None:
    assert len(CASES) >= 30
    assert {file.stem for file in (HERE / "snapshots").iterdir()} == {file_name(case.name) for case in CASES}


def found_at(objects: list[Object], where: str) -> Any:
    """What is at `Kind/name: path`; None for what is not there."""
    kind, _, rest = where.partition("/")
    suffix, _, path = rest.partition(": ")
    names = {suffix, f"rel-checklist-dispatch{suffix}"}
    found = [body for body in objects if body["kind"] == kind and body["metadata"]["name"] in names]
    if not found:
        found = [body for body in objects if body["kind"] == kind and body["metadata"]["name"].endswith(suffix)]
    assert len(found) == 1, f"{len(found)} objects are {kind}/{suffix}"
    if path.startswith("env."):
        variables = found[0]["spec"]["template"]["spec"]["containers"][0]["env"]
        values = [variable["value"] for variable in variables if variable["name"] == path.removeprefix("env.")]
        assert len(values) <= 1, f"{path} is set twice"
        return values[0] if values else None
    place: Any = found[0]
    for word in path.split("."):
        word = word.replace("~", ".")
        if isinstance(place, list):
            place = place[int(word)] if int(word) < len(place) else None
        else:
            place = (place or {}).get(word)
    return place


def compare(name: str, objects: list[Object], *, write: bool) -> None:
    text = yaml.dump_all([unrandom(body) for body in objects], Dumper=yaml.CSafeDumper, sort_keys=True, width=120)
    file = Path(HERE / "snapshots" / f"{file_name(name)}.yaml")
    if write:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"{file} is missing: --snapshots=write makes it"
    assert text == file.read_text(), "it renders to something else: --snapshots=write if that is meant"


def unrandom(body: Object) -> Object:
    """Keys are made anew each time; the versions in labels change with every release."""
    if body["kind"] == "Secret":
        body = {**body, "data": dict.fromkeys(body["data"], "MADE")}
    return yaml.load(
        re.sub(
            r"(helm.sh/chart: checklist-dispatch-|app.kubernetes.io/version: )\S+",
            r"\1VERSION",
            yaml.dump(body, Dumper=yaml.CSafeDumper, width=10_000),
        ),
        Loader=yaml.CSafeLoader,
    )


def file_name(name: str) -> str:
    return name.replace(" ", "-")
