"""The short form of the scene of takeovers: one kill, two clean ends, under load."""

import json
import signal
from collections.abc import Callable

import pytest
from tests.crash.conftest import Play

from checklist_dev.chaos.__main__ import GAPS
from checklist_dev.chaos.facts import Facts
from checklist_dev.chaos.kill_under_load import Size
from checklist_dev.chaos.ledger import Kill
from checklist_dev.chaos.takeovers import a_clean_end_cuts_nothing_off_that_is_answered_soon, take_over
from checklist_dev.chaos.transcript import Result, Transcript
from checklist_dev.load.received import Transmission

SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)


async def test_a_standby_takes_over_and_nothing_is_lost_or_sent_twice_without_need(
    started_rig: Play, transcript: Transcript, assert_held: Callable[[Result], None]
) -> None:
    size = Size(
        load_s=180.0, kills=len(SIGNALS), events=250, settle_s=120.0, executors=16, slow_runs=2, events_per_s=12.0
    )
    async with started_rig() as rig:
        result, takeovers = await take_over(rig, GAPS, transcript, signals=SIGNALS, size=size, seed=20_261_122)
    transcript.tell(result.findings)
    assert_held(result)
    assert [one.by for one in takeovers] == list(SIGNALS)


@pytest.mark.parametrize(
    ("by", "took_s", "holds"), [("SIGTERM", 0.1, False), ("SIGTERM", 9.0, True), ("SIGKILL", 0.1, True)]
)
def test_what_was_sent_twice_over_a_clean_end_is_noticed(by: str, took_s: float, holds: bool) -> None:
    sent = [_sent(at=10.0, end=10.0 + took_s), _sent(at=30.0, end=30.1)]
    kill = Kill(f"operator-one, {by}", 10.0 + took_s / 2, 12.0)
    facts = Facts([], None, sent, [kill], [])  # type: ignore[arg-type] - this check looks at no state
    assert a_clean_end_cuts_nothing_off_that_is_answered_soon(facts).holds is holds


def _sent(*, at: float, end: float) -> Transmission:
    envelope = {"event_id": "e", "delivery_attempt": 1, "run_id": "r", "seq": 1}
    return Transmission(at, end, "204", "/ok/hook", "127.0.0.1", {}, json.dumps(envelope))
