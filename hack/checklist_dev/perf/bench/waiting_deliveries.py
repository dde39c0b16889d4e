"""Deliveries that wait for a retry, as stored by the operator after a failed first attempt."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import cycle
from typing import Any, Final

from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.times import utc_now
from checklist_dev.local.stored_deliveries import StoredDelivery
from checklist_dev.perf.load.pace import rate_of
from checklist_dev.perf.load.raw import RawCluster

FILLING: Final = 32


def waiting_deliveries(runs: Sequence[Mapping[str, Any]], count: int) -> Iterator[StoredDelivery]:
    """`count` deliveries for `runs` (as in the cluster) in turn, to their webhooks."""
    for number, run in zip(range(1, count + 1), cycle(runs), strict=False):
        metadata, url = run["metadata"], run["spec"]["webhook"]["url"]
        organization = metadata["labels"][ORGANIZATION_LABEL]
        yield StoredDelivery.of(organization, metadata["name"], url, seq=number, ts=utc_now())


async def create(cluster: RawCluster, deliveries: Sequence[StoredDelivery]) -> float:
    """Create the objects without status, while no operator runs; returns objects per second."""

    async def one(each: StoredDelivery) -> None:
        await cluster.create(WEBHOOK_DELIVERY, json.dumps(each.body, separators=(",", ":")).encode())

    return await rate_of((partial(one, each) for each in deliveries), concurrency=FILLING)


async def let_wait(cluster: RawCluster, deliveries: Sequence[StoredDelivery], due: Sequence[datetime]) -> None:
    """Set the times of the second attempts."""
    await rate_of(
        (
            partial(cluster.patch_status, WEBHOOK_DELIVERY, each.name, each.waiting(moment))
            for each, moment in zip(deliveries, due, strict=True)
        ),
        concurrency=FILLING,
    )
