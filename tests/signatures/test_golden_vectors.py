"""The published vectors are true: for every verifier that we have or know, and for what the service sends now."""

import base64
import hashlib
import hmac
import json
import runpy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.signatures.judges import ALL, EXAMPLES, Case, Verdicts, judge
from tests.signatures.published import BY_NAME, DOCUMENT, parameters_of, raw_request, target_of
from yarl import URL

from checklist_cli.receiver.captured_request import CapturedRequest
from checklist_cli.receiver.verification import Expectation, verify
from checklist_cli.receiver.verification import Verdict as CheckVerdict
from checklist_crds.resources.webhook_url import canonical_url
from checklist_dev.programs.verifiers import Programs
from checklist_dev.repository import ROOT
from checklist_operator.transport import signing

ACCEPTED = {name: vector for name, vector in BY_NAME.items() if vector["expect"] == "accept"}
REFUSED = {name: vector for name, vector in BY_NAME.items() if vector["expect"] == "refuse"}
CHECKS = {"content-digest", "signature-input", "time", "signature"}
OF_EARLIER_VERSIONS = "parameters: in the order of earlier versions"
CHECK_OF_MESSAGE = {"created, expires": "time"}


@pytest.fixture(scope="module")
def judged(programs: Programs) -> dict[str, Verdicts]:
    cases = [Case(vector["url"], vector["secret"], raw_request(vector), vector["now"]) for vector in BY_NAME.values()]
    return dict(zip(BY_NAME, judge(programs, cases), strict=True))


def test_each_accepted_request_is_what_the_service_would_send_now() -> None:
    for name, vector in ACCEPTED.items():
        if name.startswith(OF_EARLIER_VERSIONS):
            continue
        given, body = parameters_of(vector), vector["body"].encode()
        created = int(given["created"])
        signed = signing.sign(
            vector["url"],
            body,
            secret=vector["secret"].encode(),
            key_id=given["keyid"],
            created=datetime.fromtimestamp(created, UTC),
            nonce=given["nonce"],
            expires_s=int(given.get("expires", created)) - created,
        )
        sent = {"Host": URL(vector["url"], encoded=True).host_port_subcomponent, "Content-Length": str(len(body))}
        assert dict(vector["headers"]) == sent | signed, name
    for pair in DOCUMENT["urls"]:
        assert canonical_url(pair["given"], allow_insecure=True) == pair["canonical"]


def test_every_verifier_accepts_and_refuses_as_every_vector_says(judged: dict[str, Verdicts]) -> None:
    assert len(ACCEPTED) >= 80 and len(REFUSED) >= 80
    assert {vector["check"] for vector in REFUSED.values()} == CHECKS
    for name, verdicts in judged.items():
        accepting = {who for who, verdict in verdicts.items() if verdict.accepted}
        assert accepting == (ALL if name in ACCEPTED else set()), name
    for name, vector in REFUSED.items():
        named = {str(judged[name][who].library).partition(": ")[0] for who in EXAMPLES}
        assert {CHECK_OF_MESSAGE.get(check, check) for check in named} == {vector["check"]}, name


def test_the_command_line_names_the_check_that_fails_and_how_to_fix_it() -> None:
    for name, vector in BY_NAME.items():
        headers = tuple((field, value) for field, value in vector["headers"])
        request = CapturedRequest(vector["method"], target_of(vector), headers, vector["body"].encode())
        expected = Expectation(vector["url"], vector["secret"].encode())
        report = verify(request, expected, now=datetime.fromtimestamp(vector["now"], UTC))
        failed = [check for check in report.checks if check.verdict is CheckVerdict.FAILED]
        assert report.is_genuine is (name in ACCEPTED), name
        assert vector.get("check") in {None, *(CHECK_OF_MESSAGE.get(check.name, check.name) for check in failed)}, name
        assert all((check in failed) is bool(check.remedy) for check in report.checks), name


def test_the_signature_base_of_each_vector_is_what_was_signed() -> None:
    for vector in ACCEPTED.values():
        mac = hmac.digest(vector["secret"].encode(), vector["signature_base"].encode(), hashlib.sha256)
        assert dict(vector["headers"])["Signature"] == f"sig1=:{base64.b64encode(mac).decode()}:"


def test_the_sequences_are_what_the_example_receiver_makes_of_them(tmp_path: Path) -> None:
    verify_example: Any = runpy.run_path(str(ROOT / "examples/receivers/verify.py"))["verify"]
    inbox_module = runpy.run_path(str(ROOT / "examples/receivers/inbox.py"))
    for number, sequence in enumerate(DOCUMENT["sequences"]):
        nonces = inbox_module["Nonces"]()
        inbox = inbox_module["Inbox"](tmp_path / str(number), lambda event: None)
        verdicts = []
        for vector in (BY_NAME[name] for name in sequence["vectors"]):
            body, now = vector["body"].encode(), vector["now"]
            _, nonce = verify_example("POST", vector["url"], dict(vector["headers"]), body, vector["secret"], now=now)
            if not nonces.is_new(nonce, now):
                verdicts.append("replay")
            else:
                verdicts.append("accept" if inbox.add(json.loads(body)["event_id"], body) else "duplicate")
        assert verdicts == sequence["expect"]
