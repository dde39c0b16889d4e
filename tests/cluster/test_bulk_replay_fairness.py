"""Bulk replays beside each other, and deliveries within one: what is held up holds up nothing else."""

import base64
from collections import Counter
from pathlib import Path

from tests.cluster.operator_lab import SEALING_KEYS, Lab, OperatorProcess, Receiver
from tests.cluster.replay_lab import bulk, counts, delivery, made_failed, replayed, until_ended
from tests.waiting import eventually

from checklist_crds.kube.kinds import DELIVERY_REPLAY
from checklist_crds.sealing import KeyRing
from checklist_dev.controlplane import ControlPlane
from checklist_operator.replay_places import NAMED_AT_ONCE
from checklist_operator.replay_turns import PER_HOST

OTHER_KEY = "k9:" + base64.b64encode(bytes(range(64, 96))).decode()
"""A sealing key that the operator does not have: what is to be signed with a secret under it waits."""


async def made_unsendable(lab: Lab, receiver: Receiver, count: int) -> list[str]:
    """Failed deliveries whose secret the operator cannot open."""
    known, lab.key_ring = lab.key_ring, KeyRing.parse(OTHER_KEY)
    run = await lab.dispatch(receiver.url)
    lab.key_ring = known
    return await made_failed(lab, run, receiver.url, count)


async def until_held_up(lab: Lab, event_ids: list[str], number: int) -> None:
    async def so_many_are() -> bool:
        found = [await delivery(lab, event_id) for event_id in event_ids]
        asked_for = [replayed(body) for body in found if "replay" in body["status"]]
        return asked_for == [("Unknown", "SecretUnreadable")] * number

    await eventually(so_many_are, every_s=0.2)


async def just(lab: Lab, event_id: str) -> dict[str, object]:
    """A filter that chooses this one."""
    body = await delivery(lab, event_id)
    return {"runRef": body["spec"]["runRef"], "eventIds": [event_id]}


async def test_what_cannot_be_signed_holds_up_nothing_else_of_its_host(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    unsendable = await made_unsendable(lab, receiver, PER_HOST + 2)
    chosen = await made_failed(lab, await lab.dispatch(receiver.url), receiver.url, 3 * PER_HOST)
    name = await bulk(lab)
    await eventually(lambda: len(receiver.received) >= len(chosen))
    await until_held_up(lab, unsendable, len(unsendable))
    assert Counter(one.envelope["event_id"] for one in receiver.received) == dict.fromkeys(chosen, 1)

    async def told() -> tuple[int, ...]:
        status = (await lab.client.get(DELIVERY_REPLAY, name, lab.namespace))["status"]
        assert not status.get("settled")
        return counts(status)

    wanted = (len(unsendable) + len(chosen), len(chosen), len(chosen), 0, 0)

    async def is_told() -> bool:
        return await told() == wanted

    await eventually(is_told)


async def test_replays_that_go_on_and_on_hold_up_no_other_organization_and_end_when_they_can(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    other = Lab(lab.client, lab.namespace)
    await other.prepare()
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace)
    await operator.start()
    unsendable = await made_unsendable(lab, receiver, NAMED_AT_ONCE + 3)
    names = [
        await bulk(lab, f"stuck-{number}", filter=await just(lab, event_id))
        for number, event_id in enumerate(unsendable)
    ]
    await until_held_up(lab, unsendable, NAMED_AT_ONCE)
    everything = await bulk(lab, "everything", filter={"event": "run.expired"})
    assert counts(await until_ended(lab, everything)) == (0, 0, 0, 0, 0)
    chosen = await made_failed(other, await other.dispatch(receiver.url), receiver.url, 5)
    await bulk(other)
    assert counts(await until_ended(other)) == (5, 5, 5, 0, 0)
    assert Counter(one.envelope["event_id"] for one in receiver.received) == dict.fromkeys(chosen, 1)
    await operator.stop()
    keys = f"{SEALING_KEYS},{OTHER_KEY}"
    after = OperatorProcess(
        tmp_path, control_plane.kubeconfig, lab.namespace, name="after", CHECKLISTS_SEALING_KEYS=keys
    )
    await after.start()
    for name in names:
        assert counts(await until_ended(lab, name)) == (1, 1, 1, 0, 0)
    assert Counter(one.envelope["event_id"] for one in receiver.received) == dict.fromkeys([*chosen, *unsendable], 1)
    await after.stop()
