"""Who begins to work with another number of shards waits for those before it, whatever their clocks say."""

import asyncio
import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_crds.kube.errors import KubeUnavailable
from checklist_operator.division import OtherDivisions
from checklist_operator.sharding import Shard

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


async def test_leases_of_the_same_number_and_free_ones_and_foreign_ones_hinder_nobody() -> None:
    free_or_foreign = {"checklist_dispatch_operator": None, "another_controller": "another"}
    await waits(Leases(checklist_dispatch_operator_0_of_3="a", **free_or_foreign), Shard(1, 3))
    assert asyncio.get_running_loop().time() == 0


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


async def test_while_the_cluster_does_not_answer_nobody_begins() -> None:
    leases = Leases()
    leases.answers = False
    waiting = waits(leases, Shard())
    await asyncio.sleep(30)
    assert not waiting.done()
    leases.answers = True
    await asyncio.sleep(1)
    assert waiting.done()
