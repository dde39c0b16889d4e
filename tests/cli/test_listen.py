"""`checklist-dispatch listen`, and the receiver behind it."""

import asyncio
import gzip
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import RUN, SECRET, Capture, Send, envelope, send_to

from checklist_cli.program import main
from checklist_cli.receiver.answer_script import Answer, AnswerScript
from checklist_cli.receiver.listener import Endpoint, Listener, Received, bind
from checklist_cli.receiver.seen_deliveries import Novelty, SeenDeliveries
from checklist_cli.receiver.verification import Expectation
from checklist_crds.times import utc_now
from checklist_dev.local.certificates import credentials_in
from checklist_operator.transport.outcome import OutcomeClass
from checklist_operator.transport.sender import tls_context

OTHER = "some other secret"


class Listening:
    """The program, the URL that it printed, and what it prints after that."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.url = ""

    async def line(self, stream: asyncio.StreamReader | None = None) -> str:
        speaking = stream or self.process.stdout
        assert speaking is not None
        return (await asyncio.wait_for(speaking.readline(), 30)).decode().rstrip("\n")

    async def said(self) -> str:
        """The next line, without the time that it begins with."""
        return (await self.line()).partition(" ")[2]


@asynccontextmanager
async def listening(*options: str) -> AsyncIterator[Listening]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "checklist_cli", "listen", "--port", "0", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE if "json" in options else None,
        env={**os.environ, "CHECKLISTS_WEBHOOK_SECRET": SECRET},
    )
    listen = Listening(process)
    try:
        listen.url = (await listen.line(process.stderr)).removeprefix("listening: ")
        yield listen
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_listen_answers_detects_duplicates_and_saves_requests(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "captures"
    async with listening("--answer", "500,200", "--format", "line", "--save", str(folder)) as listen:
        statuses = [(await send_to(listen.url, envelope(delivery_attempt=number))).http_status for number in (1, 2, 2)]
        assert statuses == [500, 200, 204]
        assert (await send_to(listen.url, secret=OTHER)).http_status == 401
        about = f"run.completed evt-1 attempt {{}} of {RUN}"
        assert [await listen.said() for _ in range(3)] == [
            "500 verified: " + about.format(1),
            "200 verified: " + about.format(2),
            "204 duplicate: " + about.format(2),
        ]
        assert (await listen.said()).startswith("401 refused: signature")
    good, *_, bad = sorted(folder.iterdir())
    assert (good.name, bad.name) == ("0001-run.completed-attempt-1.json", "0004-refused.json")
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert json.loads(good.read_text())["envelope"] == json.loads(envelope())
    assert SECRET not in good.read_text()
    assert main(["verify", str(good), "--secret", SECRET]) == 0
    assert main(["verify", str(bad), "--secret", SECRET]) == 1
    assert "NOT genuine: signature" in capsys.readouterr().out


async def test_it_prints_how_to_fix_a_failed_check_and_the_event_for_a_terminal() -> None:
    async with listening() as listen:
        await send_to(listen.url, secret=OTHER)
        assert (await listen.said()).startswith("401 refused: signature: made with another secret")
        assert "compare the secret" in await listen.line()
        await send_to(listen.url, envelope(data={"thumbnail": "A" * 5000, "note": "☃\x1b[2J\u009b2J"}))
        while "verified" not in await listen.line():
            pass
        lines = []
        while not lines or lines[-1] != "}":
            lines.append(await listen.line())
        printed = json.loads("\n".join(lines))
        assert printed["data"]["thumbnail"].endswith("(5,000 characters)")
        assert printed["data"]["note"].startswith("☃")
        assert not {"\x1b", "\u009b"} & set("".join(lines))


async def test_in_json_there_is_nothing_but_one_document_a_line() -> None:
    async with listening("--answer", "503,204", "--format", "json") as listen:
        for secret, genuine, answer in ((SECRET, True, 503), (OTHER, False, 401)):
            await send_to(listen.url, secret=secret)
            said = json.loads(await listen.line())
            assert (said["genuine"], said["answer"], said.get("failed_check")) == (
                *(genuine, answer),
                None if genuine else "signature",
            )
            assert said["envelope"] == (json.loads(envelope()) if genuine else None), "not genuine is not for programs"


async def test_it_serves_https_and_ends_after_the_wanted_number_of_requests(tmp_path: Path) -> None:
    made = credentials_in(tmp_path)
    tls = ("--tls-certificate", str(made.certificate), "--tls-key", str(made.key))
    async with listening("--count", "1", "--answer", "202@0.2", *tls) as listen:
        assert listen.url.startswith("https://127.0.0.1:")
        trusting = tls_context()
        trusting.load_verify_locations(made.authority)
        assert (await send_to(listen.url, tls=trusting)).http_status == 202
        assert await asyncio.wait_for(listen.process.wait(), 30) == 0


async def test_a_signal_ends_it_cleanly_even_while_an_answer_waits() -> None:
    async with listening("--answer", "200@60", "--format", "line") as listen:
        waiting = asyncio.create_task(send_to(listen.url))
        assert "after 60 s" in await listen.line()
        listen.process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(listen.process.wait(), 30) == 0
        assert not (await waiting).ok


class Served:
    """A listener on loopback, and what it received."""

    def __init__(self, url: str, port: int) -> None:
        self.url, self.port = url, port
        self.received: list[Received] = []

    async def raw(self, request: bytes) -> int:
        """The status that these bytes are answered with."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.readline(), 30)
        writer.close()
        return int(answer.split()[1])


@asynccontextmanager
async def served(script: str = "204", url: str | None = None) -> AsyncIterator[Served]:
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        made = Served(url or f"http://127.0.0.1:{port}/hook", port)
        expected = Expectation(made.url, SECRET.encode())
        listener = Listener(expected, AnswerScript.parse(script), report=made.received.append, clock=utc_now)
        endpoint = Endpoint(listener, bound)
        await endpoint.start()
        yield made
        await endpoint.stop()


async def test_a_dropped_connection_and_a_late_answer_reach_the_sender_as_such() -> None:
    async with served("drop,204@0.3") as endpoint:
        assert (await send_to(endpoint.url)).outcome_class is OutcomeClass.PROTOCOL
        late = await send_to(endpoint.url, envelope(delivery_attempt=2))
        assert late.http_status == 204
        assert late.duration_ms >= 300
        assert [one.novelty for one in endpoint.received] == [Novelty.NEW, Novelty.NEW]


async def test_a_recording_is_refused_as_a_replay_or_for_its_age(send: Send) -> None:
    recorded, old = await send(clock=utc_now), await send()
    async with served(url=recorded.url) as endpoint:
        assert [await endpoint.raw(raw) for raw in (recorded.raw, recorded.raw, old.raw)] == [204, 401, 401]
        assert [one.novelty for one in endpoint.received[:2]] == [Novelty.NEW, Novelty.COPIED]
        check = endpoint.received[2].report.first_failure
        assert check is not None and check.name == "created, expires"


async def test_bytes_are_judged_as_they_are_on_the_wire_and_those_that_are_too_many_refused() -> None:
    body, huge = gzip.compress(envelope()), b"x" * 2_200_000
    async with served() as endpoint:
        head = f"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
        assert await endpoint.raw(head.encode() + body) == 401
        assert endpoint.received[0].request.body == body
        assert await endpoint.raw(b"GET /hook HTTP/1.1\r\nHost: x\r\n\r\n") == 405
        assert await endpoint.raw(b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + huge) == 413
        assert (await send_to(endpoint.url)).http_status == 204, "and it goes on"


def test_answers_go_by_attempt_and_the_last_one_stands_for_all_that_follow() -> None:
    script = AnswerScript.parse("500, 503@2,drop,200@0.5s", delay_s=1.0)
    answers = [Answer(500, 1.0), Answer(503, 2.0), Answer(None, 1.0), Answer(200, 0.5), Answer(200, 0.5)]
    assert [script.for_attempt(number) for number in (-1, 0, 1, 2, 3, 4, 5)] == [answers[0], answers[0], *answers]
    texts = ("200", "204", "299", "300", "400", "500", "drop")
    assert [text for text in texts if AnswerScript.parse(text).for_attempt(1).accepts] == ["200", "204", "299"]


@pytest.mark.parametrize("text", ["", "100", "199", "600", "20", "200,", "ok", "200@", "200@-1", "200@x", "2OO"])
def test_another_text_is_no_script(text: str) -> None:
    with pytest.raises(ValueError, match="is not an answer"):
        AnswerScript.parse(text)


def test_an_event_is_a_duplicate_once_it_was_taken_and_a_transmission_is_a_replay_until_it_is_forgotten() -> None:
    seen = SeenDeliveries(events=2, nonces=2)
    assert seen.meet("r-1", "n1", "evt-1") is Novelty.NEW
    assert seen.meet("r-1", "n1", "evt-1") is Novelty.COPIED
    assert seen.meet("r-1", "n2", "evt-1") is Novelty.NEW, "it was not taken yet: the first answer was a failure"
    seen.take("evt-1")
    assert seen.meet("r-1", "n3", "evt-1") is Novelty.DUPLICATE
    for name in ("evt-2", "evt-3"):
        assert seen.meet("r-2", f"n-{name}", name) is Novelty.NEW
        seen.take(name)
    assert seen.meet("r-1", "n3", "evt-1") is Novelty.NEW, "the oldest are forgotten"
    assert seen.meet("r-1", "n9", "evt-3") is Novelty.DUPLICATE
    assert seen.meet("r-2", "n9", "evt-4") is Novelty.NEW, "another run may use the same nonce"
