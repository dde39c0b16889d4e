"""How operators divide the work: every organization has one shard, whatever their number and their clocks."""

import asyncio
import copy
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.slots import SLOT_LABEL, SLOTS, slot_of
from checklist_operator.runtime.division import OtherDivisions
from checklist_operator.runtime.sharding import Shard, has_slot

COUNTS = [1, 2, 3, 4, 5, 7, 60]


def selects(selector: str | None, slot: str | None) -> bool:
    """As the API server does it: `notin` also selects what has no such label."""
    if selector is None:
        return True
    match = re.fullmatch(rf"{SLOT_LABEL} (in|notin) \((.*)\)", selector)
    assert match is not None
    return (slot in match[2].split(",")) == (match[1] == "in")


def body(slot: str | None) -> Any:
    return {"metadata": {"labels": {SLOT_LABEL: slot}} if slot is not None else {}}


@pytest.mark.parametrize("count", COUNTS)
def test_each_organization_has_one_shard_and_its_objects_are_selected_by_that_one(count: int) -> None:
    shards = [Shard(index, count) for index in range(count)]
    for number in range(300):
        organization = f"org-{number}"
        [owner] = [shard for shard in shards if shard.owns(organization)]
        assert [shard for shard in shards if selects(shard.selector, slot_of(organization))] == [owner]


def test_what_has_no_slot_that_there_is_comes_to_the_first_shard() -> None:
    for slot in (None, "", "60", "07", "x", "-1", "1.5"):
        for count in COUNTS:
            assert [index for index in range(count) if selects(Shard(index, count).selector, slot)] == [0]
        assert not has_slot(body(slot))


def test_slots_never_change_and_are_spread() -> None:
    assert [slot_of("org-1"), slot_of("acme"), slot_of("org-a2f3")] == ["11", "25", "49"]
    assert {slot_of(f"org-{number}") for number in range(2000)} == {str(slot) for slot in range(SLOTS)}
    assert all(has_slot(body(str(slot))) for slot in range(SLOTS))


def test_pods_of_a_stateful_set_know_their_shard_and_further_ones_stand_by() -> None:
    pods = [Shard.parse("ordinal/3", host=f"operator-{number}") for number in range(6)]
    assert pods == [Shard(0, 3), Shard(1, 3), Shard(2, 3)] * 2
    assert [Shard.parse(text, host="x") for text in ("", "2/3")] == [Shard(), Shard(2, 3)]
    for text in ("3/3", "0/0", "0/61", "1", "a/3", "-1/3", "0/3 ", "ordinal/3"):
        with pytest.raises(ValueError, match=r"/3|number"):
            Shard.parse(text, host="laptop")


pytestmark = pytest.mark.looptime


class Leases:
    """The cluster, as far as leases go."""

    def __init__(self, **holders: str | None) -> None:
        self.answers = True
        self.bodies = {name.replace("_", "-"): self._body(name, holder) for name, holder in holders.items()}

    def _body(self, name: str, holder: str | None) -> dict[str, Any]:
        spec = {"holderIdentity": holder, "renewTime": "long ago", "leaseDurationSeconds": 15}
        return {"metadata": {"name": name.replace("_", "-"), "resourceVersion": "1"}, "spec": spec}

    async def list_all(self, *_: Any) -> tuple[list[dict[str, Any]], str]:
        if not self.answers:
            raise KubeUnavailable("down")
        return copy.deepcopy(list(self.bodies.values())), "1"

    async def patch(
        self, _: Any, name: str, patch: Mapping[str, Any], __: str, *, resource_version: str
    ) -> dict[str, Any]:
        assert resource_version == "1"
        self.bodies[name]["spec"] |= patch["spec"]
        return self.bodies[name]


def waits(leases: Leases, shard: Shard) -> "asyncio.Task[None]":
    client: Any = leases
    loop = asyncio.get_running_loop()
    now = datetime(2026, 11, 21, tzinfo=UTC)
    others = OtherDivisions(client, "checklists", "me", shard, clock=lambda: now, steady=loop.time)
    return asyncio.create_task(others.until_gone())


async def test_only_leases_of_another_number_that_are_held_are_waited_for_and_a_cluster_that_answers() -> None:
    free_or_foreign = {"checklist_dispatch_operator": None, "another_controller": "another"}
    leases = Leases(checklist_dispatch_operator_0_of_3="a", **free_or_foreign)
    await waits(leases, Shard(1, 3))
    assert asyncio.get_running_loop().time() == 0
    leases.answers = False
    waiting = waits(leases, Shard(1, 3))
    await asyncio.sleep(30)
    assert not waiting.done()
    leases.answers = True
    await asyncio.sleep(1)
    assert waiting.done()


async def test_a_lease_that_is_renewed_is_waited_for_until_it_is_given_back() -> None:
    leases = Leases(checklist_dispatch_operator="a")
    waiting = waits(leases, Shard(0, 2))
    spec = leases.bodies["checklist-dispatch-operator"]["spec"]
    for number in range(60):
        await asyncio.sleep(2)
        spec["renewTime"] = f"renewed {number}"
    assert not waiting.done()
    spec["holderIdentity"] = None
    await asyncio.sleep(1)
    assert waiting.done()


async def test_one_that_ran_out_is_closed_so_that_its_holder_ends_when_it_wakes_and_nobody_waits_again() -> None:
    leases = Leases(checklist_dispatch_operator_1_of_2="dead")
    await waits(leases, Shard())
    assert 15 <= asyncio.get_running_loop().time() <= 16
    spec = leases.bodies["checklist-dispatch-operator-1-of-2"]["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("me (checklist-dispatch-operator)", 1)
    began = asyncio.get_running_loop().time()
    await waits(leases, Shard())
    assert asyncio.get_running_loop().time() - began <= 1.5
