"""Documents: the words and the guides."""

import importlib
import json
import re
import runpy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict
from tests.signatures.judges import OTHERS
from tests.signatures.receivers import EXAMPLES

from checklist_api.deliveries.event_models import StepCompletedEvent
from checklist_api.deliveries.models import Delivery, EndpointList, Replay, ReplayRequest
from checklist_api.runs.models import DispatchRequest
from checklist_crds.errors import PayloadNotKept, ReplayRefused, ServiceError
from checklist_crds.resources.event_names import EVENT_NAMES
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_dev.checks.citations import anchors, dead_ends
from checklist_dev.checks.dialect import risen, uses
from checklist_dev.repository import ROOT

CONTRACT = """\
# Contract

## 5. Runs

### Quota

```
## 6. No heading
```
"""
DOCUMENT = "docs/design/contract.md"
SECTION = "section"  # apart from the name of a document, or the check would find what is cited here


def found(path: str, text: str) -> list[str]:
    texts = {DOCUMENT: CONTRACT, path: text}
    return list(dead_ends(texts, frozenset({*texts, "docs/pictures/one.png"})))


@pytest.mark.parametrize(
    "citation",
    [
        f"contract {SECTION} 5",
        f'contract {SECTION} 5, "Quota"',
        'contract, "Runs"',
        f"the contract # {SECTION}\n# 5",
        f"RFC 9421, {SECTION} 2.3",
        f"contract {SECTION} 5, 400 in the body",
    ],
)
def test_a_citation_of_a_heading_is_accepted(citation: str) -> None:
    assert found("crds/module.py", citation) == []


@pytest.mark.parametrize(
    ("citation", "missing"),
    [
        (f"Contract {SECTION} 6", "'6'"),
        (f"contract {SECTION}s 5, 7 and 8", "'7'"),
        (f'contract {SECTION} 5, "Rates"', "'Rates'"),
        (f"contract\n    # {SECTION} 7", "'7'"),
        ("specification" + ', "Runs"', "'Runs'"),
        ("contract" + ', "Runs" and "Rates"', "'Rates'"),
    ],
)
def test_a_citation_without_a_heading_is_named_with_its_file(citation: str, missing: str) -> None:
    first, *_ = found("api/web/core/module.ts", citation)
    assert first.startswith("api/web/core/module.ts: ") and missing in first


@pytest.mark.parametrize(
    "link",
    [
        f"[a](../{DOCUMENT})",
        f"[a](../{DOCUMENT}#5-runs)",
        "[a](#here)",
        "[a](https://example.com/nothing.md)",
        '<img src="../docs/pictures/one.png">',
        "`[a](nothing.md)`",
        "```\n[a](nothing.md)\n```",
    ],
)
def test_a_link_to_a_file_or_heading_is_accepted(link: str) -> None:
    assert found("guide/page.md", f"# Here\n\n{link}\n") == []


@pytest.mark.parametrize(
    "link", ["[a](nothing.md)", f"[a](../{DOCUMENT}#6-no-heading)", "[a](#there)", '<img src="two.png">']
)
def test_a_link_that_leads_nowhere_is_found(link: str) -> None:
    assert len(found("guide/page.md", f"# Here\n\n{link}\n")) == 1


def test_a_path_of_a_document_in_code_must_exist() -> None:
    assert found("crds/module.py", f"see {DOCUMENT}#5-runs") == []
    assert len(found("crds/module.py", f"see {DOCUMENT}#9-events")) == 1
    assert len(found("crds/module.py", "see docs/" + "nothing.md")) == 1


def test_anchors_are_those_of_github() -> None:
    text = "# `make run`, *fast*\n## 7. Errors\n## Same\n## Same\n### [A](b.md): c/d\n"
    assert anchors(text) == {"make-run-fast", "7-errors", "same", "same-1", "a-cd"}


def test_the_contract_lists_every_error_code_with_its_status() -> None:
    importlib.import_module("checklist_api.app")  # with all errors that the API defines itself

    def tree(error: type[ServiceError]) -> Iterator[tuple[int, str]]:
        for kind in error.__subclasses__():
            if "code" in vars(kind) or kind.status == 500:
                yield kind.status, kind.code
            yield from tree(kind)

    text = (ROOT / DOCUMENT).read_text("utf-8")
    listed = [(int(status), code) for status, code in re.findall(r"^\| (\d{3}) \| `(\w+)` \|", text, re.MULTILINE)]
    assert sorted(listed) == sorted(tree(ServiceError))


WORDS = ["gizmo", "spun up"]


def test_words_are_counted_in_prose_and_in_parts_of_names() -> None:
    text = "Gizmo again: class GizmoStep, MAX_GIZMO, gizmo_once; spun_up, spunUp, spun up."
    assert uses(text, WORDS) == Counter({"gizmo": 4, "spun up": 3})


def test_a_count_may_fall_and_not_rise_and_a_new_folder_starts_at_none() -> None:
    found = {"api": Counter(gizmo=2), "cli": Counter(gizmo=1), "new": Counter(gizmo=1)}
    first, second = risen(found, {"api": 1, "cli": 5})
    assert first.startswith("api: 2 ") and "gizmo 2" in first
    assert second.startswith("new: 1 ")


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


def test_the_loop_over_the_vectors_in_the_guide_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    (loop,) = (
        block for block in re.findall(r"```python\n(.*?)```", RECEIVERS, re.DOTALL) if "webhook-vectors" in block
    )
    monkeypatch.chdir(ROOT / "docs")
    names = {"json": json, "Path": Path, "verify": runpy.run_path(str(EXAMPLES / "verify.py"))["verify"]}
    exec(loop, names | {"Headers": CIMultiDict})


WEBHOOKS = (ROOT / "docs/webhooks.md").read_text()
SHAPES = (DispatchRequest, StepCompletedEvent, Delivery, ReplayRequest, Replay, EndpointList)


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
    assert ReplayRequest.read(blocks[3]).filter.to_resource(str).outcome is OutcomeClass.HTTP_5XX


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
