"""The endpoint of `listen`, in process: what it makes of what is on the wire, answers, and remembers."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.cli.conftest import SECRET, Send, envelope, send_to

from checklist_cli.receiver.answer_script import Answer, AnswerScript
from checklist_cli.receiver.listener import Endpoint, Listener, Received, bind
from checklist_cli.receiver.seen_deliveries import Novelty, SeenDeliveries
from checklist_cli.receiver.verification import Expectation
from checklist_crds.times import utc_now
from checklist_operator.transport.outcome import OutcomeClass


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
        assert [one.novelty for one in endpoint.received[:2]] == [Novelty.NEW, Novelty.REPLAYED]
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
    assert seen.meet("r-1", "n1", "evt-1") is Novelty.REPLAYED
    assert seen.meet("r-1", "n2", "evt-1") is Novelty.NEW, "it was not taken yet: the first answer was a failure"
    seen.take("evt-1")
    assert seen.meet("r-1", "n3", "evt-1") is Novelty.DUPLICATE
    for name in ("evt-2", "evt-3"):
        assert seen.meet("r-2", f"n-{name}", name) is Novelty.NEW
        seen.take(name)
    assert seen.meet("r-1", "n3", "evt-1") is Novelty.NEW, "the oldest are forgotten"
    assert seen.meet("r-1", "n9", "evt-3") is Novelty.DUPLICATE
    assert seen.meet("r-2", "n9", "evt-4") is Novelty.NEW, "another run may use the same nonce"
