"""The health checks of the examples, of Argo CD and of Flux, say the same of every kind in every state; what is paused
waits, and is healthy enough for a sync."""

import asyncio
import time

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, condition, resource
from tests.gitops.judges import cel_expressions, health, healths, lua_scripts
from tests.waiting import eventually

from checklist_crds.crd.resource_descriptions import RESOURCES
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import (
    API_KEY,
    DELIVERY_REPLAY,
    EVENT,
    MEMBER,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.resources.pause import PAUSED_ANNOTATION
from checklist_crds.resources.run import RunPhase
from checklist_crds.values.json_text import JsonObject


async def becomes(lab: Lab, kind: Kind, name: str, wanted: str) -> JsonObject:
    """The object as soon as both call it so."""

    async def is_so() -> JsonObject | None:
        body = await lab.get(kind, name)
        return body if health(body) == wanted else None

    found: JsonObject = await eventually(is_so, every_s=0.3)
    return found


async def make(lab: Lab, kind: Kind, called: str, /, **spec: object) -> JsonObject:
    """An object of the lab's organization, unless the spec says otherwise."""
    body = lab.owned(kind.kind, called, **spec)
    return await lab.client.create(kind, body, lab.namespace)


def test_each_kind_has_a_health_check_for_either_and_a_mere_record_is_healthy_as_soon_as_it_exists() -> None:
    kinds = {resource.kind.kind for resource in RESOURCES}
    assert set(lua_scripts()) == set(cel_expressions()) == kinds
    for kind in ("TemplateRevision", "LocalAccount", "DashboardSession", "AuditEntry", "IdempotencyRecord"):
        assert health(resource(kind, "x", {})) == "Healthy"


async def test_an_object_without_a_status_is_progressing(lab: Lab) -> None:
    member = await make(lab, MEMBER, "ada", name="Ada", email="a@example.com")
    run = await lab.apply_run(templateRef={"name": "opening"})
    objects = [member, lab.template, await lab.get(ORGANIZATION, lab.organization), await lab.get(RUN, run)]
    assert healths(objects) == [("Progressing", "InProgress")] * 4


async def test_every_kind_in_every_state(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    await becomes(lab, ORGANIZATION, lab.organization, "Healthy")
    homeless = f"{lab.organization}-2"
    spec = {"displayName": "No home", "namespace": "there-is-none"}
    await lab.client.create(ORGANIZATION, resource("Organization", homeless, spec))
    await becomes(lab, ORGANIZATION, homeless, "Degraded")
    await make(lab, MEMBER, "ada", name="Ada", email="a@example.com")
    await becomes(lab, MEMBER, "ada", "Healthy")
    later = f"{lab.organization}-3"
    await make(lab, MEMBER, "eve", organizationRef={"name": later}, name="Eve", email="e@example.com")
    await becomes(lab, MEMBER, "eve", "Degraded")
    await lab.client.create(ORGANIZATION, resource("Organization", later, {"displayName": "Later"}))
    await becomes(lab, MEMBER, "eve", "Healthy")
    await make(lab, API_KEY, "key", name="CI", sha256="0" * 64)
    await becomes(lab, API_KEY, "key", "Healthy")
    await lab.client.patch(API_KEY, "key", {"spec": {"revoked": True}}, lab.namespace)
    await becomes(lab, API_KEY, "key", "Suspended")

    judged = await becomes(lab, TEMPLATE, lab.template["metadata"]["name"], "Healthy")
    newer = {**judged, "metadata": {**judged["metadata"], "generation": 2}}
    assert health(newer) == "Progressing", "a verdict on an earlier version is none on this one"
    steps = [{"id": "s-1", "type": "boolean", "label": "Done?"}]
    sections = [{"id": f"g-{n}", "title": "Twice the same step", "steps": steps} for n in range(2)]
    await lab.client.create(TEMPLATE, lab.template_body("invalid", sections=sections), lab.namespace)
    verdict = condition(await becomes(lab, TEMPLATE, "invalid", "Degraded"), "Valid")
    assert verdict is not None and verdict["status"] == "False"

    unknown = await lab.apply_run(templateRef={"name": "there-is-none"})
    await becomes(lab, RUN, unknown, "Degraded")
    run = await lab.dispatch(receiver.url)
    await becomes(lab, RUN, run, "Healthy")
    receiver.answer = lambda _: 503
    await lab.cancel(run)
    await becomes(lab, RUN, run, "Healthy")
    await lab.until_settled(run)
    (delivery,) = await lab.deliveries(run)
    failed = await becomes(lab, WEBHOOK_DELIVERY, delivery["metadata"]["name"], "Degraded")
    retried = {**failed, "status": {**failed["status"], "phase": "Pending"}}
    assert health(retried) == "Progressing"
    receiver.answer = lambda _: 204
    await make(lab, DELIVERY_REPLAY, "again")
    await becomes(lab, DELIVERY_REPLAY, "again", "Healthy")
    await becomes(lab, WEBHOOK_DELIVERY, delivery["metadata"]["name"], "Healthy")


# -- the pause annotation --------------------------------------------------------------------------------------------


async def pause(lab: Lab, kind: Kind, name: str, value: str | None = "true") -> None:
    patch = {"metadata": {"annotations": {PAUSED_ANNOTATION: value}}}
    await lab.client.patch(kind, name, patch, lab.namespace if kind.namespaced else None)


async def until_paused(lab: Lab, kind: Kind, name: str) -> None:
    await lab.until_condition(kind, name, "Paused", status="True")
    assert health(await lab.get(kind, name)) == "Suspended"


async def until_events(lab: Lab, name: str, *reasons: str, namespace: str | None = None) -> None:
    """Kubernetes Events with these reasons about the object."""

    async def found() -> bool:
        items, _ = await lab.client.list_all(EVENT, namespace or lab.namespace)
        return set(reasons) <= {one["reason"] for one in items if one["involvedObject"]["name"] == name}

    await eventually(found)


async def test_paused_organizations_send_nothing(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    await pause(lab, ORGANIZATION, lab.organization)
    began = time.monotonic()
    await until_paused(lab, ORGANIZATION, lab.organization)
    run, applied = await lab.dispatch(receiver.url), await lab.apply_run()
    await lab.answer(run)  # a person who answers notices nothing
    await lab.submit(run)
    await lab.until_condition(RUN, run, "Delivering", status="False", reason="Paused")
    await lab.until_condition(RUN, applied, "Admitted", status="False", reason="Paused")
    assert health(await lab.get(RUN, applied)) == "Suspended"
    await asyncio.sleep(1)
    assert receiver.received == []
    paused_s = time.monotonic() - began
    assert await operator.metric("checklists_own_faults_total") == 0
    await pause(lab, ORGANIZATION, lab.organization, None)
    settled = await lab.until_settled(run)
    assert [event["event"] for event in receiver.events(run)] == ["step.completed", "run.completed"]
    assert {record.attempts for record in settled.status.delivery_records} == {1}
    lag_s = await operator.metric("checklists_outbox_lag_seconds_sum")
    assert lag_s < 1.5 * paused_s, "each of the two events is late from the end of the pause on"
    await lab.until_admitted(applied)
    await lab.until_condition(ORGANIZATION, lab.organization, "Paused", status="False")
    for kind, name in ((ORGANIZATION, lab.organization), (RUN, applied)):
        assert health(await lab.get(kind, name)) == "Healthy"
    await until_events(lab, lab.organization, "Paused", "Resumed", namespace="default")


async def test_paused_runs_wait_and_expire(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    receiver.answer = lambda _: 503
    run, expiring = await lab.dispatch(receiver.url), await lab.dispatch(expires_in_s=2)
    for name in (run, expiring):
        await pause(lab, RUN, name)
    await until_paused(lab, RUN, run)
    await lab.cancel(run)
    assert (await lab.until_settled(expiring)).status.phase is RunPhase.EXPIRED
    assert health(await lab.get(RUN, expiring)) == "Healthy"
    assert receiver.received == []
    await pause(lab, RUN, run, None)
    await eventually(lambda: len(receiver.received) >= 2)
    await pause(lab, RUN, run)
    await lab.until_condition(RUN, run, "Paused", status="True")
    before = len(receiver.received)
    await asyncio.sleep(1.5)
    assert len(receiver.received) <= before + 1  # what had begun
    receiver.answer = lambda _: 204
    await pause(lab, RUN, run, "false")
    (record,) = (await lab.until_settled(run)).status.delivery_records
    assert (record.phase, record.attempts) == (DeliveryPhase.DELIVERED, len(receiver.received))
    await until_events(lab, run, "Paused", "Resumed")
    await until_events(lab, expiring, "Expired")


async def test_no_run_is_made_of_a_paused_template_until_it_goes_on(lab: Lab, operator: OperatorProcess) -> None:
    name = lab.template["metadata"]["name"]
    await pause(lab, TEMPLATE, name)
    await until_paused(lab, TEMPLATE, name)
    run = await lab.apply_run()
    refused = await lab.until_condition(RUN, run, "Admitted", status="False", reason="TemplateNotRunnable")
    assert "paused" in refused["message"]
    await pause(lab, TEMPLATE, name, None)
    await lab.until_admitted(run)
    await until_events(lab, run, "TemplateNotRunnable", "Admitted")
