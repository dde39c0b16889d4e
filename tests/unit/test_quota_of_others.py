"""What one process counted is released by another one, whatever that one remembers of the count."""

import asyncio
import copy
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.quota import Quota

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class Cluster:
    """One organization, written conditionally."""

    def __init__(self) -> None:
        self.body: dict[str, Any] = {
            "metadata": {"resourceVersion": "1"},
            "spec": {"displayName": "Acme"},
            "status": {},
        }

    @property
    def quota(self) -> Quota:
        return Quota.parse(self.body["status"].get("quota"))

    async def get(self, *_: Any) -> dict[str, Any]:
        return copy.deepcopy(self.body)

    async def patch_status(self, *arguments: Any, resource_version: str) -> dict[str, Any]:
        metadata = self.body["metadata"]
        if resource_version != metadata["resourceVersion"]:
            raise KubeConflict("changed meanwhile")
        metadata["resourceVersion"] = str(int(resource_version) + 1)
        self.body["status"] |= arguments[-1]
        return copy.deepcopy(self.body)


async def pending(cluster: Cluster, *run_ids: str) -> None:
    """Until just these are pending."""
    async with asyncio.timeout(5):
        while cluster.quota.pending.keys() != set(run_ids):
            await asyncio.sleep(0.01)


@pytest.mark.looptime
@pytest.mark.parametrize(("action", "arguments", "used"), [("release", [NOW], 0), ("confirm", [], 2)])
async def test_the_end_of_what_another_process_has_counted_since_is_written(
    action: str, arguments: list[datetime], used: int
) -> None:
    cluster = Cluster()
    api, operator = (QuotaLedger(cast(KubeClient, cluster), lambda: NOW) for _ in range(2))
    await api.reserve("acme", "r-1")
    getattr(operator, action)("acme", "r-1", *arguments)
    await pending(cluster)
    # The operator remembers the count as it is now. Another run is counted, and its process dies.
    await api.reserve("acme", "r-2")
    await pending(cluster, "r-2")
    getattr(operator, action)("acme", "r-2", *arguments)
    await pending(cluster)
    assert cluster.quota.used == used
