"""What the operator keeps tidy, and objects that it cannot read."""

import asyncio
import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.archive_lab import keep, settled_run
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, StartOperator, condition
from tests.nested_templates import NESTED, apply_nested
from tests.waiting import eventually

from checklist_api.dashboard.sessions.store import object_name
from checklist_crds.kube.client import KubeConnection
from checklist_crds.limits.quota import Quota
from checklist_crds.resources.base import (
    CREATED_AT_ANNOTATION,
    ORGANIZATION_LABEL,
    SIZE_ANNOTATION,
    VERSION_OFFSET_ANNOTATION,
)
from checklist_crds.resources.kinds import (
    ALL_KINDS,
    AUDIT_ENTRY,
    DASHBOARD_SESSION,
    DELIVERY_REPLAY,
    IDEMPOTENCY_RECORD,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    TEMPLATE_REVISION,
)
from checklist_crds.secrets.digest import digest
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.controlplane import ControlPlane
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


@pytest.mark.parametrize("nested", NESTED)
async def test_a_value_that_is_nested_deeper_than_a_parser_goes_stops_no_operator(
    lab: Lab, start_operator: StartOperator, control_plane: ControlPlane, nested: str
) -> None:
    operator = await start_operator()
    connection = await KubeConnection.load(str(control_plane.kubeconfig))
    name = await apply_nested(connection, lab.organization, lab.namespace, nested)
    await lab.until(TEMPLATE, name, lambda body: condition(body, "Valid"))
    await lab.until_admitted(await lab.apply_run())
    assert await operator.metric("checklists_kopf_restarts_total") == 0


@pytest.mark.parametrize(
    "times",
    [
        {"createdAt": "0001-01-01T00:00:00+14:00"},
        {"expiresAt": "9999-12-31T23:59:59-14:00"},
        {"createdAt": "0000-01-01T00:00:00Z", "expiresInHours": 1},
    ],
)
async def test_a_run_or_replay_with_a_time_that_is_none_is_refused(
    lab: Lab, start_operator: StartOperator, times: dict[str, Any]
) -> None:
    await start_operator(CHECKLISTS_SWEEP_SECONDS="0.2")
    run = await lab.apply_run(**times)
    name = next(name for name in times if name.endswith("At"))
    refusal = await lab.until_condition(RUN, run, "Admitted", status="False", reason="Invalid")
    assert refusal["message"].startswith(f"spec.{name}: ")
    filters = {"finishedAfter": times[name]}
    replay = lab.owned("DeliveryReplay", "odd", filter=filters, ttlSecondsAfterFinished=3600)
    await lab.client.create(DELIVERY_REPLAY, replay, lab.namespace)
    refusal = await lab.until_condition(DELIVERY_REPLAY, "odd", "Complete", status="False", reason="Invalid")
    assert refusal["message"].startswith("spec.filter.finishedAfter: ")
    short = lab.owned("DeliveryReplay", "short", filter=filters, ttlSecondsAfterFinished=0)
    await lab.client.create(DELIVERY_REPLAY, short, lab.namespace)
    await eventually(lambda: lab.is_gone(DELIVERY_REPLAY, "short"))
    assert not await lab.is_gone(DELIVERY_REPLAY, "odd")


async def test_the_last_run_of_the_calendar_expires_with_it(lab: Lab, start_operator: StartOperator) -> None:
    await start_operator()
    run = await lab.apply_run(createdAt="9999-12-31T23:59:59Z", expiresInHours=8760)
    admitted = await lab.until_admitted(run)
    assert format_timestamp(admitted.status.expires_at or admitted.created_at) == "9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize(
    "annotations",
    [
        {CREATED_AT_ANNOTATION: "0001-01-01T00:00:00+14:00"},
        {CREATED_AT_ANNOTATION: "yesterday"},
        {VERSION_OFFSET_ANNOTATION: "9" * 5000},
        {VERSION_OFFSET_ANNOTATION: "9" * 30},
        {SIZE_ANNOTATION: "9" * 5000},
    ],
)
async def test_an_annotation_that_is_none_of_the_service_s_is_passed_over(
    lab: Lab, start_operator: StartOperator, annotations: dict[str, str]
) -> None:
    await start_operator()
    body = lab.template_body("by-hand", revisedAt="2026-01-01T00:00:00+99:99")
    body["metadata"]["annotations"] = annotations
    await lab.client.create(TEMPLATE, body, lab.namespace)
    await lab.until_condition(TEMPLATE, "by-hand", "Valid", status="True")
    admitted = await lab.until_admitted(await lab.apply_run(templateRef={"name": "by-hand"}))
    assert admitted.admitted_as.template_version == 1
