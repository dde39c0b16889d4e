"""Events from the outbox to the receiver: first attempts, retries, crashes, faults of our own."""

from itertools import pairwise

from tests.cluster.operator_lab import OTHER_SECRET, Delivered, Lab, OperatorProcess, Receiver, condition
from tests.waiting import eventually

from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import RUN, SECRET, TEMPLATE, TEMPLATE_REVISION, WEBHOOK_DELIVERY
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.resources.run import RunPhase
from checklist_dev.system.ports import free_ports


async def test_subscribed_events_arrive_in_order(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    run, quiet = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url, events=["run.completed"])
    for step in range(3):
        await lab.answer(run, step, value=step)
    await lab.answer(quiet)
    for one in (run, quiet):
        await lab.submit(one)
    settled = await lab.until_settled(run)
    events = receiver.events(run)
    assert [event["event"] for event in events] == ["step.completed"] * 3 + ["run.completed"]
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    assert receiver.attempts(run) == [1] * 4
    assert events[3]["data"]["answers"]["s-2"]["value"] == 2
    assert settled.status.outbox == []
    assert [record.phase for record in settled.status.delivery_records] == [DeliveryPhase.DELIVERED] * 4
    assert await lab.deliveries(run) == []
    await lab.until_settled(quiet)
    assert [event["event"] for event in receiver.events(quiet)] == ["run.completed"]


async def test_five_attempts_are_made_and_recorded(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    statuses = {"/late": [500, 301, 404, 410, 204], "/never": [503] * 5}

    def answer(one: Delivered) -> int:
        if one.path == "/open":
            return 500 if one.envelope["seq"] == 1 and one.attempt < 4 else 200
        return statuses[one.path][one.attempt - 1]

    receiver.answer = answer
    base = receiver.url.removesuffix("/hook")
    opened, late, never = [await lab.dispatch(base + path) for path in ("/open", "/late", "/never")]
    dead = await lab.dispatch(f"http://127.0.0.1:{free_ports(1)[0]}/")
    await lab.answer(opened, 0)
    await eventually(lambda: receiver.received)
    await lab.answer(opened, 1)  # the run goes on while its first event is retried
    await lab.submit(opened)
    for run in (late, never, dead):
        await lab.cancel(run)
    assert (await lab.until_settled(opened)).status.phase is RunPhase.COMPLETED
    assert sorted(event["seq"] for event in receiver.events(opened)) == [1, 1, 1, 1, 2, 3]

    (record,) = (await lab.until_settled(late)).status.delivery_records
    assert (record.phase, record.outcome, record.attempts) == (DeliveryPhase.DELIVERED, OutcomeClass.SUCCESS, 5)
    assert record.http_status == 204
    (delivery,) = await lab.deliveries(late)
    attempts = delivery["status"]["attempts"]
    assert [(one["number"], one["outcome"], one["httpStatus"], one.get("detail")) for one in attempts] == [
        (1, "http_5xx", 500, None),
        (2, "http_3xx", 301, None),
        (3, "http_4xx", 404, None),
        (4, "http_4xx", 410, None),
        (5, "success", 204, None),
    ]
    assert all(one["startedAt"] < one["nextAttemptAt"] <= later["startedAt"] for one, later in pairwise(attempts))
    assert "nextAttemptAt" not in attempts[-1]
    assert all(one["durationMs"] >= 0 for one in attempts)
    assert (delivery["status"]["phase"], "claim" in delivery["status"]) == ("Delivered", False)
    assert condition(delivery, "Delivered")["status"] == "True"

    (record,) = (await lab.until_settled(never)).status.delivery_records
    assert (record.phase, record.attempts) == (DeliveryPhase.FAILED, 5)
    (delivery,) = await lab.deliveries(never)
    assert (delivery["status"]["phase"], delivery["status"]["settled"]) == ("Failed", True)
    assert condition(delivery, "Delivered")["reason"] == "AttemptsExhausted"
    assert "delivery_attempt" not in delivery["spec"]["payload"]
    for path in ("/late", "/never"):
        transmissions = [one for one in receiver.received if one.path == path]
        assert [one.attempt for one in transmissions] == [1, 2, 3, 4, 5]
        assert len({one.headers["Signature-Input"] for one in transmissions}) == 5
        for before, after in pairwise(transmissions):
            assert after.at - before.at >= 0.2, "a retry is never early"
            assert {**before.envelope, "delivery_attempt": 0} == {**after.envelope, "delivery_attempt": 0}

    settled = await lab.until_settled(dead)
    (record,) = settled.status.delivery_records
    assert (record.outcome, record.ts) == (OutcomeClass.CONNECT, settled.status.cancelled_at)
    (delivery,) = await lab.deliveries(dead)
    assert {one["detail"] for one in delivery["status"]["attempts"]} == {"no connection: connection refused"}


async def test_attempts_in_flight_at_a_crash_repeat(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    receiver.hold(lambda one: one.path == "/first" or one.attempt == 2, others=500)
    base = receiver.url.removesuffix("/hook")
    first, retried = await lab.dispatch(f"{base}/first"), await lab.dispatch(f"{base}/retried")
    for run in (first, retried):
        await lab.cancel(run)
    await eventually(lambda: (receiver.attempts(first), receiver.attempts(retried)) == ([1], [1, 2]))
    (delivery,) = await lab.deliveries(retried)
    assert (delivery["status"]["phase"], delivery["status"]["claim"]["attempt"]) == ("InFlight", 2)
    await operator.kill()
    receiver.answer = lambda _: 200
    await operator.start()
    for run in (first, retried):
        await lab.until_settled(run)
        assert len({event["event_id"] for event in receiver.events(run)}) == 1
    assert (receiver.attempts(first), receiver.attempts(retried)) == ([1, 1], [1, 2, 2])


async def test_a_missing_secret_uses_no_attempt(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    answered = await lab.dispatch(receiver.url)
    name = (await lab.run(answered)).resolved.revision_ref.name
    revision = await lab.get(TEMPLATE_REVISION, name)
    await lab.client.patch(TEMPLATE, lab.template["metadata"]["name"], {"spec": {"name": "Second"}}, lab.namespace)
    run = await lab.apply_run_with_secret(receiver.url)
    await operator.kill()  # what was read is remembered for a while
    await lab.client.delete(SECRET, "hook", lab.namespace)
    await lab.answer(answered)
    await lab.client.delete(TEMPLATE_REVISION, name, lab.namespace)
    await operator.start()
    await lab.cancel(run)
    await lab.until_condition(RUN, answered, "Delivering", reason="RevisionMissing")
    await lab.until_condition(RUN, run, "Delivering", status="False", reason="SecretNotFound")
    assert 'checklists_own_faults_total{reason="SecretNotFound"}' in (await operator.get("/metrics"))[1]
    assert await operator.metric("checklists_delivery_attempts_total") == 0
    assert receiver.received == []
    await lab.secret("hook", OTHER_SECRET)
    revision["metadata"] = {key: revision["metadata"][key] for key in ("name", "namespace", "labels")}
    await lab.client.create(TEMPLATE_REVISION, revision, lab.namespace)
    await lab.until_settled(run)
    await eventually(lambda: receiver.events(answered))
    assert (receiver.attempts(run), receiver.attempts(answered)) == ([1], [1])
    await lab.until_condition(RUN, run, "Delivering", status="True")


async def test_a_retry_of_a_deleted_run_ends_as_failed(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    receiver.answer = lambda _: 500
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    (delivery,) = await eventually(lambda: lab.deliveries(run))
    await lab.client.delete(RUN, run, lab.namespace)
    await lab.until_condition(WEBHOOK_DELIVERY, delivery["metadata"]["name"], "Delivered", reason="RunDeleted")
