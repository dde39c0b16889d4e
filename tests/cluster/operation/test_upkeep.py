"""What the operator keeps tidy: retention, unused revisions, unconfirmed counts; and that Kopf writes nothing."""

import asyncio
import json
import uuid
from datetime import timedelta
from pathlib import Path

from tests.cluster.archive_lab import keep, settled_run
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, StartOperator
from tests.waiting import eventually

from checklist_api.dashboard.sessions.store import object_name
from checklist_crds.kube.client import JsonObject
from checklist_crds.limits.quota import Quota
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import (
    ALL_KINDS,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    IDEMPOTENCY_RECORD,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    TEMPLATE_REVISION,
)
from checklist_crds.secrets.digest import digest
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.local.people import sign_in

OPERATOR_SETTINGS = {"CHECKLISTS_SWEEP_SECONDS": "0.5", "CHECKLISTS_REVISION_GRACE_SECONDS": "1"}


async def all_objects(lab: Lab) -> dict[tuple[str, str], JsonObject]:
    found = {}
    for kind in ALL_KINDS:
        if kind.namespaced:
            items, _ = await lab.client.list_all(kind, lab.namespace)
        else:
            items = [await lab.client.get(kind, lab.organization)]
        found |= {(kind.kind, body["metadata"]["name"]): body for body in items}
    return found


async def test_a_start_writes_nothing(lab: Lab, receiver: Receiver, start_operator: StartOperator) -> None:
    operator = await start_operator()
    receiver.answer = lambda _: 500
    runs = [await lab.dispatch(receiver.url, expires_in_s=3600) for _ in range(30)]
    await lab.apply_run()
    await lab.cancel(runs[0])
    await eventually(lambda: len(receiver.received) == 5)
    await lab.until_settled(runs[0])
    await lab.until_condition(TEMPLATE, lab.template["metadata"]["name"], "Valid")
    await operator.stop()
    before = await all_objects(lab)
    await operator.start()

    async def all_are_seen() -> bool:
        return await operator.metric("checklists_watch_events_total") >= len(before) - 4

    await eventually(all_are_seen)
    await asyncio.sleep(1)  # in which it would write
    after = await all_objects(lab)
    assert {key: body["metadata"]["resourceVersion"] for key, body in after.items()} == {
        key: body["metadata"]["resourceVersion"] for key, body in before.items()
    }
    for body in after.values():
        assert "finalizers" not in body["metadata"]
        assert "kopf" not in str([body["metadata"], body.get("status")]).lower()  # a sealed secret may say anything


async def audit_entry(lab: Lab, number: int, *, days_ago: float, organization: str = "") -> str:
    entry = lab.owned(
        "AuditEntry",
        f"aud-{number:08}",
        organizationRef={"name": organization or lab.organization},
        at=format_timestamp(utc_now() - timedelta(days=days_ago)),
        actor={"kind": "system", "name": "test"},
        action="run.cancelled",
        target={"kind": "run"},
    )
    entry["metadata"]["labels"] = {ORGANIZATION_LABEL: organization or lab.organization}
    await lab.client.create(AUDIT_ENTRY, entry, lab.namespace)
    return str(entry["metadata"]["name"])


async def test_the_oldest_audit_entries_beyond_the_cap_are_removed(lab: Lab, operator: OperatorProcess) -> None:
    others = [await audit_entry(lab, number, days_ago=9, organization="other") for number in range(3)]
    own = [await audit_entry(lab, 10 + number, days_ago=9 - number) for number in range(6)]
    await lab.configure(limits={"auditEntries": 4})
    for name in own[:2]:
        await eventually(lambda name=name: lab.is_gone(AUDIT_ENTRY, name))
    for name in (*others, *own[2:]):
        assert not await lab.is_gone(AUDIT_ENTRY, name)


async def session(lab: Lab, *, ago: timedelta) -> str:
    person = await sign_in(
        lab.client, organization=lab.organization, namespace=lab.namespace, now=utc_now() - ago, role="viewer"
    )
    return object_name(digest(person.secret))


async def record_of_a_key(lab: Lab, name: str, *, expires_in: timedelta) -> str:
    record = lab.owned("IdempotencyRecord", name, expiresAt=format_timestamp(utc_now() + expires_in))
    await lab.client.create(IDEMPOTENCY_RECORD, record, lab.namespace)
    return name


async def test_expired_objects_are_removed(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    receiver.answer = lambda one: 500 if one.attempt == 1 else 200
    still_open = await lab.dispatch(receiver.url)
    used = (await lab.run(still_open)).resolved.revision_ref.name
    finished = await lab.cancelled(receiver.url)
    assert len(await lab.deliveries(finished)) == 1
    old = await audit_entry(lab, 1, days_ago=40)
    others = await audit_entry(lab, 2, days_ago=40, organization="other")
    fresh = await audit_entry(lab, 3, days_ago=20)
    over, live = await session(lab, ago=timedelta(hours=12, seconds=1)), await session(lab, ago=timedelta(hours=1))
    used_up = await record_of_a_key(lab, "used-up", expires_in=-timedelta(seconds=1))
    used_today = await record_of_a_key(lab, "used-today", expires_in=timedelta(hours=1))
    name = lab.template["metadata"]["name"]
    lab.template = await lab.client.patch(TEMPLATE, name, {"spec": {"name": "Second"}}, lab.namespace)
    deleted, never_made = await lab.dispatch(), f"r-{uuid.uuid4()}"
    # Counts that were never confirmed are confirmed or taken back.
    since = format_timestamp(utc_now() - timedelta(seconds=60))
    pending = [{"runId": run, "since": since} for run in (still_open, never_made)]
    quota = {"period": utc_now().strftime("%Y-%m"), "used": 2, "pending": pending}
    await lab.client.patch_status(ORGANIZATION, lab.organization, {"quota": quota})
    unused = (await lab.run(deleted)).resolved.revision_ref.name
    await lab.client.delete(RUN, deleted, lab.namespace)
    await asyncio.sleep(2.5)

    async def is_right() -> bool:
        counted = Quota.parse((await lab.get(ORGANIZATION, lab.organization))["status"]["quota"])
        return (counted.used, counted.pending) == (1, {})

    await eventually(is_right)
    assert not await lab.is_gone(TEMPLATE_REVISION, unused)  # its template is still of that version
    assert not await lab.is_gone(RUN, finished)  # without a retention everything stays
    assert not await lab.is_gone(AUDIT_ENTRY, old)

    await lab.client.delete(TEMPLATE, name, lab.namespace)
    await keep(lab, finishedRunsDays=1.0 / 86_400, auditDays=30)
    expired = ((DASHBOARD_SESSION, over), (IDEMPOTENCY_RECORD, used_up))
    for kind, gone in ((TEMPLATE_REVISION, unused), (RUN, finished), (AUDIT_ENTRY, old), *expired):
        await eventually(lambda kind=kind, gone=gone: lab.is_gone(kind, gone))
    assert await lab.deliveries(finished) == []
    in_use = ((DASHBOARD_SESSION, live), (IDEMPOTENCY_RECORD, used_today))
    for kind, stays in ((TEMPLATE_REVISION, used), (RUN, still_open), *in_use):
        assert not await lab.is_gone(kind, stays)
    for entry in (others, fresh):
        assert not await lab.is_gone(AUDIT_ENTRY, entry)
    await lab.answer(still_open)


async def test_an_operator_without_archive_keeps_runs(lab: Lab, start_operator: StartOperator, tmp_path: Path) -> None:
    run = await settled_run(lab, days_ago=2)
    await keep(lab, finishedRunsDays=1)
    operator = await start_operator(CHECKLISTS_ARCHIVE="0", CHECKLISTS_SWEEP_SECONDS="0.2")
    (note,) = json.loads((await operator.get("/readyz"))[1])["notes"]
    assert note.startswith("nothing is archived")
    assert note in operator.output
    assert "checklists_archive_enabled 0.0" in (await operator.get("/metrics"))[1]
    await eventually(lambda: operator.metric("checklists_archive_backlog_runs"))
    assert not await lab.is_gone(RUN, run)
    assert not (tmp_path / "photos" / "archive").exists()
