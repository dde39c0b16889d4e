"""One transmission: only by who holds the lease, and noted for fairness and figures."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_operator.delivery.failure import OwnFault
from checklist_operator.delivery.fairness import Permits
from checklist_operator.delivery.outcome import Outcome, OutcomeClass
from checklist_operator.faults import OurFault
from checklist_operator.metrics import Metrics
from checklist_operator.transmission import Transmitter

URL = "https://a.example/hook"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Recorder:
    """A sender whose transmissions all end the same way."""

    def __init__(self, outcome_class: OutcomeClass = OutcomeClass.SUCCESS, duration_ms: int = 20) -> None:
        self.sent = 0
        self.fault: OwnFault | None = None
        self._outcome = Outcome(outcome_class, None, NOW, duration_ms, "")

    async def send(self, *_: Any) -> Outcome:
        self.sent += 1
        if self.fault is not None:
            raise self.fault
        return self._outcome


def transmitter(sender: Any, *, leads: bool = True) -> Transmitter:
    return Transmitter(sender, Permits(None), Metrics(), leads=lambda: leads)


async def transmit(over: Transmitter) -> Outcome:
    async with over.permit(URL, "org-1", first=True):
        return await over.send(URL, b"{}", b"secret", "r-1", attempt=1)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("leads", "stop", "sent"),
    [
        (False, lambda over: None, 0),
        (True, Transmitter.start_no_more, 0),
        (True, Transmitter.take_no_more, 1),  # the answer comes when it can no longer be recorded
    ],
    ids=["without the lease", "no more starts", "no more answers"],
)
async def test_without_the_lease_or_near_its_end_a_transmission_waits_to_be_cancelled(
    leads: bool, stop: Callable[[Transmitter], None], sent: int
) -> None:
    sender = Recorder()
    over = transmitter(sender, leads=leads)
    stop(over)
    sending = asyncio.create_task(transmit(over))
    await asyncio.sleep(3600)
    assert (sending.done(), sender.sent) == (False, sent)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    assert sending.cancelled()


async def test_the_length_of_an_answer_is_noted_for_fairness_and_a_fault_of_our_own_is_not() -> None:
    for duration_ms, in_doubt in ((20, False), (9_000, True)):
        over = transmitter(sender := Recorder(duration_ms=duration_ms))
        assert (await transmit(over)).ok
        assert sender.sent == 1
        assert over._permits._standings.is_in_doubt("a.example", asyncio.get_running_loop().time()) is in_doubt
    over = transmitter(Recorder(OutcomeClass.TIMEOUT, 10_000))
    for _ in range(5):
        await transmit(over)
    assert over._permits.is_slow("a.example")
    sender = Recorder()
    sender.fault = OwnFault("out of sockets")
    over = transmitter(sender)
    with pytest.raises(OurFault, match="out of sockets"):
        await transmit(over)
    assert over._permits._standings.is_unheard("a.example")
