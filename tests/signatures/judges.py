"""All verifiers, asked at once: those of Node and Go as programs, Python's here. A case goes in as raw bytes.

Each verdict says why the implementation itself refuses (`library`, None if it does not) and which of the rules that the
receiver guide lays around any library are broken (`rules`). A delivery is accepted when neither has anything.
"""

import base64
import http.client
import io
import json
import re
import runpy
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from checklist_cli.receiver.captured_request import CapturedRequest
from checklist_cli.receiver.verification import Expectation
from checklist_cli.receiver.verification import verify as verify_by_command_line
from checklist_dev.repository import ROOT
from checklist_dev.verifiers import Programs

OTHERS = frozenset(
    {"http-message-signatures", "http-message-sig", "@misskey-dev/node-http-message-signatures", "httpsign"}
)
EXAMPLES = frozenset({"python-example", "node-example", "go-example"})
ALL = OTHERS | EXAMPLES | {"command-line"}
TIMEOUT_S = 300

_verify: Any = runpy.run_path(str(ROOT / "examples/receivers/verify.py"))["verify"]


@dataclass(frozen=True)
class Case:
    """`raw` as a socket received it, judged by a receiver that configured `url`, at `now` (None: by its clock)."""

    url: str
    secret: str
    raw: bytes
    now: int | None = None


@dataclass(frozen=True)
class Verdict:
    library: str | None
    rules: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.library is None and not self.rules


Verdicts = dict[str, Verdict]


def judge(programs: Programs, cases: Sequence[Case]) -> list[Verdicts]:
    """The verdict of each verifier on each case, in order."""
    documents = [
        asdict(case) | {"id": str(number), "raw": base64.b64encode(case.raw).decode()}
        for number, case in enumerate(cases)
    ]
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    answers = [_answers_of(command, lines, len(cases)) for command in (programs.node_judges, programs.go_judges)]
    return [{**_in_python(case), **node, **go} for case, node, go in zip(cases, *answers, strict=True)]


def _answers_of(command: Sequence[str], lines: str, count: int) -> list[Verdicts]:
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [str(number) for number in range(count)]
    return [
        {name: Verdict(found["library"], tuple(found["rules"])) for name, found in answer["verdicts"].items()}
        for answer in answers
    ]


def _in_python(case: Case) -> Verdicts:
    """They need no rules around them but one: that the request came for the URL that was configured."""
    try:
        method, target, headers, body = _parsed(case.raw)
    except (ValueError, http.client.HTTPException) as error:
        return dict.fromkeys(("python-example", "command-line"), Verdict(f"no HTTP: {error}"))
    host = ", ".join(value.strip() for value in headers.get_all("host", []))
    received = f"{case.url.split('://')[0]}://{host}{target}"
    rules = () if received == case.url else ("url",)
    now = time.time() if case.now is None else case.now
    try:
        _verify(method, received, headers, body, case.secret, now=now)
        example = Verdict(None, rules)
    except ValueError as error:
        example = Verdict(str(error), rules)
    request = CapturedRequest(method, target, tuple((name, value.strip()) for name, value in headers.items()), body)
    expectation = Expectation(case.url, case.secret.encode())
    failure = verify_by_command_line(request, expectation, now=datetime.fromtimestamp(now, UTC)).first_failure
    return {"python-example": example, "command-line": Verdict(failure and failure.name, rules)}


def _parsed(raw: bytes) -> tuple[str, str, Any, bytes]:
    request_line, _, rest = raw.partition(b"\r\n")
    words = request_line.decode("latin-1").split(" ")
    if len(words) != 3 or not re.fullmatch(r"HTTP/1\.[01]", words[2]):
        raise ValueError("no request line")
    stream = io.BytesIO(rest)
    headers = http.client.parse_headers(stream)
    body = stream.read()
    if len(body) != int(headers.get("content-length", "")):
        raise ValueError("the body is not complete")
    return words[0], words[1], headers, body
