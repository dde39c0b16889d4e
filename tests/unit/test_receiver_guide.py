"""The receiver guide is true: its code is the example, and the example accepts what we send and nothing else."""

import ast
import asyncio
import json
import re
import runpy
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from multidict import CIMultiDict

from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.outcome import OutcomeClass
from checklist_operator.delivery.sender import Sender, tls_context

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/receivers"
SECRET = "a secret of sixteen"
GUIDE = (ROOT / "docs/receivers.md").read_text()


def envelope(event_id: str, attempt: int = 1) -> bytes:
    event = {
        "event_id": event_id,
        "delivery_attempt": attempt,
        "event": "run.completed",
        "run_id": "r-1",
        "data": {"note": "☃"},
    }
    return json.dumps(event).encode()


@asynccontextmanager
async def running_receiver(*options: str) -> AsyncIterator[tuple[str, asyncio.StreamReader]]:
    """The example as a program of its own: the URL that it printed and the rest of its output."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLES / "receiver.py"), "--port", "0", *options, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        first = await asyncio.wait_for(process.stdout.readline(), 60)
        yield first.decode().strip().removeprefix("listening: "), process.stdout
    finally:
        process.terminate()
        await process.wait()


def open_sender() -> Sender:
    return Sender(AddressPolicy(allow_insecure=True), ssl_context=tls_context())


async def line(output: asyncio.StreamReader) -> str:
    """The next one about a delivery; what is said about the work on one comes from another thread, at any time."""
    while True:
        said = (await asyncio.wait_for(output.readline(), 60)).decode().strip()
        if not said.startswith("worked on: "):
            return said


@pytest.mark.parametrize(
    ("language", "example"), [("python", "verify.py"), ("js", "node/verify.mjs"), ("go", "go/delivery/verify.go")]
)
def test_the_code_in_the_guide_is_the_example(language: str, example: str) -> None:
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert (EXAMPLES / example).read_text() in blocks


def test_every_file_that_the_guide_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", GUIDE)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_the_loop_over_the_vectors_in_the_guide_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    (loop,) = (block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "webhook-vectors" in block)
    monkeypatch.chdir(ROOT / "docs")
    names = {"json": json, "Path": Path, "verify": runpy.run_path(str(EXAMPLES / "verify.py"))["verify"]}
    exec(loop, names | {"Headers": CIMultiDict})


def test_the_versions_of_libraries_in_the_guide_are_those_that_the_tests_run() -> None:
    packages = json.loads((ROOT / "tests/signatures/node/package.json").read_text())["dependencies"]
    for name, version in packages.items():
        assert f"npm `{name}` {version} |" in GUIDE
    (version,) = re.findall(r"yaronf/httpsign v(\S+)", (ROOT / "tests/signatures/go/go.mod").read_text())
    assert f"Go `github.com/yaronf/httpsign` {version} |" in GUIDE


def test_the_verifier_is_short_and_needs_the_standard_library_only() -> None:
    tree = ast.parse((EXAMPLES / "verify.py").read_text())
    imported = {node.names[0].name for node in tree.body if isinstance(node, ast.Import)}
    imported |= {str(node.module).partition(".")[0] for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert imported <= set(sys.stdlib_module_names)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert (function.end_lineno or 0) - function.body[1].lineno + 1 <= 25


async def test_the_receiver_fails_as_often_as_asked_and_then_verifies_and_knows_duplicates() -> None:
    async with running_receiver("--secret", SECRET, "--fail", "2") as (url, output), open_sender() as sender:
        classes = []
        for attempt in (1, 2, 3, 3):
            outcome = await sender.send(url, envelope("evt-1", attempt), SECRET.encode(), "r-1")
            classes.append(outcome.outcome_class)
        assert classes == [OutcomeClass.HTTP_5XX, OutcomeClass.HTTP_5XX, OutcomeClass.SUCCESS, OutcomeClass.SUCCESS]
        assert [await line(output) for _ in range(4)] == [
            "500 failed as asked: run.completed evt-1 attempt 1 of r-1",
            "500 failed as asked: run.completed evt-1 attempt 2 of r-1",
            '204 verified: run.completed evt-1 attempt 3 of r-1 {"note": "\\u2603"}',
            "204 duplicate: run.completed evt-1 attempt 3 of r-1",
        ]


async def test_the_receiver_refuses_another_secret_and_another_url_than_was_configured() -> None:
    async with running_receiver("--secret", SECRET) as (url, output), open_sender() as sender:
        for target, secret in ((url, b"some other secret"), (url + "?other=1", SECRET.encode())):
            outcome = await sender.send(target, envelope("evt-1"), secret, "r-1")
            assert outcome.http_status == 401
            assert await line(output) == "401 refused: signature: made with another secret, or for another request"
