"""docs/receivers.md is true: its code is the code of the examples, which tests/signatures runs."""

import asyncio
import json
import re
import runpy
import sys
from pathlib import Path

import pytest
from multidict import CIMultiDict
from tests.signatures.judges import OTHERS
from tests.signatures.receivers import EXAMPLES, SECRET

from checklist_dev.repository import ROOT
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.sender import Sender

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


def test_the_loop_over_the_vectors_in_the_guide_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    (loop,) = (block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "webhook-vectors" in block)
    monkeypatch.chdir(ROOT / "docs")
    names = {"json": json, "Path": Path, "verify": runpy.run_path(str(EXAMPLES / "verify.py"))["verify"]}
    exec(loop, names | {"Headers": CIMultiDict})


async def test_the_receiver_fails_as_often_as_asked() -> None:
    command = [sys.executable, str(EXAMPLES / "receiver.py"), "--port", "0", "--secret", SECRET, "--fail", "2"]
    receiver = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert receiver.stdout is not None
    try:
        url = (await receiver.stdout.readline()).decode().strip().removeprefix("listening: ")
        async with Sender(AddressPolicy(allow_insecure=True)) as sender:
            statuses = []
            for attempt in (1, 2, 3):
                event = {"event_id": "evt-1", "delivery_attempt": attempt, "event": "run.completed", "run_id": "r-1"}
                outcome = await sender.send(url, json.dumps(event | {"data": {}}).encode(), SECRET.encode(), "r-1")
                statuses.append(outcome.http_status)
    finally:
        receiver.terminate()
        await receiver.wait()
    assert statuses == [500, 500, 204]
