"""The health checks of the examples, of Argo CD and of Flux, say the same of every kind in every state."""

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, condition
from tests.gitops.judges import cel_expressions, health, healths, lua_scripts
from tests.waiting import eventually

from checklist_crds.crd_kinds import RESOURCES
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import (
    API_KEY,
    DELIVERY_REPLAY,
    MEMBER,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.resource_types import API_VERSION


async def becomes(lab: Lab, kind: Kind, name: str, wanted: str) -> JsonObject:
    """The object as soon as both call it so."""

    async def is_so() -> JsonObject | None:
        body = await lab.client.get(kind, name, lab.namespace if kind.namespaced else None)
        return body if health(body) == wanted else None

    found: JsonObject = await eventually(is_so, every_s=0.3)
    return found


async def make(lab: Lab, kind: Kind, called: str, /, **spec: object) -> JsonObject:
    body = {"apiVersion": API_VERSION, "kind": kind.kind, "metadata": {"name": called}, "spec": spec}
    return await lab.client.create(kind, body, lab.namespace if kind.namespaced else None)


def test_each_kind_has_a_health_check_for_either() -> None:
    kinds = {resource.kind.kind for resource in RESOURCES}
    assert set(lua_scripts()) == set(cel_expressions()) == kinds


async def test_what_nobody_has_looked_at_is_progressing(lab: Lab) -> None:
    member = await make(
        lab, MEMBER, "ada", organizationRef={"name": lab.organization}, name="Ada", email="a@example.com"
    )
    run = await lab.apply_run(templateRef={"name": "opening"})
    objects = [member, lab.template, await lab.client.get(ORGANIZATION, lab.organization)]
    objects.append(await lab.client.get(RUN, run, lab.namespace))
    assert healths(objects) == [("Progressing", "InProgress")] * 4


async def test_organizations_members_and_keys(lab: Lab, operator: OperatorProcess) -> None:
    await becomes(lab, ORGANIZATION, lab.organization, "Healthy")
    await make(lab, ORGANIZATION, f"{lab.organization}-2", displayName="No home", namespace="there-is-none")
    await becomes(lab, ORGANIZATION, f"{lab.organization}-2", "Degraded")
    of = {"organizationRef": {"name": lab.organization}}
    await make(lab, MEMBER, "ada", **of, name="Ada", email="a@example.com")
    await becomes(lab, MEMBER, "ada", "Healthy")
    await make(lab, MEMBER, "eve", organizationRef={"name": "nobody"}, name="Eve", email="e@example.com")
    await becomes(lab, MEMBER, "eve", "Degraded")
    await make(lab, API_KEY, "key", **of, name="CI", sha256="0" * 64)
    await becomes(lab, API_KEY, "key", "Healthy")
    await lab.client.patch(API_KEY, "key", {"spec": {"revoked": True}}, lab.namespace)
    await becomes(lab, API_KEY, "key", "Suspended")


async def test_templates(lab: Lab, operator: OperatorProcess) -> None:
    judged = await becomes(lab, TEMPLATE, lab.template["metadata"]["name"], "Healthy")
    newer = {**judged, "metadata": {**judged["metadata"], "generation": 2}}
    assert health(newer) == "Progressing", "a verdict on an earlier version is none on this one"
    steps = [{"id": "s-1", "type": "boolean", "label": "Done?"}]
    sections = [{"id": f"g-{n}", "title": "Twice the same step", "steps": steps} for n in range(2)]
    await lab.client.create(TEMPLATE, lab.template_body("invalid", sections=sections), lab.namespace)
    told = condition(await becomes(lab, TEMPLATE, "invalid", "Degraded"), "Valid")
    assert told is not None
    assert told["status"] == "False"


async def test_runs_and_their_deliveries(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
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
    await make(lab, DELIVERY_REPLAY, "again", organizationRef={"name": lab.organization})
    await becomes(lab, DELIVERY_REPLAY, "again", "Healthy")
    await becomes(lab, WEBHOOK_DELIVERY, delivery["metadata"]["name"], "Healthy")


def test_a_mere_record_is_healthy_as_soon_as_it_exists() -> None:
    for kind in ("TemplateRevision", "LocalAccount", "DashboardSession", "AuditEntry", "IdempotencyRecord"):
        assert health({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "x"}, "spec": {}}) == "Healthy"
