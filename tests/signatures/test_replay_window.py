"""The nonces that a receiver remembers: for as long as `verify` takes their signature, and no longer."""

import contextlib
import json
import runpy
import subprocess
from typing import Any

from checklist_dev.generate.webhook_vectors.requests import CREATED, Request
from checklist_dev.programs.verifiers import Programs
from checklist_dev.repository import ROOT

EXAMPLES = ROOT / "examples" / "receivers"
NODE = """
    import { readFileSync } from 'node:fs'
    const { Nonces } = await import(process.argv[1])
    const nonces = new Nonces()
    console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(([nonce, now]) => nonces.isNew(nonce, now))))
"""


def test_a_nonce_is_known_for_310_seconds_and_then_forgotten(programs: Programs) -> None:
    sequence = [("a", 0), ("b", 100), ("a", 310), ("a", 311), ("b", 410), ("b", 411), ("c", 411), ("c", 411)]
    is_new = [True, True, False, True, False, True, True, False]
    nonces: Any = runpy.run_path(str(EXAMPLES / "inbox.py"))["Nonces"]()
    assert [nonces.is_new(nonce, now) for nonce, now in sequence] == is_new
    command = [programs.node_receiver[0], "--input-type=module", "-e", NODE, str(EXAMPLES / "node/inbox.mjs")]
    done = subprocess.run(command, input=json.dumps(sequence), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == is_new


def test_no_signature_is_taken_for_longer_than_its_nonce_is_known() -> None:
    """Taken at the first moment possible, a transmission is refused for its age before its nonce is forgotten."""
    verify: Any = runpy.run_path(str(EXAMPLES / "verify.py"))["verify"]
    request = Request.signed(expires_s=0)
    taken, body = [], request.body.encode()
    for after_s in range(-10, 400):
        with contextlib.suppress(ValueError):
            verify("POST", request.url, dict(request.headers), body, request.secret, now=CREATED + after_s)
            taken.append(after_s)
    assert (taken[0], taken[-1], len(taken)) == (-5, 305, 311)
