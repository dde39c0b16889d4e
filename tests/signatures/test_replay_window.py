"""The nonces that a receiver remembers: for as long as `verify` takes their signature, and no longer."""

import json
import runpy
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from checklist_dev.repository import ROOT
from checklist_dev.verifiers import Programs
from checklist_dev.webhook_vectors.requests import CREATED, Request

EXAMPLES = ROOT / "examples" / "receivers"
Sequence = list[tuple[str, int]]
IsNew = Callable[[Sequence], list[bool]]

NODE = """
    import { readFileSync } from 'node:fs'
    const { Nonces } = await import(process.argv[1])
    const nonces = new Nonces()
    console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(([nonce, now]) => nonces.isNew(nonce, now))))
"""


@pytest.fixture(params=["python", "node"])
def is_new(request: pytest.FixtureRequest, programs: Programs) -> IsNew:
    """What the example's memory says to nonces that come one after the other, each at its second."""

    def by_python(sequence: Sequence) -> list[bool]:
        nonces: Any = runpy.run_path(str(EXAMPLES / "inbox.py"))["Nonces"]()
        return [nonces.is_new(nonce, now) for nonce, now in sequence]

    def by_node(sequence: Sequence) -> list[bool]:
        command = [programs.node_receiver[0], "--input-type=module", "-e", NODE, str(EXAMPLES / "node/inbox.mjs")]
        done = subprocess.run(command, input=json.dumps(sequence), capture_output=True, text=True, check=True)
        return list(json.loads(done.stdout))

    return by_python if request.param == "python" else by_node


def test_a_nonce_is_known_for_310_seconds_and_then_forgotten(is_new: IsNew) -> None:
    sequence = [("a", 0), ("b", 100), ("a", 310), ("a", 311), ("b", 410), ("b", 411), ("c", 411), ("c", 411)]
    assert is_new(sequence) == [True, True, False, True, False, True, True, False]


def test_no_signature_is_taken_for_longer_than_its_nonce_is_known() -> None:
    """Taken at the first moment possible, a transmission is refused for its age before its nonce is forgotten."""
    verify: Any = runpy.run_path(str(EXAMPLES / "verify.py"))["verify"]
    request = Request.signed(expires_s=0)
    taken = []
    for after_s in range(-10, 400):
        try:
            body = request.body.encode()
            verify("POST", request.url, dict(request.headers), body, request.secret, now=CREATED + after_s)
        except ValueError:
            continue
        taken.append(after_s)
    assert (taken[0], taken[-1], len(taken)) == (-5, 305, 311)
