"""Several bulk replays at a time, and deliveries within one: what is held up holds up nothing else."""

import base64
from collections import Counter

from tests.cluster.operator_lab import SEALING_KEYS, Lab, OperatorProcess, Receiver, StartOperator
from tests.cluster.replay_lab import bulk, counts, made_failed, replayed, until, until_ended
from tests.waiting import eventually

from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.pause import PAUSED_ANNOTATION
from checklist_crds.secrets.sealing import KeyRing
from checklist_operator.replays.turns import NAMED_AT_ONCE, PER_HOST

OTHER_KEY = "k9:" + base64.b64encode(bytes(range(64, 96))).decode()
"""A sealing key that the operator does not have: what is to be signed with a secret under it waits."""


async def made_unsendable(lab: Lab, receiver: Receiver, count: int) -> list[str]:
    """Failed deliveries whose secret the operator cannot open."""
    known, lab.key_ring = lab.key_ring, KeyRing.parse(OTHER_KEY)
    run = await lab.dispatch(receiver.url)
    lab.key_ring = known
    return await made_failed(lab, run, receiver.url, count)


async def until_set_aside(lab: Lab, event_ids: list[str], number: int) -> None:
    async def so_many_are() -> bool:
        found = [await lab.get(WEBHOOK_DELIVERY, event_id) for event_id in event_ids]
        asked_for = [replayed(body) for body in found if "replay" in body["status"]]
        return asked_for == [("Unknown", "SecretUnreadable")] * number

    await eventually(so_many_are, every_s=0.2)


async def just(lab: Lab, event_id: str) -> dict[str, object]:
    """A filter that chooses this one."""
    body = await lab.get(WEBHOOK_DELIVERY, event_id)
    return {"runRef": body["spec"]["runRef"], "eventIds": [event_id]}


async def test_replays_of_paused_runs_do_not_block_others_to_their_host(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    paused, other = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url)
    await lab.client.patch(RUN, paused, {"metadata": {"annotations": {PAUSED_ANNOTATION: "true"}}}, lab.namespace)
    waiting = await made_failed(lab, paused, receiver.url, PER_HOST)
    free = await made_failed(lab, other, receiver.url, PER_HOST + 1)  # the last one is the newest of all
    await bulk(lab)
    await until(lab, free[-1], lambda body: body["status"]["phase"] == "Delivered")
    for event_id in waiting:
        assert replayed(await lab.get(WEBHOOK_DELIVERY, event_id)) == ("Unknown", "Paused")
    await lab.client.patch(RUN, paused, {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}}, lab.namespace)
    total = len(waiting) + len(free)
    assert counts(await until_ended(lab)) == (total, total, total, 0, 0)
    assert Counter(one.envelope["event_id"] for one in receiver.received) == dict.fromkeys([*waiting, *free], 1)


async def test_stuck_replays_do_not_block_others(lab: Lab, receiver: Receiver, start_operator: StartOperator) -> None:
    other = Lab(lab.client, lab.namespace)
    await other.prepare()
    operator = await start_operator()
    unsendable = await made_unsendable(lab, receiver, NAMED_AT_ONCE + 3)
    names = [
        await bulk(lab, f"stuck-{number}", filter=await just(lab, event_id))
        for number, event_id in enumerate(unsendable)
    ]
    await until_set_aside(lab, unsendable, NAMED_AT_ONCE)
    everything = await bulk(lab, "everything", filter={"event": "run.expired"})
    assert counts(await until_ended(lab, everything)) == (0, 0, 0, 0, 0)
    chosen = await made_failed(other, await other.dispatch(receiver.url), receiver.url, 5)
    await bulk(other)
    assert counts(await until_ended(other)) == (5, 5, 5, 0, 0)
    assert Counter(one.envelope["event_id"] for one in receiver.received) == dict.fromkeys(chosen, 1)
    await operator.stop()
    await start_operator("after", CHECKLISTS_SEALING_KEYS=f"{SEALING_KEYS},{OTHER_KEY}")
    for name in names:
        assert counts(await until_ended(lab, name)) == (1, 1, 1, 0, 0)
    assert Counter(one.envelope["event_id"] for one in receiver.received) == dict.fromkeys([*chosen, *unsendable], 1)
