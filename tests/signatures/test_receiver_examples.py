"""Each example receiver, run as a program: it takes what the real sender sends, once, and nothing else."""

import asyncio
import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.signatures.receivers import NAMES, SECRET, TIMEOUT_S, running
from tests.waiting import eventually

from checklist_crds.times import utc_now
from checklist_dev.programs.verifiers import Programs
from checklist_operator.transport import signing
from checklist_operator.transport.addresses import AddressPolicy
from checklist_operator.transport.outcome import Outcome, OutcomeClass
from checklist_operator.transport.sender import Sender, new_nonce, tls_context

CONTEXT = tls_context()
FORGED = "401 refused: signature: made with another secret, or for another request"
AN_HOUR_S = 3600

pytestmark = pytest.mark.parametrize("name", NAMES)


def envelope(event_id: str, attempt: int = 1) -> bytes:
    event = {"event_id": event_id, "delivery_attempt": attempt, "event": "run.completed", "run_id": "r-1"}
    return json.dumps(event | {"data": {"note": "☃"}}, ensure_ascii=False).encode()


async def send(url: str, body: bytes, *, secret: str = SECRET, late_s: int = 0) -> Outcome:
    """One transmission by the real sender, with a clock that is `late_s` seconds behind."""
    policy = AddressPolicy(allow_insecure=True)
    async with Sender(policy, ssl_context=CONTEXT, clock=lambda: utc_now() - timedelta(seconds=late_s)) as sender:
        return await sender.send(url, body, secret.encode(), "r-1")


def signed_request(url: str, body: bytes) -> bytes:
    """The bytes of a delivery, for an attacker on the way to keep, to change and to send again."""
    times = {"created": utc_now(), "nonce": new_nonce(), "expires_s": 300}
    headers = signing.sign(url, body, secret=SECRET.encode(), key_id="r-1", **times)
    host, target = url.removeprefix("http://").split("/", 1)
    lines = [f"POST /{target} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def status_of(url: str, raw: bytes) -> int:
    """What is answered to these bytes."""
    host, port = url.split("/")[2].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(raw)
        head = await asyncio.wait_for(reader.readline(), TIMEOUT_S)
    finally:
        writer.close()
    return int(head.split(b" ")[1])


def about(event_id: str, attempt: int = 1) -> str:
    return f"run.completed {event_id} attempt {attempt} of r-1"


async def test_duplicate_attempts_are_dropped(name: str, programs: Programs, tmp_path: Path) -> None:
    async with running(name, programs, tmp_path) as receiver:
        said = []
        for event_id, attempt in [("evt-1", 1), ("evt-1", 1), ("evt-1", 2), ("evt-2", 1)]:
            outcome = await send(receiver.url, envelope(event_id, attempt))
            assert (outcome.outcome_class, outcome.http_status) == (OutcomeClass.SUCCESS, 204)
            said.append((await receiver.line()).partition(" {")[0])
        assert said == [
            f"204 verified: {about('evt-1')}",
            f"204 duplicate: {about('evt-1')}",
            f"204 duplicate: {about('evt-1', 2)}",
            f"204 verified: {about('evt-2')}",
        ]
        # Of eight transmissions at once one is taken.
        outcomes = await asyncio.gather(*(send(receiver.url, envelope("evt-3")) for _ in range(8)))
        assert [outcome.http_status for outcome in outcomes] == [204] * 8
        words = Counter([(await receiver.line()).split()[1] for _ in range(8)])
        assert words == {"verified:": 1, "duplicate:": 7}
        assert {await receiver.worked_on() for _ in range(3)} == {"evt-1", "evt-2", "evt-3"}
        events = {path.name: path.read_bytes() for path in (tmp_path / "events").glob("*.json")}
        assert events == {f"evt-{number}.json": envelope(f"evt-{number}") for number in (1, 2, 3)}


async def test_invalid_requests_are_refused(name: str, programs: Programs, tmp_path: Path) -> None:
    async with running(name, programs, tmp_path) as receiver:
        forged = await send(receiver.url, envelope("evt-1"), secret="some other secret")
        assert (forged.http_status, await receiver.line()) == (401, FORGED)
        elsewhere = await send(receiver.url + "?other=1", envelope("evt-1"))
        assert (elsewhere.http_status, await receiver.line()) == (401, FORGED)
        for late_s in (400, -400):
            stale = await send(receiver.url, envelope("evt-1"), late_s=late_s)
            assert stale.http_status == 401
            assert await receiver.line() == "401 refused: created, expires: too old, or from the future"
        genuine = signed_request(receiver.url, envelope("evt-1"))
        assert await status_of(receiver.url, genuine.replace("☃".encode(), "☂".encode())) == 401
        assert (await receiver.line()).startswith("401 refused: content-digest: ")
        assert await status_of(receiver.url, genuine) == 204
        assert (await receiver.line()).startswith("204 verified: ")
        assert await status_of(receiver.url, genuine) == 401
        assert await receiver.line() == "401 refused: nonce: this very transmission has come before"
        event = json.loads(envelope("evt-1"))
        changes: list[Any] = [{"event_id": 1}, {"event_id": "../evt-1"}, {"event": None}, {"delivery_attempt": "1"}]
        bodies = [
            b"",
            b"evt-1",
            b"\xff",
            b"{}",
            b"[{}]",
            b"null",
            *(json.dumps(event | one).encode() for one in changes),
        ]
        for body in bodies:
            assert (await send(receiver.url, body)).http_status == 400, body
            assert await receiver.line() == "400 refused: event: the body is none"
        assert (await send(receiver.url, json.dumps(event | {"run_id": "r-2"}).encode())).http_status == 400
        assert await receiver.line() == "400 refused: run_id: not the run of the signature's keyid"
        huge = await send(receiver.url, b'{"event_id":"' + b"x" * 3_000_000 + b'"}')
        # 413 unless the connection was closed while we were still writing.
        assert huge.outcome_class in {OutcomeClass.HTTP_4XX, OutcomeClass.PROTOCOL, OutcomeClass.CONNECT}
        # An attempt of ours has a nonce of its own: the event is known, and we get the answer that ends it.
        assert (await send(receiver.url, envelope("evt-1", 2))).http_status == 204
        assert [path.name for path in (tmp_path / "events").glob("*.json")] == ["evt-1.json"]


async def test_work_is_asynchronous_and_survives_crashes(name: str, programs: Programs, tmp_path: Path) -> None:
    async with running(name, programs, tmp_path, work_s=AN_HOUR_S) as receiver:
        url = receiver.url
        for event_id in ("evt-1", "evt-2"):
            assert (await send(url, envelope(event_id))).ok  # and so within ten seconds, not in an hour
    async with running(name, programs, tmp_path, url=url) as receiver:
        assert {await receiver.worked_on(), await receiver.worked_on()} == {"evt-1", "evt-2"}
        await eventually(lambda: len(list((tmp_path / "done").iterdir())) == 2)
    # It is known from then on that the work is done, and that the events are.
    async with running(name, programs, tmp_path) as receiver:
        assert (await send(receiver.url, envelope("evt-1", 2))).ok
        assert await receiver.line() == f"204 duplicate: {about('evt-1', 2)}"
