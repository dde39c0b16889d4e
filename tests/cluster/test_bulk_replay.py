"""Many deliveries are sent again: chosen by a filter, each once, with progress, across a crash, until told to stop."""

import asyncio
import json
import re
import uuid
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cluster.operator_lab import Delivered, Lab, OperatorProcess, Receiver
from tests.cluster.photo_lab import PhotoLab
from tests.cluster.replay_lab import bulk, counts, delivery, made_failed, told_events, until_ended
from tests.cluster.severed_line import SeveredLine
from tests.waiting import eventually

from checklist_crds.kube.errors import KubeInvalid, KubeNotFound
from checklist_crds.kube.kinds import DELIVERY_REPLAY, TEMPLATE
from checklist_crds.photo_store import PhotoStore
from checklist_crds.run_types import DeliveryPhase
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.controlplane import ControlPlane
from checklist_dev.kubectl import Kubectl
from checklist_operator.replay_turns import PER_HOST


def sent(receiver: Receiver) -> Counter[str]:
    """How often each event arrived."""
    return Counter(one.envelope["event_id"] for one in receiver.received)


async def get_heard(lab: Lab, receiver: Receiver) -> None:
    """Delivers something: a host that was never heard of is sent little at a time."""
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await lab.until_settled(run)
    receiver.received.clear()


async def test_the_failed_deliveries_that_a_filter_chooses_are_sent_once_each_and_no_others(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run, other_run = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url)
    hour_ago = utc_now() - timedelta(hours=1)
    wanted = {"event": "run.cancelled", "outcome": "timeout", "finished_at": hour_ago}
    chosen = await made_failed(lab, run, receiver.url, 30, **wanted)
    await made_failed(lab, other_run, receiver.url, 3, **wanted)
    await made_failed(lab, run, receiver.url.replace("127.0.0.1", "localhost"), 3, **wanted)
    await made_failed(lab, run, receiver.url, 3, **(wanted | {"event": "step.completed"}))
    await made_failed(lab, run, receiver.url, 3, **(wanted | {"outcome": "dns"}))
    await made_failed(lab, run, receiver.url, 3, **(wanted | {"finished_at": hour_ago - timedelta(minutes=2)}))
    await made_failed(lab, run, receiver.url, 3, **(wanted | {"finished_at": hour_ago + timedelta(minutes=2)}))
    await made_failed(lab, run, receiver.url, 3, **(wanted | {"organization": "somebody-else"}))
    refused = set(chosen[:4])
    receiver.answer = lambda one: 500 if one.envelope["event_id"] in refused else 200
    await bulk(
        lab,
        filter={
            "runRef": {"name": run},
            "host": "127.0.0.1",
            "event": "run.cancelled",
            "outcome": "timeout",
            "finishedAfter": format_timestamp(hour_ago - timedelta(minutes=1)),
            "finishedBefore": format_timestamp(hour_ago + timedelta(minutes=1)),
        },
        requestedBy="Ada",
    )
    status = await until_ended(lab)
    assert (status["phase"], counts(status)) == ("Completed", (30, 30, 26, 4, 0))
    assert sent(receiver) == dict.fromkeys(chosen, 1)
    assert {one.envelope["delivery_attempt"] for one in receiver.received} == {5}
    one = (await delivery(lab, chosen[-1]))["status"]
    assert (one["phase"], one["settled"]) == ("Delivered", True)
    assert one["lastReplay"]["requestedBy"] == "Ada"
    assert one["lastReplay"]["replayRef"] == {"name": "again"}
    assert one["lastReplay"]["requestedAt"] == status["startedAt"]
    records = {record.event_id: record.phase for record in (await lab.run(run)).status.deliveries}
    assert Counter(records.values())[DeliveryPhase.DELIVERED] == 26


async def test_after_a_crash_only_what_is_left_is_sent(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    await get_heard(lab, receiver)
    run = await lab.dispatch(receiver.url)
    chosen = await made_failed(lab, run, receiver.url, 40)
    gate = asyncio.Semaphore(0)
    answered: list[Delivered] = []

    async def answer(one: Delivered) -> int:
        await gate.acquire()
        answered.append(one)
        return 500 if one.envelope["seq"] % 4 == 0 else 200

    receiver.answer = answer
    await bulk(lab)
    for _ in range(12):
        gate.release()

    async def some_are_done() -> bool:
        status = (await lab.client.get(DELIVERY_REPLAY, "again", lab.namespace))["status"]
        return int(status.get("done", 0)) >= 12

    await eventually(some_are_done)
    await eventually(lambda: len(receiver.received) > 12)
    await operator.kill()
    under_way = len(receiver.received) - len(answered)
    for _ in range(1000):
        gate.release()
    await operator.start()
    status = await until_ended(lab)
    phases = Counter(one["status"]["phase"] for one in await lab.deliveries(run))
    assert counts(status) == (40, 40, phases["Delivered"], phases["Failed"], 0)
    arrived = sent(receiver)
    assert set(arrived) == set(chosen)
    assert max(arrived.values()) <= 2
    assert len(receiver.received) <= 40 + under_way
    done_before = {one.envelope["event_id"] for one in answered[:12]}
    assert all(arrived[event_id] == 1 for event_id in done_before)


async def test_a_cluster_that_does_not_answer_for_a_while_makes_it_late_and_nothing_twice(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    line = SeveredLine(int(control_plane.server.rsplit(":", 1)[1]))
    await line.start()
    kubeconfig = line.kubeconfig(control_plane.kubeconfig, tmp_path)
    operator = OperatorProcess(tmp_path, kubeconfig, lab.namespace)
    await operator.start()
    run = await lab.dispatch(receiver.url)
    chosen = await made_failed(lab, run, receiver.url, 40)

    async def slowly(_: Delivered) -> int:
        await asyncio.sleep(0.05)
        return 200

    receiver.answer = slowly
    await bulk(lab)
    await eventually(lambda: len(receiver.received) >= 5)
    for _ in range(3):
        line.down = True
        line.cut()
        await asyncio.sleep(0.4)
        line.down = False
        await asyncio.sleep(0.1)
    assert counts(await until_ended(lab)) == (40, 40, 40, 0, 0)
    assert sent(receiver) == dict.fromkeys(chosen, 1)
    await operator.stop()
    await line.stop()


async def test_what_a_final_run_tells_is_made_anew_and_what_a_step_told_is_refused(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url)
    await lab.answer(run, 0, 7)
    await lab.submit(run)
    await lab.until_settled(run)
    assert await lab.deliveries(run) == []
    step, final = receiver.received
    await bulk(lab, filter={"runRef": {"name": run}, "phase": "Delivered"})
    status = await until_ended(lab)
    assert counts(status) == (2, 2, 1, 0, 1)
    assert status["refusals"] == [{"reason": "payload_not_kept", "count": 1}]
    assert len(receiver.received) == 3
    again = receiver.received[-1]
    assert json.loads(again.body) == json.loads(final.body)
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


async def test_however_a_run_ended_it_is_told_again_in_the_same_bytes(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    cancelled, expired = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url, expires_in_s=1)
    await lab.answer(cancelled, 1, 4)
    await lab.cancel(cancelled)
    for run in (cancelled, expired):
        await lab.until_settled(run)
    told = {one.envelope["event"]: one for one in receiver.received}
    for event in ("run.cancelled", "run.expired"):
        await bulk(lab, event.replace(".", "-"), filter={"phase": "Delivered", "event": event})
        assert counts(await until_ended(lab, event.replace(".", "-"))) == (1, 1, 1, 0, 0)
        assert receiver.received[-1].body == told[event].body
        assert receiver.received[-1].envelope["event"] == event


async def test_photos_come_with_fresh_addresses_and_everything_else_as_it_was(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, tmp_path: Path
) -> None:
    photos = PhotoLab(lab, PhotoStore.open((tmp_path / "photos").as_uri()), tmp_path)
    await photos.prepare()
    receiver.answer = lambda _: 500
    run, told = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url)
    await photos.add(run)
    await lab.submit(run)
    await lab.until_settled(run)
    receiver.answer = lambda _: 200
    await photos.add(told)
    await lab.submit(told)
    await lab.until_settled(told)
    before = {one.envelope["event_id"]: one for one in receiver.received}
    await bulk(lab, filter={"runRef": {"name": run}})
    await bulk(lab, "told", filter={"runRef": {"name": told}, "phase": "Delivered"})
    assert counts(await until_ended(lab)) == (2, 2, 2, 0, 0)
    assert counts(await until_ended(lab, "told")) == (2, 2, 1, 0, 1)
    again = receiver.received[-3:]
    assert sorted(one.envelope["event"] for one in again) == ["run.completed", "run.completed", "step.completed"]
    for one in again:
        first = before[one.envelope["event_id"]]
        assert unsigned(one.body) == unsigned(first.body)
        addresses = re.findall(rb'"(https://[^"]+/v1/photos/[^"]+)"', one.body)
        assert addresses
        assert all(photos.seconds_left(address.decode()) for address in addresses)
    step = next(one.envelope for one in again if one.envelope["event"] == "step.completed")
    assert step["data"]["photos"][0]["thumbnail"]


def unsigned(body: bytes) -> bytes:
    """The body with the signatures in the addresses of photos left out."""
    return re.sub(rb"\?e=\d+&s=[^\"&]+", b"", body)


async def test_a_dry_run_sends_nothing_and_an_ended_replay_is_removed_in_its_time(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    run = await lab.dispatch(receiver.url)
    await made_failed(lab, run, receiver.url, 5)
    await bulk(lab, dryRun=True, ttlSecondsAfterFinished=1)
    await bulk(lab, "stays", dryRun=True)
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, CHECKLISTS_SWEEP_SECONDS="0.5")
    await operator.start()
    status = await until_ended(lab, "stays")
    assert (status["phase"], counts(status)) == ("Completed", (5, 0, 0, 0, 0))
    assert receiver.received == []

    async def is_gone() -> bool:
        try:
            await lab.client.get(DELIVERY_REPLAY, "again", lab.namespace)
        except KubeNotFound:
            return True
        return False

    await eventually(is_gone)
    assert (await lab.client.get(DELIVERY_REPLAY, "stays", lab.namespace))["status"]["settled"]
    await operator.stop()


async def test_deleting_it_stops_it(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    await get_heard(lab, receiver)
    run = await lab.dispatch(receiver.url)
    await made_failed(lab, run, receiver.url, 60)
    gate = asyncio.Event()

    async def answer(_: Delivered) -> int:
        await gate.wait()
        return 200

    receiver.answer = answer
    await bulk(lab)
    await eventually(lambda: receiver.received)
    await lab.client.delete(DELIVERY_REPLAY, "again", lab.namespace)
    await eventually(lambda: "it was deleted" in operator.output)
    gate.set()

    async def nothing_is_under_way() -> bool:
        statuses = [one["status"] for one in await lab.deliveries(run)]
        return all(status.get("settled") for status in statuses)

    await eventually(nothing_is_under_way)
    assert len(receiver.received) <= PER_HOST
    # What is left can be replayed by another one, of the same name or not.
    left = sum(one["status"]["phase"] == "Failed" for one in await lab.deliveries(run))
    assert left >= 60 - PER_HOST
    await bulk(lab)
    assert counts(await until_ended(lab)) == (left, left, left, 0, 0)


async def test_new_events_pass_a_bulk_replay_that_their_receiver_does_not_answer(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    await get_heard(lab, receiver)
    run = await lab.dispatch(receiver.url)
    await made_failed(lab, run, receiver.url, 40)
    gate = asyncio.Event()

    async def answer(one: Delivered) -> int:
        if one.envelope["delivery_attempt"] != 1:
            await gate.wait()
        return 200

    receiver.answer = answer
    await bulk(lab)
    await eventually(lambda: receiver.received)
    fresh = await lab.dispatch(receiver.url)
    await lab.cancel(fresh)
    await lab.until_settled(fresh)
    assert len(receiver.events(fresh)) == 1
    assert not (await lab.client.get(DELIVERY_REPLAY, "again", lab.namespace))["status"].get("settled")
    gate.set()
    assert counts(await until_ended(lab))[:2] == (40, 40)


async def test_an_organization_replays_nothing_where_it_does_not_live(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url)
    await made_failed(lab, run, receiver.url, 2)
    await bulk(lab, organizationRef={"name": "somebody-else"})
    status = await until_ended(lab)
    assert (status["phase"], status["conditions"][0]["reason"]) == ("Refused", "OrganizationNotFound")
    assert receiver.received == []


async def test_it_covers_all_places_where_the_organization_may_live(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, kubectl: Kubectl, tmp_path: Path
) -> None:
    installation = f"{lab.namespace}-all"
    kubectl("create", "namespace", installation)
    there = Lab(lab.client, installation)
    there.organization = lab.organization
    there.template = await lab.client.create(TEMPLATE, there.template_body(f"t-{uuid.uuid4()}"), installation)
    watched = {"CHECKLISTS_NAMESPACE": installation, "CHECKLISTS_WATCH_NAMESPACES": f"{lab.namespace},{installation}"}
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, **watched)
    await operator.start()
    chosen = [
        *await made_failed(lab, await lab.dispatch(receiver.url), receiver.url, 2),
        *await made_failed(there, await there.dispatch(receiver.url), receiver.url, 3),
    ]
    told = await there.dispatch(receiver.url)
    await there.cancel(told)
    await there.until_settled(told)
    await bulk(lab)
    assert counts(await until_ended(lab)) == (5, 5, 5, 0, 0)
    await bulk(there, "told", filter={"runRef": {"name": told}, "phase": "Delivered"})
    assert counts(await until_ended(there, "told")) == (1, 1, 1, 0, 0)
    again = sent(receiver)
    assert {event_id: again[event_id] for event_id in chosen} == dict.fromkeys(chosen, 1)
    await operator.stop()


async def test_the_cluster_refuses_a_filter_that_means_nothing(lab: Lab) -> None:
    for wrong in ({"phase": "Pending"}, {"phase": "InFlight"}, {"eventIds": ["evt-1"]}, {"outcome": "odd"}):
        with pytest.raises(KubeInvalid):
            await bulk(lab, filter=wrong)
    await bulk(lab, filter={"phase": "Failed"})
    with pytest.raises(KubeInvalid, match="immutable"):
        await lab.client.patch(DELIVERY_REPLAY, "again", {"spec": {"dryRun": True}}, lab.namespace)


async def test_kubectl_waits_for_it_and_shows_how_far_it_got(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    run = await lab.dispatch(receiver.url)
    await made_failed(lab, run, receiver.url, 3)
    await bulk(lab)
    there = ("clrep/again", "-n", lab.namespace)
    await asyncio.to_thread(kubectl, "wait", "--for=condition=Complete", *there, "--timeout=50s")
    assert kubectl("get", *there, "--no-headers").split()[:7] == ["again", "Completed", "3", "3", "3", "0", "0"]
    story = re.sub(" +", " ", kubectl("describe", *there))
    assert "3 delivered, 0 failed again, 0 could not be replayed." in story
    assert (await told_events(lab, "again", "Finished"))["type"] == "Normal"
