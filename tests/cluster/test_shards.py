"""Several active operators, as real processes: each organization has one, and what happens when one goes, or their
number changes."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from tests.cluster.operator_lab import Lab, Receiver, StartOperator
from tests.waiting import eventually

from checklist_crds.delivery_records import DeliveryPhase
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.slots import SLOT_LABEL, slot_of
from checklist_operator.runtime.sharding import Shard


def as_shard(start_operator: StartOperator, shard: str, name: str = "", word: str = "leading") -> Any:
    name = name or f"shard-{shard.replace('/', '-of-')}"
    settings = {"CHECKLISTS_SHARD": shard, "CHECKLISTS_RETRY_GAPS": "1,5,20,20"}
    return start_operator(name, word=word, **settings)


async def labs(client: KubeClient, namespace: str, count: int, *, each: int = 1) -> list[Lab]:
    """`each` organizations for each of `count` shards, in their order."""
    found: dict[int, list[Lab]] = {index: [] for index in range(count)}
    while min(map(len, found.values())) < each:
        lab = Lab(client, namespace)
        [index] = [index for index in range(count) if Shard(index, count).owns(lab.organization)]
        if len(found[index]) < each:
            await lab.prepare()
            found[index].append(lab)
    return [lab for index in range(count) for lab in found[index]]


async def labelled(lab: Lab, run: str) -> None:
    await lab.client.patch(RUN, run, {"metadata": {"labels": {SLOT_LABEL: slot_of(lab.organization)}}}, lab.namespace)


async def test_each_organization_has_one_operator_and_the_death_of_one_stops_no_other(
    client: KubeClient, namespace: str, receiver: Receiver, start_operator: StartOperator
) -> None:
    first, second = await as_shard(start_operator, "0/2"), await as_shard(start_operator, "1/2")
    standby = await as_shard(start_operator, "1/2", "standby", "standby")
    own, others = await labs(client, namespace, 2)

    async def work(lab: Lab, *, slot: bool) -> str:
        run = await lab.dispatch(receiver.url)
        if slot:
            await labelled(lab, run)
        await lab.answer(run)
        await lab.cancel(run)
        return run

    runs = [(lab, await work(lab, slot=slot)) for lab in (own, others) for slot in (True, False)]
    applied = [
        (lab, await lab.apply_run(**wanted))
        for lab in (own, others)
        for wanted in (
            {"organizationRef": {"name": lab.organization}, "templateId": lab.template["metadata"]["name"]},
            {"templateRef": {"name": lab.template["metadata"]["name"]}, "expiresInHours": 1},
        )
    ]
    for lab, run in runs:
        await lab.until_settled(run)
    for lab, run in applied:
        await lab.until_admitted(run)
    counts = Counter((one.envelope["run_id"], one.envelope["event_id"]) for one in receiver.received)
    assert len(counts) == 8 and set(counts.values()) == {1}
    for operator in (first, second):
        assert await operator.metric("checklists_delivery_attempts_total") == 4
        assert await operator.metric("checklists_run_admissions_total") == 2
    for kind in (RUN, WEBHOOK_DELIVERY):
        for body in (await client.list_all(kind, namespace))[0]:
            reference = body["spec"].get("organizationRef")
            organization = reference["name"] if reference else body["status"]["resolved"]["organization"]
            assert body["metadata"]["labels"].get(SLOT_LABEL) == slot_of(organization)

    await second.kill()
    waiting = await work(others, slot=True)
    await own.until_settled(await work(own, slot=True))
    assert await first.metric("checklists_leader") == 1
    await standby.until_ready("leading", within_s=90)
    await others.until_settled(waiting)
    assert await first.metric("checklists_delivery_attempts_total") == 6
    assert await standby.metric("checklists_delivery_attempts_total") == 2
    assert {len(receiver.events(run)) for _, run in runs} == {2}


@pytest.mark.parametrize(("before", "after"), [([""], ["0/3", "1/3", "2/3"]), (["0/2", "1/2"], [""])])
async def test_another_number_of_shards_begins_when_the_former_ones_are_gone_and_loses_nothing(  # noqa: PLR0917 - fixtures
    client: KubeClient,
    namespace: str,
    receiver: Receiver,
    start_operator: StartOperator,
    before: list[str],
    after: list[str],
) -> None:
    """One of the former is killed, the others end as they should."""
    former = [await as_shard(start_operator, shard, f"former-{number}") for number, shard in enumerate(before)]
    every = await labs(client, namespace, max(len(before), len(after)))
    down = asyncio.Event()
    receiver.answer = lambda one: 500 if one.path == "/down" and not down.is_set() else 204
    base = receiver.url.removesuffix("/hook")

    async def begin(lab: Lab, path: str) -> tuple[Lab, str]:
        run = await lab.dispatch(f"{base}/{path}", events=["run.cancelled"])
        await lab.cancel(run)
        return lab, run

    delivered = [await begin(lab, "hook") for lab in every]
    for lab, run in delivered:
        await lab.until_settled(run)
    later = [await as_shard(start_operator, shard, f"later-{number}", "standby") for number, shard in enumerate(after)]
    retrying = [await begin(lab, "down") for lab in every]
    await eventually(lambda: all(receiver.events(run) for _, run in retrying))
    await asyncio.sleep(1)  # what a lease of their own would have been enough for
    assert [await operator.metric("checklists_leader") for operator in later] == [0] * len(later)

    await former[0].kill()
    for operator in former[1:]:
        await operator.stop()
    stranded = [await begin(lab, "hook") for lab in every]
    down.set()
    for operator in later:
        await operator.until_ready("leading", within_s=90)
    for lab, run in [*retrying, *stranded]:
        await lab.until_settled(run, within_s=90)
    for lab, run in [*delivered, *retrying, *stranded]:
        numbers = Counter(receiver.attempts(run))
        phases = [one.phase for one in (await lab.run(run)).status.deliveries]
        assert numbers.total() - len(numbers) <= 1, f"{run}: {numbers}"  # what was under way at the kill
        assert phases == [DeliveryPhase.DELIVERED]
    assert {len(receiver.events(run)) for _, run in [*delivered, *stranded]} == {1}
    returned = await as_shard(start_operator, before[0], "returned", "standby")
    await asyncio.sleep(1)
    assert await returned.metric("checklists_leader") == 0, "the former number finds the new one at work"
