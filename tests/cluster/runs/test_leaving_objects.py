"""What leaves the cluster once, and only once; and what was never a run and leaves as well."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.cluster.archive_lab import Archiving, in_archive, keep, manifests, removed_deliveries, settled_run
from tests.cluster.operator_lab import Lab

from checklist_crds.archive import ArchiveStore
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now


@pytest.fixture
def archive(tmp_path: Path) -> ArchiveStore:
    return ArchiveStore.open((tmp_path / "archive").as_uri())


HELD = {"metadata": {"finalizers": ["example.com/held"]}}
LET_GO = {"metadata": {"finalizers": None}}


async def test_what_a_finalizer_holds_goes_into_the_archive_once(lab: Lab, archive: ArchiveStore) -> None:
    in_four_days = utc_now() + timedelta(days=4)
    archiving = Archiving.over(lab.client, archive, lab.namespace, clock=lambda: in_four_days)
    await keep(lab, finishedRunsDays=30, deliveriesDays=3)
    run = await settled_run(lab, days_ago=31)
    with_delivery = await settled_run(lab, days_ago=10, deliveries=1)
    [delivery] = await lab.deliveries(with_delivery)
    names = ((RUN, run), (WEBHOOK_DELIVERY, str(delivery["metadata"]["name"])))
    for kind, name in names:
        await lab.client.patch(kind, name, HELD, lab.namespace)
    for _ in range(3):
        await archiving.retention.sweep()
    assert await in_archive(archive, run) is not None
    assert len(await removed_deliveries(archive)) == 1
    assert len(await manifests(archive)) == 2, "a part for the run, a part for the delivery"
    for kind, name in names:
        await lab.client.patch(kind, name, LET_GO, lab.namespace)
        assert await lab.is_gone(kind, name)


async def test_a_run_that_was_never_admitted_leaves_whichever_organization_it_names(
    lab: Lab, archive: ArchiveStore
) -> None:
    archiving = Archiving.over(lab.client, archive, lab.namespace)
    await keep(lab, finishedRunsDays=30)
    ended = format_timestamp(utc_now() - timedelta(days=31))
    expired = {"type": "Completed", "status": "False", "reason": "RunExpired", "lastTransitionTime": ended}
    run = await lab.apply_run(organizationRef={"name": lab.organization}, templateRef={"name": "none"})
    status = {"phase": "Expired", "settled": True, "conditions": [expired]}
    await lab.client.patch_status(RUN, run, status, lab.namespace)
    await archiving.retention.sweep()
    assert await lab.is_gone(RUN, run)
    assert (await manifests(archive), archiving.value("checklists_archive_failures_total", reason="unreadable")) == (
        [],
        0,
    )
