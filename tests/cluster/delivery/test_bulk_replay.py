"""Many deliveries are sent again: chosen by a filter, each once, with progress, until the replay is deleted."""

import asyncio
import re
import uuid
from collections import Counter
from datetime import timedelta

import httpx
import pytest
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, StartOperator
from tests.cluster.replay_lab import bulk, counts, kube_event, made_failed, until_ended
from tests.waiting import eventually

from checklist_crds.kube.errors import KubeInvalid
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import DELIVERY_REPLAY, TEMPLATE, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.local.kubectl import Kubectl
from checklist_operator.replays.turns import PER_HOST


def sent(receiver: Receiver) -> Counter[str]:
    """How often each event arrived."""
    return Counter(one.envelope["event_id"] for one in receiver.received)


async def test_the_failed_deliveries_that_a_filter_chooses_are_sent_once_each_and_no_others(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl, rest: httpx.AsyncClient
) -> None:
    """Asked for over REST. What fits each part of a filter is tests/unit/delivery/test_replay_selection.py."""
    run, other_run = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url)
    hour_ago = utc_now() - timedelta(hours=1)
    wanted = {"event": "run.cancelled", "outcome": "timeout", "finished_at": hour_ago}
    chosen = await made_failed(lab, run, receiver.url, 30, **wanted)
    await made_failed(lab, other_run, receiver.url, 2, **wanted)
    for change in ({"outcome": "dns"}, {"organization": "other"}, {"finished_at": utc_now()}):
        await made_failed(lab, run, receiver.url, 2, **{**wanted, **change})
    refused = set(chosen[:4])
    receiver.answer = lambda one: 500 if one.envelope["event_id"] in refused else 200
    criteria = {
        "run_id": run,
        "host": "127.0.0.1",
        "event": "run.cancelled",
        "outcome": "timeout",
        "finished_after": format_timestamp(hour_ago - timedelta(minutes=1)),
        "finished_before": format_timestamp(hour_ago + timedelta(minutes=1)),
    }
    asked = await rest.post("/v1/deliveries/replay", json={"filter": criteria})
    assert asked.status_code == 202, asked.text
    name = asked.json()["replay_id"]
    there = (f"clrep/{name}", "-n", lab.namespace)
    await asyncio.to_thread(kubectl, "wait", "--for=condition=Complete", *there, "--timeout=50s")
    status = await until_ended(lab, name)
    assert (status["phase"], counts(status)) == ("Completed", (30, 30, 26, 4, 0))

    async def shown() -> bool:
        view = (await rest.get(asked.headers["Location"])).json()
        numbers = [view[number] for number in ("total", "done", "delivered", "failed", "refused")]
        return (view["status"], numbers) == ("completed", [30, 30, 26, 4, 0])

    await eventually(shown)
    assert kubectl("get", *there, "--no-headers").split()[:7] == [name, "Completed", "30", "30", "26", "4", "0"]
    story = re.sub(" +", " ", kubectl("describe", *there))
    assert "26 delivered, 4 failed again, 0 could not be replayed." in story
    assert (await kube_event(lab, name, "Finished"))["type"] == "Normal"
    assert sent(receiver) == dict.fromkeys(chosen, 1)
    assert {one.attempt for one in receiver.received} == {5}
    one = (await lab.get(WEBHOOK_DELIVERY, chosen[-1]))["status"]
    assert (one["phase"], one["settled"]) == ("Delivered", True)
    assert one["lastReplay"]["requestedBy"] == "Acme"
    assert one["lastReplay"]["replayRef"] == {"name": name}
    assert one["lastReplay"]["requestedAt"] == status["startedAt"]
    phases = Counter(record.phase for record in (await lab.run(run)).status.delivery_records)
    assert phases[DeliveryPhase.DELIVERED] == 26


async def test_final_events_are_replayed_steps_refused(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    run = await lab.dispatch(receiver.url)
    cancelled, expired = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url, expires_in_s=1)
    await lab.answer(run, 0, 7)
    await lab.submit(run)
    await lab.cancel(cancelled)
    for one in (run, cancelled, expired):
        await lab.until_settled(one)
    assert await lab.deliveries(run) == []
    first = {one.envelope["event"]: one for one in receiver.received}
    step, final = first["step.completed"], first["run.completed"]
    await bulk(lab, filter={"runRef": {"name": run}, "phase": "Delivered"})
    status = await until_ended(lab)
    assert counts(status) == (2, 2, 1, 0, 1)
    assert status["refusals"] == [{"reason": "payload_not_kept", "count": 1}]
    again = receiver.received[-1]
    assert again.body == final.body
    assert again.headers["Signature"] != final.headers["Signature"]
    (made,) = await lab.deliveries(run)
    assert [(one["number"], one.get("manual", False)) for one in made["status"]["attempts"]] == [(1, False), (1, True)]
    assert "annotations" not in made["metadata"]
    # Named one by one, each gets an answer; and what has an object by now is replayed from that.
    ids = [final.envelope["event_id"], step.envelope["event_id"], "evt-unknown"]
    await bulk(lab, "named", filter={"runRef": {"name": run}, "eventIds": ids})
    assert counts(await until_ended(lab, "named")) == (3, 3, 1, 0, 2)
    assert receiver.received[-1].body == final.body
    assert len(await lab.deliveries(run)) == 1
    for event in ("run.cancelled", "run.expired"):
        name = await bulk(lab, event.replace(".", "-"), filter={"phase": "Delivered", "event": event})
        assert counts(await until_ended(lab, name)) == (1, 1, 1, 0, 0)
        assert receiver.received[-1].body == first[event].body


async def test_dry_runs_and_foreign_replays_send_nothing(
    lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    run = await lab.dispatch(receiver.url)
    await made_failed(lab, run, receiver.url, 5)
    await bulk(lab, dryRun=True, ttlSecondsAfterFinished=1)
    await bulk(lab, "stays", dryRun=True)
    await bulk(lab, "foreign", organizationRef={"name": "other"})
    await start_operator(CHECKLISTS_SWEEP_SECONDS="0.5")
    status = await until_ended(lab, "stays")
    assert (status["phase"], counts(status)) == ("Completed", (5, 0, 0, 0, 0))
    foreign = await until_ended(lab, "foreign")
    assert (foreign["phase"], foreign["conditions"][0]["reason"]) == ("Refused", "OrganizationNotFound")
    await eventually(lambda: lab.is_gone(DELIVERY_REPLAY, "again"))
    assert not await lab.is_gone(DELIVERY_REPLAY, "stays")
    assert receiver.received == []


async def test_new_events_overtake_a_bulk_replay(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    await lab.cancelled(receiver.url)  # a host that was never heard of is sent little at a time
    receiver.received.clear()
    run = await lab.dispatch(receiver.url)
    await made_failed(lab, run, receiver.url, 60)
    gate = receiver.hold(lambda one: one.attempt != 1)
    await bulk(lab)
    await eventually(lambda: receiver.received)
    fresh = await lab.cancelled(receiver.url)
    assert len(receiver.events(fresh)) == 1
    assert not (await lab.get(DELIVERY_REPLAY, "again"))["status"].get("settled")
    await lab.client.delete(DELIVERY_REPLAY, "again", lab.namespace)
    await eventually(lambda: "bulk_replay.deleted" in operator.output)
    gate.set()

    async def phases() -> Counter[str] | None:
        statuses = [one["status"] for one in await lab.deliveries(run)]
        return Counter(one["phase"] for one in statuses) if all(one.get("settled") for one in statuses) else None

    left = (await eventually(phases))["Failed"]
    assert len(receiver.events(run)) <= PER_HOST
    assert left >= 60 - PER_HOST
    # What is left can be replayed by another one, of the same name or not.
    await bulk(lab)
    assert counts(await until_ended(lab)) == (left, left, left, 0, 0)


async def test_it_covers_all_places_where_the_organization_may_live(
    lab: Lab, receiver: Receiver, kubectl: Kubectl, start_operator: StartOperator
) -> None:
    installation = f"{lab.namespace}-all"
    kubectl("create", "namespace", installation)
    there = Lab(lab.client, installation)
    there.organization = lab.organization
    there.template = await lab.client.create(TEMPLATE, there.template_body(f"t-{uuid.uuid4()}"), installation)
    watched = f"{lab.namespace},{installation}"
    await start_operator(CHECKLISTS_NAMESPACE=installation, CHECKLISTS_WATCH_NAMESPACES=watched)
    chosen = [
        *await made_failed(lab, await lab.dispatch(receiver.url), receiver.url, 2),
        *await made_failed(there, await there.dispatch(receiver.url), receiver.url, 3),
    ]
    delivered = await there.cancelled(receiver.url)
    await bulk(lab)
    assert counts(await until_ended(lab)) == (5, 5, 5, 0, 0)
    await bulk(there, "delivered", filter={"runRef": {"name": delivered}, "phase": "Delivered"})
    assert counts(await until_ended(there, "delivered")) == (1, 1, 1, 0, 0)
    again = sent(receiver)
    assert {event_id: again[event_id] for event_id in chosen} == dict.fromkeys(chosen, 1)


async def test_the_cluster_refuses_a_filter_that_means_nothing(lab: Lab) -> None:
    for wrong in ({"phase": "Pending"}, {"phase": "InFlight"}, {"eventIds": ["evt-1"]}, {"outcome": "odd"}):
        with pytest.raises(KubeInvalid):
            await bulk(lab, filter=wrong)
    await bulk(lab, filter={"phase": "Failed"})
    with pytest.raises(KubeInvalid, match="immutable"):
        await lab.client.patch(DELIVERY_REPLAY, "again", {"spec": {"dryRun": True}}, lab.namespace)
