"""Events from the outbox to the receiver: first attempts, retries, crashes, faults of our own."""

import asyncio
import hashlib
from base64 import b64encode
from itertools import pairwise
from pathlib import Path

from tests.cluster.operator_lab import Delivered, Lab, OperatorProcess, Receiver, condition
from tests.waiting import eventually

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import RUN, SECRET, TEMPLATE_REVISION, WEBHOOK_DELIVERY
from checklist_crds.run_types import DeliveryPhase, RunPhase
from checklist_dev.controlplane import ControlPlane


async def test_every_event_of_a_run_arrives_in_order_and_the_run_settles(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url)
    for step in range(3):
        await lab.answer(run, step, value=step)
    await lab.submit(run)
    settled = await lab.until_settled(run)
    events = receiver.events(run)
    assert [event["event"] for event in events] == ["step.completed"] * 3 + ["run.completed"]
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    assert {event["delivery_attempt"] for event in events} == {1}
    assert events[3]["data"]["answers"]["s-2"]["value"] == 2
    assert settled.status.outbox == []
    assert [record.phase for record in settled.status.deliveries] == [DeliveryPhase.DELIVERED] * 4
    assert await lab.deliveries(run) == []


async def test_a_slow_receiver_gets_a_run_s_events_in_order_and_holds_none_up(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    async def slowly(_: Delivered) -> int:
        await asyncio.sleep(3)
        return 200

    known = await lab.dispatch(receiver.url)  # a host that was never heard of starts with fewer at a time
    await lab.cancel(known)
    await lab.until_settled(known)
    receiver.answer = slowly
    run = await lab.dispatch(receiver.url)
    for number in range(10):
        await lab.answer(run, number % 3)
    await eventually(lambda: len(receiver.events(run)) == 10)
    assert [event["seq"] for event in receiver.events(run)] == list(range(1, 11))


async def test_the_body_is_signed_with_the_secret_of_the_run(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await lab.until_settled(run)
    (delivered,) = receiver.received
    assert (
        delivered.headers["Content-Digest"]
        == f"sha-256=:{b64encode(hashlib.sha256(delivered.body).digest()).decode()}:"
    )
    assert f'keyid="{run}"' in delivered.headers["Signature-Input"]
    assert delivered.envelope["event"] == "run.cancelled"
    assert delivered.envelope["data"]["reason"] == "enough"


async def test_events_that_nobody_subscribed_to_are_not_sent(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url, events=["run.completed"])
    await lab.answer(run)
    await lab.submit(run)
    await lab.until_settled(run)
    assert [event["event"] for event in receiver.events(run)] == ["run.completed"]


async def test_a_failed_event_is_tried_again_until_it_is_delivered(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    receiver.answer = lambda one: 500 if one.envelope["delivery_attempt"] < 3 else 200
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    settled = await lab.until_settled(run)
    events = receiver.events(run)
    assert [event["delivery_attempt"] for event in events] == [1, 2, 3]
    assert len({event["event_id"] for event in events}) == 1
    assert len({one.headers["Signature-Input"] for one in receiver.received}) == 3
    (record,) = settled.status.deliveries
    assert (record.phase, record.attempts, record.http_status) == (DeliveryPhase.DELIVERED, 3, 200)
    delivery = await _settled_delivery(lab, run)
    assert delivery["status"]["phase"] == "Delivered"
    assert [attempt["outcome"] for attempt in delivery["status"]["attempts"]] == ["http_5xx", "http_5xx", "success"]
    assert condition(delivery, "Delivered")["status"] == "True"
    assert "claim" not in delivery["status"]


async def test_no_retry_is_early_and_all_but_the_number_stays_the_same(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    receiver.answer = lambda _: 503
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await lab.until_settled(run)
    assert len(receiver.received) == 5
    for before, after in pairwise(receiver.received):
        assert after.at - before.at >= 0.2
        assert {**before.envelope, "delivery_attempt": 0} == {**after.envelope, "delivery_attempt": 0}


async def test_after_the_fifth_failure_the_event_is_kept_as_failed(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    receiver.answer = lambda _: 410
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    settled = await lab.until_settled(run)
    await asyncio.sleep(0.5)
    assert [event["delivery_attempt"] for event in receiver.events(run)] == [1, 2, 3, 4, 5]
    (record,) = settled.status.deliveries
    assert (record.phase, record.attempts) == (DeliveryPhase.FAILED, 5)
    delivery = await _settled_delivery(lab, run)
    assert (delivery["status"]["phase"], delivery["status"]["settled"]) == ("Failed", True)
    assert condition(delivery, "Delivered")["reason"] == "AttemptsExhausted"
    assert "thumbnail" not in delivery["spec"]["payload"] and "delivery_attempt" not in delivery["spec"]["payload"]


async def _settled_delivery(lab: Lab, run: str) -> JsonObject:
    """The only one of the run; the run is told first how it ended."""

    async def look() -> JsonObject | None:
        (delivery,) = await lab.deliveries(run)
        return delivery if delivery["status"].get("settled") else None

    found: JsonObject = await eventually(look)
    return found


async def test_an_open_run_goes_on_while_an_event_is_retried(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    receiver.answer = lambda one: 500 if one.envelope["seq"] == 1 and one.envelope["delivery_attempt"] < 4 else 200
    run = await lab.dispatch(receiver.url)
    await lab.answer(run, 0)
    await eventually(lambda: receiver.received)
    await lab.answer(run, 1)
    await lab.submit(run)
    settled = await lab.until_settled(run)
    assert settled.status.phase is RunPhase.COMPLETED
    assert sorted(event["seq"] for event in receiver.events(run)) == [1, 1, 1, 1, 2, 3]


async def test_what_was_in_the_outbox_when_the_operator_died_is_sent_when_it_is_back(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    hanging: list[Delivered] = []

    async def hang(one: Delivered) -> int:
        hanging.append(one)
        await asyncio.sleep(30)
        return 200

    receiver.answer = hang
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace)
    await operator.start()
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await eventually(lambda: hanging)
    await operator.kill()
    receiver.answer = lambda _: 200
    await operator.start()
    await lab.until_settled(run)
    events = receiver.events(run)
    assert [event["delivery_attempt"] for event in events] == [1, 1]
    assert events[0]["event_id"] == events[1]["event_id"]
    await operator.stop()


async def test_a_claimed_retry_is_made_again_under_its_number_after_a_crash(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    hanging: list[Delivered] = []

    async def answer(one: Delivered) -> int:
        if one.envelope["delivery_attempt"] == 2 and not hanging:
            hanging.append(one)
            await asyncio.sleep(30)
        return 200 if one.envelope["delivery_attempt"] == 2 else 500

    receiver.answer = answer
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace)
    await operator.start()
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await eventually(lambda: hanging)
    (delivery,) = await lab.deliveries(run)
    assert delivery["status"]["phase"] == "InFlight"
    assert delivery["status"]["claim"]["attempt"] == 2
    await operator.kill()
    await operator.start()
    await lab.until_settled(run)
    assert [event["delivery_attempt"] for event in receiver.events(run)] == [1, 2, 2]
    await operator.stop()


async def test_an_event_that_was_handed_over_before_a_crash_is_not_sent_as_a_first_attempt_again(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    receiver.answer = lambda _: 500
    slow = {"CHECKLISTS_RETRY_GAPS": "30,30,30,30"}
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, **slow)
    await operator.start()
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await eventually(lambda: _record_is_pending(lab, run))
    await operator.kill()
    # As if the process had died between making the delivery and taking the event out of the outbox.
    body = await lab.client.get(RUN, run, lab.namespace)
    record = body["status"]["deliveries"][0]
    entry = {"seq": 1, "event": record["event"], "eventId": record["eventId"], "ts": body["spec"]["createdAt"]}
    await lab.client.patch_status(RUN, run, {"outbox": [entry], "deliveries": None}, lab.namespace)
    await operator.start()
    await eventually(lambda: _record_is_pending(lab, run))
    assert len(receiver.received) == 1
    assert (await lab.run(run)).status.outbox == []
    await operator.stop()


async def _record_is_pending(lab: Lab, run: str) -> bool:
    return [record.phase for record in (await lab.run(run)).status.deliveries] == [DeliveryPhase.PENDING]


async def test_a_secret_that_cannot_be_read_uses_up_no_attempt(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    await lab.secret("hook", "sixteen characters and more")
    url = receiver.url
    run = await lab.apply_run(
        templateRef={"name": lab.template["metadata"]["name"]},
        webhook={"url": url, "events": ["*"], "secretRef": {"name": "hook"}},
    )
    await eventually(lambda: _is_admitted(lab, run))
    await lab.client.delete(SECRET, "hook", lab.namespace)
    await asyncio.sleep(10.5)  # the operator keeps a secret that it read for ten seconds
    await lab.cancel(run)
    told = await eventually(lambda: _condition(lab, run, "Delivering"))
    assert (told["status"], told["reason"]) == ("False", "SecretNotFound")
    assert receiver.received == []
    await lab.secret("hook", "sixteen characters and more")
    await lab.until_settled(run)
    assert [event["delivery_attempt"] for event in receiver.events(run)] == [1]
    assert (await _condition(lab, run, "Delivering"))["status"] == "True"


async def _is_admitted(lab: Lab, run: str) -> bool:
    return (await lab.run(run)).resolved is not None


async def _condition(lab: Lab, run: str, kind: str) -> dict[str, str] | None:
    return condition(await lab.client.get(RUN, run, lab.namespace), kind)


async def test_a_retry_of_a_deleted_run_is_given_up(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    receiver.answer = lambda _: 500
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    (delivery,) = await eventually(lambda: lab.deliveries(run))
    await lab.client.delete(RUN, run, lab.namespace)

    async def given_up() -> bool:
        body = await lab.client.get(WEBHOOK_DELIVERY, delivery["metadata"]["name"], lab.namespace)
        return (condition(body, "Delivered") or {}).get("reason") == "RunDeleted"

    await eventually(given_up)


async def test_a_clean_end_waits_for_what_is_in_flight(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    async def slowly(_: Delivered) -> int:
        await asyncio.sleep(1)
        return 200

    receiver.answer = slowly
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await eventually(lambda: receiver.received)
    await operator.stop()
    assert (await lab.run(run)).status.settled
    assert len(receiver.received) == 1


async def test_a_missing_revision_is_a_fault_of_our_own(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url)
    revision = (await lab.run(run)).resolved.revision_ref.name
    body = await lab.client.get(TEMPLATE_REVISION, revision, lab.namespace)
    await lab.answer(run)
    await eventually(lambda: receiver.received)
    await lab.client.delete(TEMPLATE_REVISION, revision, lab.namespace)
    await operator.stop()
    await lab.answer(run, 1)
    await operator.start()
    told = await eventually(lambda: _condition(lab, run, "Delivering"))
    assert told["reason"] == "RevisionMissing"
    body["metadata"] = {key: body["metadata"][key] for key in ("name", "namespace", "labels")}
    await lab.client.create(TEMPLATE_REVISION, body, lab.namespace)
    await eventually(lambda: len(receiver.received) == 2)
