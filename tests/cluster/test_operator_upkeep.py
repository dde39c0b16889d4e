"""What the operator keeps tidy: retention, unused revisions, unconfirmed counts; and that Kopf writes nothing."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from tests.cluster.archive_lab import settled_run
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, condition
from tests.cluster.replay_lab import made_failed
from tests.waiting import eventually

from checklist_api.dashboard.sessions import object_name
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.errors import KubeError, KubeNotFound
from checklist_crds.kube.kinds import (
    ALL_KINDS,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    TEMPLATE_REVISION,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.quota import Quota
from checklist_crds.resource_types import API_VERSION
from checklist_crds.secret_digest import digest
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.controlplane import ControlPlane
from checklist_dev.people import sign_in
from checklist_operator.paging import pages


@pytest_asyncio.fixture
async def tidy_operator(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[OperatorProcess]:
    """One that sweeps twice a second and waits a second before it takes a revision for unused."""
    made = OperatorProcess(
        tmp_path,
        control_plane.kubeconfig,
        namespace,
        CHECKLISTS_SWEEP_SECONDS="0.5",
        CHECKLISTS_REVISION_GRACE_SECONDS="1",
    )
    await made.start()
    yield made
    await made.stop()
    assert '"level": "error"' not in made.output, made.output[-4000:]


async def is_gone(lab: Lab, kind: Kind, name: str) -> bool:
    try:
        await lab.client.get(kind, name, lab.namespace)
    except KubeNotFound:
        return True
    return False


async def all_objects(lab: Lab) -> dict[tuple[str, str], JsonObject]:
    found = {}
    for kind in ALL_KINDS:
        if kind.namespaced:
            items, _ = await lab.client.list_all(kind, lab.namespace)
        else:
            items = [await lab.client.get(kind, lab.organization)]
        found |= {(kind.kind, body["metadata"]["name"]): body for body in items}
    return found


async def test_neither_kopf_nor_we_write_anything_at_start(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace)
    await operator.start()
    receiver.answer = lambda _: 500
    runs = [await lab.dispatch(receiver.url, expires_in_s=3600) for _ in range(30)]
    await lab.apply_run(templateRef={"name": lab.template["metadata"]["name"]})
    await lab.cancel(runs[0])
    await eventually(lambda: len(receiver.received) == 5)
    await lab.until_settled(runs[0])
    await eventually(lambda: _is_judged(lab))
    await operator.stop()
    before = await all_objects(lab)
    await operator.start()
    await asyncio.sleep(1.5)
    assert await operator.metric("checklists_watch_events_total") >= len(before) - 4
    after = await all_objects(lab)
    assert {key: body["metadata"]["resourceVersion"] for key, body in after.items()} == {
        key: body["metadata"]["resourceVersion"] for key, body in before.items()
    }
    for body in after.values():
        assert "finalizers" not in body["metadata"]
        assert "kopf" not in str(body).lower()
    await operator.stop()
    assert '"level": "error"' not in operator.output


async def _is_judged(lab: Lab) -> bool:
    name = lab.template["metadata"]["name"]
    return condition(await lab.client.get(TEMPLATE, name, lab.namespace), "Valid") is not None


async def test_an_unused_revision_goes_and_a_used_one_stays(lab: Lab, tidy_operator: OperatorProcess) -> None:
    run = await lab.dispatch()
    used = (await lab.run(run)).resolved.revision_ref.name
    name = lab.template["metadata"]["name"]
    lab.template = await lab.client.patch(TEMPLATE, name, {"spec": {"name": "Second"}}, lab.namespace)
    unused_run = await lab.dispatch()
    unused = (await lab.run(unused_run)).resolved.revision_ref.name
    await lab.client.delete(RUN, unused_run, lab.namespace)
    await asyncio.sleep(2.5)
    assert not await is_gone(lab, TEMPLATE_REVISION, unused)  # its template is still of that version
    await lab.client.delete(TEMPLATE, name, lab.namespace)
    await eventually(lambda: is_gone(lab, TEMPLATE_REVISION, unused))
    assert not await is_gone(lab, TEMPLATE_REVISION, used)
    await lab.answer(run)


async def test_settled_runs_go_with_their_deliveries_when_their_time_is_up(
    lab: Lab, receiver: Receiver, tidy_operator: OperatorProcess
) -> None:
    receiver.answer = lambda one: 500 if one.envelope["delivery_attempt"] == 1 else 200
    finished, still_open = await lab.dispatch(receiver.url), await lab.dispatch(receiver.url)
    await lab.cancel(finished)
    await lab.until_settled(finished)
    assert len(await lab.deliveries(finished)) == 1
    await asyncio.sleep(1.2)
    assert not await is_gone(lab, RUN, finished)  # without a retention everything stays
    days = 1.0 / 86_400
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"retention": {"finishedRunsDays": days}}})
    await eventually(lambda: is_gone(lab, RUN, finished))
    assert await lab.deliveries(finished) == []
    assert not await is_gone(lab, RUN, still_open)


async def test_an_operator_that_archives_nothing_says_so_and_keeps_what_is_due(
    lab: Lab, control_plane: ControlPlane, tmp_path: Path
) -> None:
    run = await settled_run(lab, days_ago=2)
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"retention": {"finishedRunsDays": 1}}})
    settings = {"CHECKLISTS_ARCHIVE": "0", "CHECKLISTS_SWEEP_SECONDS": "0.2"}
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, **settings)
    await operator.start()
    try:
        (note,) = json.loads((await operator.get("/readyz"))[1])["notes"]
        assert note.startswith("nothing is archived")
        assert note in operator.output
        assert "checklists_archive_enabled 0.0" in (await operator.get("/metrics"))[1]
        await eventually(lambda: operator.metric("checklists_archive_backlog_runs"))
        assert not await is_gone(lab, RUN, run)
        assert not (tmp_path / "photos" / "archive").exists()
    finally:
        await operator.stop()


async def test_audit_entries_stay_for_ever_or_as_long_as_their_organization_wants(
    lab: Lab, tidy_operator: OperatorProcess
) -> None:
    async def entry(number: int, organization: str, *, days_ago: float) -> str:
        name = f"aud-{number:08}"
        spec = {
            "organizationRef": {"name": organization},
            "at": format_timestamp(utc_now() - timedelta(days=days_ago)),
            "actor": {"kind": "system", "name": "test"},
            "action": "run.cancelled",
            "target": {"kind": "run"},
        }
        body = {"apiVersion": API_VERSION, "kind": "AuditEntry", "metadata": {"name": name}, "spec": spec}
        await lab.client.create(AUDIT_ENTRY, body, lab.namespace)
        return name

    old, others, fresh = (
        await entry(1, lab.organization, days_ago=40),
        await entry(2, "somebody-else", days_ago=40),
        await entry(3, lab.organization, days_ago=20),
    )
    await asyncio.sleep(1.2)
    assert not await is_gone(lab, AUDIT_ENTRY, old)  # without a retention everything stays
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"retention": {"auditDays": 30}}})
    await eventually(lambda: is_gone(lab, AUDIT_ENTRY, old))
    assert not await is_gone(lab, AUDIT_ENTRY, others)
    assert not await is_gone(lab, AUDIT_ENTRY, fresh)


async def test_finished_deliveries_have_a_time_of_their_own(
    lab: Lab, receiver: Receiver, tidy_operator: OperatorProcess
) -> None:
    receiver.answer = lambda one: 500 if one.envelope["delivery_attempt"] == 1 else 200
    days = 1.0 / 86_400
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"retention": {"deliveriesDays": days}}})
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await lab.until_settled(run)
    (delivery,) = await lab.deliveries(run)
    await eventually(lambda: is_gone(lab, WEBHOOK_DELIVERY, delivery["metadata"]["name"]))
    assert not await is_gone(lab, RUN, run)


async def test_a_delivery_that_was_replayed_is_kept_from_then_on(
    lab: Lab, receiver: Receiver, tidy_operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url)
    replayed, other = await made_failed(lab, run, receiver.url, 2)  # an hour ago
    now = format_timestamp(utc_now())
    told = {"lastReplay": {"requestedAt": now, "attemptedAt": now, "outcome": "timeout"}}
    await lab.client.patch_status(WEBHOOK_DELIVERY, replayed, told, lab.namespace)
    half_an_hour = {"retention": {"deliveriesDays": 0.5 / 24}}
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": half_an_hour})
    await eventually(lambda: is_gone(lab, WEBHOOK_DELIVERY, other))
    await asyncio.sleep(1.2)
    assert not await is_gone(lab, WEBHOOK_DELIVERY, replayed)


async def test_a_count_that_nobody_confirmed_is_confirmed_or_taken_back(lab: Lab, operator: OperatorProcess) -> None:
    made, never_made = await lab.dispatch(), f"r-{uuid.uuid4()}"
    since = format_timestamp(utc_now() - timedelta(seconds=60))
    quota = {
        "period": utc_now().strftime("%Y-%m"),
        "used": 2,
        "pending": [{"runId": run, "since": since} for run in (made, never_made)],
    }
    await lab.client.patch_status(ORGANIZATION, lab.organization, {"quota": quota})

    async def cleared() -> bool:
        body = await lab.client.get(ORGANIZATION, lab.organization)
        found = Quota.parse(body["status"]["quota"])
        return (found.used, found.pending) == (1, {})

    await eventually(cleared)


async def test_a_list_comes_in_pages_and_tells_what_went_wrong(lab: Lab) -> None:
    for _ in range(3):
        await lab.dispatch()
    found = [body async for page in pages(lab.client, RUN, (lab.namespace,)) for body in page]
    assert len(found) == 3
    settled = [page async for page in pages(lab.client, RUN, (lab.namespace,), field_selector="status.settled=true")]
    assert settled == [[]]
    with pytest.raises(KubeError, match="field label not supported"):
        _ = [page async for page in pages(lab.client, RUN, (lab.namespace,), field_selector="spec.no=1")]


async def test_sessions_that_have_ended_by_themselves_are_removed(lab: Lab, tidy_operator: OperatorProcess) -> None:
    async def session_made(ago: timedelta) -> str:
        person = await sign_in(
            lab.client, organization=lab.organization, namespace=lab.namespace, now=utc_now() - ago, role="viewer"
        )
        return object_name(digest(person.secret))

    over, live = await session_made(timedelta(hours=12, seconds=1)), await session_made(timedelta(hours=1))
    await eventually(lambda: is_gone(lab, DASHBOARD_SESSION, over))
    assert not await is_gone(lab, DASHBOARD_SESSION, live)
