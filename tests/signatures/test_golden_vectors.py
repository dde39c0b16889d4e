"""The published vectors are true: for every verifier that we have or know, and for what the service sends now."""

import base64
import hashlib
import hmac
import json
import runpy
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.signatures.judges import ALL, EXAMPLES, Case, Verdicts, judge

from checklist_cli.captured_request import CapturedRequest
from checklist_cli.verification import Expectation, verify
from checklist_cli.verification import Verdict as CheckVerdict
from checklist_crds.webhook_url import canonical_url
from checklist_dev.repository import ROOT
from checklist_dev.verifiers import Programs
from checklist_dev.webhook_vectors.document import FILE, written
from checklist_dev.webhook_vectors.refused import CHECKS

DOCUMENT: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
VECTORS: list[dict[str, Any]] = DOCUMENT["vectors"]
CHECK_OF_MESSAGE = {"created, expires": "time"}


def raw_request(vector: dict[str, Any]) -> bytes:
    body: str = vector["body"]
    target = "/" + vector["url"].split("/", 3)[3]
    lines = [f"{vector['method']} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in vector["headers"])]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body.encode()


@pytest.fixture(scope="module")
def judged(programs: Programs) -> dict[str, Verdicts]:
    cases = [Case(vector["url"], vector["secret"], raw_request(vector), vector["now"]) for vector in VECTORS]
    return {vector["name"]: verdicts for vector, verdicts in zip(VECTORS, judge(programs, cases), strict=True)}


def test_the_file_is_what_the_service_would_send_now() -> None:
    assert written() == FILE.read_text(encoding="utf-8"), "run: python -m checklist_dev.webhook_vectors"


def test_no_two_vectors_have_one_name_and_there_are_many_of_both_kinds() -> None:
    assert len({vector["name"] for vector in VECTORS}) == len(VECTORS)
    kinds = Counter(vector["expect"] for vector in VECTORS)
    assert (kinds["accept"], kinds["refuse"]) >= (80, 80)
    assert {vector["check"] for vector in VECTORS if vector["expect"] == "refuse"} == set(CHECKS)


def test_every_verifier_accepts_every_vector_that_is_to_be_accepted(judged: dict[str, Verdicts]) -> None:
    wanted = [vector["name"] for vector in VECTORS if vector["expect"] == "accept"]
    refused = {(name, who): verdict for name in wanted for who, verdict in judged[name].items() if not verdict.accepted}
    assert refused == {}
    assert all(set(judged[name]) == ALL for name in wanted)


def test_every_verifier_refuses_every_vector_that_is_to_be_refused(judged: dict[str, Verdicts]) -> None:
    wanted = [vector["name"] for vector in VECTORS if vector["expect"] == "refuse"]
    assert [(name, who) for name in wanted for who, verdict in judged[name].items() if verdict.accepted] == []


@pytest.mark.parametrize("who", sorted(EXAMPLES))
def test_each_example_names_the_check_that_fails(judged: dict[str, Verdicts], who: str) -> None:
    wrong = []
    for vector in VECTORS:
        if vector["expect"] == "refuse":
            named = str(judged[vector["name"]][who].library).partition(": ")[0]
            if CHECK_OF_MESSAGE.get(named, named) != vector["check"]:
                wrong.append((vector["name"], vector["check"], named))
    assert wrong == []


def test_the_command_line_finds_the_same_and_the_check_that_fails_among_those_it_names() -> None:
    wrong = []
    for vector in VECTORS:
        request = CapturedRequest(
            vector["method"],
            "/" + vector["url"].split("/", 3)[3],
            tuple((name, value) for name, value in vector["headers"]),
            vector["body"].encode(),
        )
        expected = Expectation(vector["url"], vector["secret"].encode())
        report = verify(request, expected, now=datetime.fromtimestamp(vector["now"], UTC))
        failed = {check.name for check in report.checks if check.verdict is CheckVerdict.FAILED}
        named = {CHECK_OF_MESSAGE.get(name, name) for name in failed}
        if report.is_genuine != (vector["expect"] == "accept") or vector.get("check") not in {None, *named}:
            wrong.append((vector["name"], vector.get("check"), failed))
    assert wrong == []


def test_the_signature_base_of_each_vector_is_what_was_signed() -> None:
    for vector in VECTORS:
        if vector["expect"] == "accept":
            mac = hmac.digest(vector["secret"].encode(), vector["signature_base"].encode(), hashlib.sha256)
            assert dict(vector["headers"])["Signature"] == f"sig1=:{base64.b64encode(mac).decode()}:"


def test_the_sequences_are_what_the_example_receiver_makes_of_them(tmp_path: Path) -> None:
    verify_example: Any = runpy.run_path(str(ROOT / "examples/receivers/verify.py"))["verify"]
    inbox_module = runpy.run_path(str(ROOT / "examples/receivers/inbox.py"))
    by_name = {vector["name"]: vector for vector in VECTORS}
    for number, sequence in enumerate(DOCUMENT["sequences"]):
        nonces = inbox_module["Nonces"]()
        inbox = inbox_module["Inbox"](tmp_path / str(number), lambda event: None)
        verdicts = []
        for vector in (by_name[name] for name in sequence["vectors"]):
            body, now = vector["body"].encode(), vector["now"]
            nonce = verify_example("POST", vector["url"], dict(vector["headers"]), body, vector["secret"], now=now)
            if not nonces.is_new(nonce, now):
                verdicts.append("replay")
            else:
                verdicts.append("accept" if inbox.add(json.loads(body)["event_id"], body) else "duplicate")
        assert verdicts == sequence["expect"]


def test_the_canonical_urls_are_those_of_the_service() -> None:
    assert len(DOCUMENT["urls"]) >= 60
    for pair in DOCUMENT["urls"]:
        assert canonical_url(pair["given"], allow_insecure=True) == pair["canonical"]
