"""One delivery is sent again: asked for by an annotation, made once, recorded, and reported to the run."""

from tests.cluster.operator_lab import OTHER_SECRET, Lab, OperatorProcess, Receiver, StartOperator
from tests.cluster.replay_lab import ask, failed, kube_event, replayed, until, until_answered, verdict
from tests.waiting import eventually

from checklist_crds.kube.kinds import RUN, SECRET, WEBHOOK_DELIVERY
from checklist_crds.run_types import DeliveryPhase


async def test_a_replay_that_fails_can_be_asked_for_again_and_one_that_succeeds_is_recorded_everywhere(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run, event_id = await failed(lab, receiver)
    before = await lab.get(WEBHOOK_DELIVERY, event_id)
    receiver.answer = lambda _: 418
    assert await verdict(lab, event_id) == ("False", "ReplayFailed")
    status = (await lab.get(WEBHOOK_DELIVERY, event_id))["status"]
    assert (status["phase"], status["settled"], status["attempt"]) == ("Failed", True, 5)
    assert status["finishedAt"] == before["status"]["finishedAt"]
    assert status["lastReplay"]["outcome"] == "http_4xx"
    assert "HTTP 418" in (await kube_event(lab, event_id, "ReplayFailed"))["message"]

    receiver.answer = lambda _: 202
    asked = await ask(lab, event_id, by="Ada")
    body = await until_answered(lab, event_id)
    last, again = receiver.received[-2:]
    assert again.body == last.body
    assert (again.envelope["event_id"], again.attempt) == (event_id, 5)
    assert again.headers["Signature"] != last.headers["Signature"]
    attempts = body["status"]["attempts"]
    assert [(one["number"], one.get("manual", False), one["outcome"]) for one in attempts] == [
        *[(number, False, "http_5xx") for number in range(1, 6)],
        (5, True, "http_4xx"),
        (5, True, "success"),
    ]
    assert "nextAttemptAt" not in attempts[-1]
    assert body["status"]["lastReplay"] == {
        "requestedAt": asked,
        "requestedBy": "Ada",
        "attemptedAt": attempts[-1]["startedAt"],
        "outcome": "success",
        "httpStatus": 202,
    }
    assert replayed(body) == ("True", "Delivered")
    settled = await until(lab, event_id, lambda one: one["status"].get("settled"))
    assert settled["status"]["phase"] == "Delivered"
    assert (await kube_event(lab, event_id, "Replayed"))["type"] == "Normal"

    # What is delivered can be replayed, too, and stays delivered whatever comes of it.
    receiver.answer = lambda _: 503
    assert await verdict(lab, event_id) == ("False", "ReplayFailed")
    assert (await lab.get(WEBHOOK_DELIVERY, event_id))["status"]["phase"] == "Delivered"
    assert receiver.attempts(run) == [1, 2, 3, 4, 5, 5, 5, 5]
    (record,) = (await lab.run(run)).status.deliveries
    assert (record.phase, record.attempts, record.http_status, record.outcome) == (
        DeliveryPhase.DELIVERED,
        5,
        202,
        "success",
    )


async def test_a_replay_is_refused_while_a_retry_is_to_come_or_an_attempt_is_under_way(
    lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    await start_operator(CHECKLISTS_RETRY_GAPS="3,600,600,600")
    receiver.answer = lambda _: 500
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    (made,) = await eventually(lambda: lab.deliveries(run))
    event_id = made["metadata"]["name"]
    await until(lab, event_id, lambda body: body["status"].get("attempt") == 1)
    assert await verdict(lab, event_id) == ("False", "RetryPending")
    gate = receiver.hold()
    await eventually(lambda: receiver.attempts(run) == [1, 2])
    assert await verdict(lab, event_id) == ("False", "RetryPending")
    status = (await lab.get(WEBHOOK_DELIVERY, event_id))["status"]
    assert (status["phase"], status["claim"]["attempt"], "lastReplay" in status) == ("InFlight", 2, False)
    assert (await kube_event(lab, event_id, "ReplayRefused"))["type"] == "Warning"
    gate.set()
    await lab.until_settled(run)
    assert receiver.attempts(run) == [1, 2]


async def test_a_replay_waits_for_its_secret_and_is_refused_without_its_run(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run, event_id = await failed(lab, receiver, run=await lab.apply_run_with_secret(receiver.url))
    await operator.kill()  # a secret that was read is remembered for a while
    await lab.client.delete(SECRET, "hook", lab.namespace)
    await operator.start()
    receiver.answer = lambda _: 200
    await ask(lab, event_id)
    await lab.until_condition(WEBHOOK_DELIVERY, event_id, "Replayed", status="Unknown", reason="SecretNotFound")
    assert len(receiver.received) == 5
    await lab.secret("hook", OTHER_SECRET)
    assert replayed(await until_answered(lab, event_id)) == ("True", "Delivered")
    assert len(receiver.received) == 6

    await lab.client.delete(RUN, run, lab.namespace)
    assert await verdict(lab, event_id) == ("False", "RunDeleted")
    assert (await lab.get(WEBHOOK_DELIVERY, event_id))["status"]["settled"] is True
    assert len(receiver.received) == 6
