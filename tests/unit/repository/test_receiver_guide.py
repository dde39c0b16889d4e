"""docs/receivers.md is true: its code is the code of the examples, which tests/signatures runs."""

import json
import re
import runpy
from pathlib import Path

import pytest
from multidict import CIMultiDict
from tests.signatures.judges import OTHERS
from tests.signatures.receivers import EXAMPLES

from checklist_dev.repository import ROOT

GUIDE = (ROOT / "docs/receivers.md").read_text()


@pytest.mark.parametrize(
    ("language", "example"), [("python", "verify.py"), ("js", "node/verify.mjs"), ("go", "go/delivery/verify.go")]
)
def test_the_code_in_the_guide_is_the_example(language: str, example: str) -> None:
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert (EXAMPLES / example).read_text() in blocks


def test_the_libraries_that_the_guide_calls_tested_are_those_that_the_tests_run() -> None:
    rows = re.findall(r"^\| (?:npm|Go|PyPI|crates\.io) `(\S+)` (\S+) \| (tests|by hand) \|", GUIDE, re.MULTILINE)
    node: dict[str, str] = json.loads((ROOT / "tests/signatures/node/package.json").read_text())["dependencies"]
    module, version = re.findall(r"(\S+/httpsign) v(\S+)", (ROOT / "tests/signatures/go/go.mod").read_text())[0]
    tested = {name: version for name, version, run in rows if run == "tests"}
    assert tested == node | {module: version}
    assert {name.removeprefix("github.com/yaronf/") for name in tested} == OTHERS


def test_every_file_that_the_guide_links_to_exists() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", GUIDE)
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == [] != links


def test_the_loop_over_the_vectors_in_the_guide_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    (loop,) = (block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "webhook-vectors" in block)
    monkeypatch.chdir(ROOT / "docs")
    names = {"json": json, "Path": Path, "verify": runpy.run_path(str(EXAMPLES / "verify.py"))["verify"]}
    exec(loop, names | {"Headers": CIMultiDict})
