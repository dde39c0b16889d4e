"""The judge is judged: each promise, broken by hand in otherwise good facts, is found broken, and nothing else is."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checklist_crds.delivery_types import WebhookDeliveryStatus
from checklist_crds.ids import derived_id
from checklist_crds.quota import Quota
from checklist_crds.run_types import Run
from checklist_dev.chaos.facts import ClusterState, Facts
from checklist_dev.chaos.invariants import check_all
from checklist_dev.chaos.ledger import Act, Kill, RunRecord
from checklist_dev.chaos.plan import Op, RunPlan
from checklist_dev.load.received import Transmission
from checklist_operator.delivery.signing import sign

RUN_ID = "r-00000000-0000-4000-8000-000000000001"
UID = "uid-1"
URL = "http://127.0.0.1:18080/dead/hook"
SECRET = "a secret of sixteen"
START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
GAPS = [0.5, 1.0, 2.0, 3.0]
FIRST, SECOND = (derived_id("evt", UID, str(seq)) for seq in (1, 2))


def sent(seq: int, attempt: int, at: float, did: str, **changes: Any) -> Transmission:
    """A genuine transmission `at` seconds after the start; `changes` are made before it is signed."""
    event_id, event = derived_id("evt", UID, str(seq)), "step.completed" if seq == 1 else "run.completed"
    data = {"step_id": "s-closed", "value": True} if seq == 1 else {"answers": {}}
    envelope = {"event_id": event_id, "delivery_attempt": attempt, "event": event, "run_id": RUN_ID, "seq": seq}
    body = json.dumps(envelope | {"data": data} | changes)
    when = START + timedelta(seconds=at)
    nonce = f"n{seq}-{attempt}-{at:.0f}"
    signed = sign(URL, body.encode(), secret=SECRET.encode(), key_id=RUN_ID, created=when, nonce=nonce)
    headers = {name.lower(): value for name, value in signed.items()} | {"content-type": "application/json"}
    stamp = when.timestamp()
    return Transmission(stamp, stamp + 0.01, did, "/dead/hook", "127.0.0.1:18080", headers, body)


def record(**status: Any) -> dict[str, Any]:
    return {"seq": 1, "event": "step.completed", "eventId": FIRST, "phase": "Failed", "attempts": 5} | status


def good() -> Facts:
    """A run with one answer, whose event failed five times, and a submit, whose event came twice for a crash."""
    delivered = record(seq=2, event="run.completed", eventId=SECOND, phase="Delivered", attempts=1)
    status = {"phase": "Completed", "seq": 2, "deliveries": [record(), delivered], "settled": True}
    metadata = {"name": RUN_ID, "uid": UID, "creationTimestamp": "2026-11-21T11:00:00Z"}
    run = Run.parse({"metadata": metadata, "spec": {}, "status": status})
    acts = [
        Act(Op("answer", "s-closed", True), "op-1", 0.0, done=True, status=200),
        Act(Op("submit"), "op-2", 0.0, done=True, status=200),
    ]
    attempt = {"startedAt": "2026-11-21T12:00:00Z", "durationMs": 1, "outcome": "http_5xx"}
    attempts = [{"number": number, **attempt} for number in range(1, 6)]
    history = WebhookDeliveryStatus.model_validate({"phase": "Failed", "attempt": 5, "attempts": attempts})
    failing = [sent(1, number, at, "500") for number, at in enumerate((0.0, 1.0, 3.0, 6.0, 10.0), 1)]
    crash = (START + timedelta(seconds=20.5)).timestamp()
    return Facts(
        records=[RunRecord(RUN_ID, SECRET, URL, RunPlan("dead", ()), acts=acts)],
        state=ClusterState({RUN_ID: run}, {FIRST: history}, Quota("2026-11", 1, {})),
        transmissions=[*failing, sent(2, 1, 20.0, "204"), sent(2, 1, 21.0, "204")],
        kills=[Kill("operator", crash, crash + 0.01)],
        gaps=GAPS,
        views={RUN_ID: {"status": "completed", "answers": {"s-closed": {"value": True}}}},
    )


def _lost_event(facts: Facts) -> Facts:
    run = facts.state.runs[RUN_ID]
    status = run.status.model_copy(update={"deliveries": run.status.deliveries[:1], "seq": 1})
    return replace(facts, state=replace(facts.state, runs={RUN_ID: replace(run, status=status)}))


def _with(facts: Facts, more: Transmission) -> Facts:
    return replace(facts, transmissions=[*facts.transmissions, more])


def _other_value(facts: Facts) -> Facts:
    data = {"step_id": "s-closed", "value": False}
    attempts = [sent(1, n, at, "500", data=data) for n, at in ((1, 0), (2, 1), (3, 3), (4, 6), (5, 10))]
    return replace(facts, transmissions=[*attempts, *facts.transmissions[5:]])


def _bad_signature(facts: Facts) -> Facts:
    forged = replace(facts.transmissions[0], body=facts.transmissions[0].body.replace("true", "true "))
    return replace(facts, transmissions=[forged, *facts.transmissions[1:]])


def _repeated_without_crash(facts: Facts) -> Facts:
    return replace(facts, kills=[Kill("api-0", kill.before, kill.after) for kill in facts.kills])


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("every acknowledged change has its event, in order", _lost_event),
        (
            "every event is delivered, or failed after exactly five attempts",
            lambda facts: replace(facts, transmissions=[*facts.transmissions[:2], *facts.transmissions[3:]]),
        ),
        ("nothing was sent for a change that was not committed", _other_value),
        ("no attempt has a number above five", lambda facts: _with(facts, sent(1, 6, 20.0, "500"))),
        (
            "one event_id per event, the same content on every attempt",
            lambda facts: _with(facts, sent(2, 1, 22.0, "204", event_id="evt-other")),
        ),
        ("every signature is valid and no nonce comes twice", _bad_signature),
        ("an attempt is sent again only after a crash", _repeated_without_crash),
        ("nothing follows a 2xx but after a crash", _repeated_without_crash),
        (
            "no retry is early and no number is left out",
            lambda facts: replace(
                facts, transmissions=[*facts.transmissions[:4], sent(1, 5, 8.0, "500"), *facts.transmissions[5:]]
            ),
        ),
        (
            "no answer was acknowledged and is gone",
            lambda facts: replace(facts, views={RUN_ID: {"status": "completed", "answers": {}}}),
        ),
        (
            "quota used equals the runs made",
            lambda facts: replace(facts, state=replace(facts.state, quota=Quota("2026-11", 2, {}))),
        ),
    ],
)
def test_a_broken_promise_is_found_and_without_fault_there_is_none(name: str, spoil: Callable[[Facts], Facts]) -> None:
    assert [finding for finding in check_all(good()) if not finding.holds] == []
    assert name in {finding.name for finding in check_all(spoil(good())) if not finding.holds}
