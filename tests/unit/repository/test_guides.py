"""docs/receivers.md and docs/webhooks.md agree with the examples, the models and the tables of the code."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict
from tests.signatures.judges import OTHERS
from tests.signatures.receivers import EXAMPLES

from checklist_api.deliveries.models import Delivery, EndpointList, Replay, ReplayRequest
from checklist_api.runs.models import DispatchRequest
from checklist_crds.errors import PayloadNotKept, ReplayRefused
from checklist_crds.resources.event_names import EVENT_NAMES
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_dev.repository import ROOT

RECEIVERS = (ROOT / "docs/receivers.md").read_text()


@pytest.mark.parametrize(
    ("language", "example"), [("python", "verify.py"), ("js", "node/verify.mjs"), ("go", "go/delivery/verify.go")]
)
def test_the_code_in_the_guide_is_the_example(language: str, example: str) -> None:
    blocks = re.findall(rf"```{language}\n(.*?)```", RECEIVERS, re.DOTALL)
    assert (EXAMPLES / example).read_text() in blocks


def test_the_libraries_that_the_guide_calls_tested_are_those_that_the_tests_run() -> None:
    rows = re.findall(r"^\| (?:npm|Go|PyPI|crates\.io) `(\S+)` (\S+) \| (tests|by hand) \|", RECEIVERS, re.MULTILINE)
    node: dict[str, str] = json.loads((ROOT / "tests/signatures/node/package.json").read_text())["dependencies"]
    module, version = re.findall(r"(\S+/httpsign) v(\S+)", (ROOT / "tests/signatures/go/go.mod").read_text())[0]
    tested = {name: version for name, version, run in rows if run == "tests"}
    assert tested == node | {module: version}
    assert {name.removeprefix("github.com/yaronf/") for name in tested} == OTHERS


def test_every_file_that_the_guide_links_to_exists() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", RECEIVERS)
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == [] != links


def test_the_loop_over_the_vectors_in_the_guide_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    (loop,) = (
        block for block in re.findall(r"```python\n(.*?)```", RECEIVERS, re.DOTALL) if "webhook-vectors" in block
    )
    monkeypatch.chdir(ROOT / "docs")
    names = {"json": json, "Path": Path, "verify": runpy.run_path(str(EXAMPLES / "verify.py"))["verify"]}
    exec(loop, names | {"Headers": CIMultiDict})


WEBHOOKS = (ROOT / "docs/webhooks.md").read_text()
SHAPES = (DispatchRequest, Delivery, ReplayRequest, Replay, EndpointList)


def table(heading: str) -> dict[str, str]:
    """Name to second cell, for each row of the table whose head begins with `heading`, without backticks."""
    rows = WEBHOOKS[WEBHOOKS.index(f"\n| {heading} |") + 1 :].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.replace("`", "").strip("|").split("|")] for row in rows]
    return {name: row[1] for row in cells for name in row[0].split(", ")}


def test_every_json_of_the_guide_fits_the_models_of_the_document() -> None:
    blocks: list[dict[str, Any]] = [
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", WEBHOOKS, re.DOTALL)
    ]
    for shape, block in zip(SHAPES, blocks, strict=True):
        is_request = shape.__name__.endswith("Request")  # an answer has every field
        assert shape.model_validate(block).model_dump(mode="json", exclude_unset=is_request) == block, shape
    assert ReplayRequest.read(blocks[2]).filter.to_resource(str).outcome is OutcomeClass.HTTP_5XX


def test_the_tables_have_every_name_and_the_codes_of_the_service() -> None:
    assert set(table("`outcome`")) == set(OutcomeClass)
    assert set(table("`status`")) == {"pending", "in_flight", "delivered", "failed"}
    assert set(table("event")) == set(EVENT_NAMES)
    # An annotation alone can be refused for an invalid timestamp.
    assert table("`replay_refusal`") == {
        refusal: (PayloadNotKept if refusal is ReplayRefusal.PAYLOAD_NOT_KEPT else ReplayRefused).code
        for refusal in ReplayRefusal
        if refusal is not ReplayRefusal.INVALID_TIMESTAMP
    }
