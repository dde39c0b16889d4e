"""One delivery is sent again: asked for by an annotation, made once, recorded, and told to the run."""

import asyncio
from pathlib import Path

from tests.cluster.operator_lab import Delivered, Lab, OperatorProcess, Receiver, condition
from tests.cluster.replay_lab import ask, delivery, failed, failed_event, replayed, told_events, until, until_answered
from tests.waiting import eventually

from checklist_crds.kube.kinds import RUN, SECRET
from checklist_crds.run_types import DeliveryPhase
from checklist_dev.controlplane import ControlPlane


async def test_a_replay_sends_the_same_event_with_a_fresh_signature_and_is_recorded_everywhere(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run, event_id = await failed(lab, receiver)
    last = receiver.received[-1]
    receiver.answer = lambda _: 202
    asked = await ask(lab, event_id, by="Ada")
    body = await until_answered(lab, event_id)
    again = receiver.received[-1]
    assert len(receiver.received) == 6
    assert again.body == last.body
    assert (again.envelope["event_id"], again.envelope["delivery_attempt"]) == (event_id, 5)
    assert again.headers["Signature"] != last.headers["Signature"]
    status = body["status"]
    assert [(one["number"], one.get("manual", False), one["outcome"]) for one in status["attempts"]] == [
        *[(number, False, "http_5xx") for number in range(1, 6)],
        (5, True, "success"),
    ]
    assert "nextAttemptAt" not in status["attempts"][-1]
    assert status["lastReplay"] == {
        "requestedAt": asked,
        "requestedBy": "Ada",
        "attemptedAt": status["attempts"][-1]["startedAt"],
        "outcome": "success",
        "httpStatus": 202,
    }
    assert replayed(body) == ("True", "Delivered")
    settled = await until(lab, event_id, lambda one: one["status"].get("settled"))
    assert settled["status"]["phase"] == "Delivered"
    (record,) = (await lab.run(run)).status.deliveries
    assert (record.phase, record.attempts, record.http_status, record.outcome) == (
        DeliveryPhase.DELIVERED,
        5,
        202,
        "success",
    )
    assert (await told_events(lab, event_id, "Replayed"))["type"] == "Normal"


async def test_a_replay_that_fails_leaves_the_delivery_failed_and_replayable(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run, event_id = await failed(lab, receiver)
    before = await delivery(lab, event_id)
    receiver.answer = lambda _: 418
    await ask(lab, event_id)
    body = await until_answered(lab, event_id)
    status = body["status"]
    assert (status["phase"], status["settled"], status["attempt"]) == ("Failed", True, 5)
    assert status["finishedAt"] == before["status"]["finishedAt"]
    assert status["lastReplay"]["outcome"] == "http_4xx"
    assert replayed(body) == ("False", "ReplayFailed")
    assert "HTTP 418" in (await told_events(lab, event_id, "ReplayFailed"))["message"]
    receiver.answer = lambda _: 200
    await ask(lab, event_id)
    await until(lab, event_id, lambda one: one["status"]["phase"] == "Delivered" and one["status"].get("settled"))
    # What is delivered can be replayed, too, and stays delivered whatever comes of it.
    receiver.answer = lambda _: 503
    await ask(lab, event_id)
    body = await until_answered(lab, event_id)
    assert (body["status"]["phase"], replayed(body)) == ("Delivered", ("False", "ReplayFailed"))
    assert [one.envelope["delivery_attempt"] for one in receiver.received] == [1, 2, 3, 4, 5, 5, 5, 5]
    (record,) = (await lab.run(run)).status.deliveries
    assert (record.phase, record.http_status) == (DeliveryPhase.DELIVERED, 200)


async def test_a_replay_is_refused_while_a_retry_is_to_come_or_an_attempt_is_under_way(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, CHECKLISTS_RETRY_GAPS="3,600,600,600")
    await operator.start()
    hanging = asyncio.Event()

    async def answer(one: Delivered) -> int:
        if one.envelope["delivery_attempt"] == 2:
            hanging.set()
            await asyncio.sleep(3)
        return 500

    receiver.answer = answer
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    (made,) = await eventually(lambda: lab.deliveries(run))
    event_id = made["metadata"]["name"]
    await until(lab, event_id, lambda body: body["status"].get("attempt") == 1)
    await ask(lab, event_id)
    assert replayed(await until_answered(lab, event_id)) == ("False", "RetryPending")
    await asyncio.wait_for(hanging.wait(), 30)
    await ask(lab, event_id)
    assert replayed(await until_answered(lab, event_id)) == ("False", "RetryPending")
    body = await until(lab, event_id, lambda one: one["status"]["attempt"] == 2)
    assert (body["status"]["phase"], "lastReplay" in body["status"]) == ("Pending", False)
    assert body["status"]["nextAttemptAt"]
    assert [one.envelope["delivery_attempt"] for one in receiver.received] == [1, 2]
    event = await told_events(lab, event_id, "ReplayRefused")
    assert event["type"] == "Warning"
    await operator.stop()


async def test_what_is_no_timestamp_is_refused_and_the_same_timestamp_counts_once(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    _, event_id = await failed(lab, receiver)
    for text in ("", "now", "2026-11-21", "2026-11-21T10:00:00", "2026-02-30T10:00:00Z", "0001-01-01T00:00:00+14:00"):
        await ask(lab, event_id, text)
        assert replayed(await until_answered(lab, event_id)) == ("False", "InvalidTimestamp"), text
    assert len(receiver.received) == 5
    for text in ("2026-11-21T10:00:00.1239Z", "2026-11-21T12:00:00.1234+02:00"):
        await ask(lab, event_id, text)
        body = await until_answered(lab, event_id)
        assert body["status"]["lastReplay"]["requestedAt"] == "2026-11-21T10:00:00.123Z"
    assert len(receiver.received) == 6


async def test_a_replay_survives_the_operator_and_a_request_is_found_that_nobody_saw(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    _, event_id = await failed(lab, receiver)
    hanging: list[Delivered] = []

    async def hang(one: Delivered) -> int:
        hanging.append(one)
        await asyncio.sleep(60)
        return 200

    receiver.answer = hang
    await operator.kill()
    await ask(lab, event_id)
    await operator.start()
    await eventually(lambda: hanging)
    claim = (await delivery(lab, event_id))["status"]["claim"]
    assert (claim["attempt"], claim["manual"]) == (5, True)
    await operator.kill()
    receiver.answer = lambda _: 200
    await operator.start()
    body = await until_answered(lab, event_id)
    assert replayed(body) == ("True", "Delivered")
    assert len(receiver.received) == 7
    assert len(body["status"]["attempts"]) == 6


async def test_without_its_run_a_delivery_cannot_be_replayed(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run, event_id = await failed(lab, receiver)
    await lab.client.delete(RUN, run, lab.namespace)
    await ask(lab, event_id)
    body = await until_answered(lab, event_id)
    assert replayed(body) == ("False", "RunDeleted")
    assert body["status"]["settled"] is True
    assert len(receiver.received) == 5


async def test_a_fault_of_our_own_holds_a_replay_up_and_uses_nothing_up(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    await lab.secret("hook", "sixteen characters and more")
    run = await lab.apply_run(
        templateRef={"name": lab.template["metadata"]["name"]},
        webhook={"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
    )

    async def is_admitted() -> bool:
        return (await lab.run(run)).resolved is not None

    await eventually(is_admitted)
    event_id = await failed_event(lab, receiver, run)
    await operator.kill()  # a secret that was read is remembered for a while
    await lab.client.delete(SECRET, "hook", lab.namespace)
    await operator.start()
    receiver.answer = lambda _: 200
    await ask(lab, event_id)
    held_up = await until(lab, event_id, lambda body: "SecretNotFound" in str(condition(body, "Replayed")))
    assert replayed(held_up) == ("Unknown", "SecretNotFound")
    assert len(receiver.received) == 5
    await lab.secret("hook", "sixteen characters and more")
    assert replayed(await until_answered(lab, event_id)) == ("True", "Delivered")
    assert len(receiver.received) == 6
