"""The pause annotation: what waits, what does not, and what people are told."""

import asyncio
from typing import Any

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, condition
from tests.gitops.judges import health
from tests.waiting import eventually

from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import EVENT, ORGANIZATION, RUN, TEMPLATE, Kind
from checklist_crds.pausing import PAUSED_ANNOTATION
from checklist_crds.run_types import DeliveryPhase, RunPhase


async def pause(lab: Lab, kind: Kind, name: str, value: str | None = "true") -> None:
    patch = {"metadata": {"annotations": {PAUSED_ANNOTATION: value}}}
    await lab.client.patch(kind, name, patch, lab.namespace if kind.namespaced else None)


async def until_paused(lab: Lab, kind: Kind, name: str, status: str = "True") -> JsonObject:
    async def told() -> JsonObject | None:
        body = await lab.client.get(kind, name, lab.namespace if kind.namespaced else None)
        return body if (condition(body, "Paused") or {}).get("status") == status else None

    body: JsonObject = await eventually(told)
    return body


async def until_admitted(lab: Lab, run: str, status: str = "True") -> tuple[JsonObject, dict[str, Any]]:
    """The run, and the condition that says whether it is admitted, as soon as that has this status."""

    async def verdict() -> tuple[JsonObject, dict[str, Any]] | None:
        body = await lab.client.get(RUN, run, lab.namespace)
        told = condition(body, "Admitted")
        return (body, told) if told is not None and told["status"] == status else None

    found: tuple[JsonObject, dict[str, Any]] = await eventually(verdict)
    return found


async def until_told(lab: Lab, name: str, *reasons: str, namespace: str | None = None) -> None:
    """Kubernetes Events with these reasons about the object."""

    async def told() -> bool:
        items, _ = await lab.client.list_all(EVENT, namespace or lab.namespace)
        return set(reasons) <= {one["reason"] for one in items if one["involvedObject"]["name"] == name}

    await eventually(told)


async def test_a_paused_organization_sends_nothing_and_goes_on_later(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    await pause(lab, ORGANIZATION, lab.organization)
    body = await until_paused(lab, ORGANIZATION, lab.organization)
    assert health(body) == "Suspended"
    run = await lab.dispatch(receiver.url)
    await lab.answer(run)  # whoever answers notices nothing
    await lab.submit(run)

    async def waits() -> dict[str, Any] | None:
        return condition(await lab.client.get(RUN, run, lab.namespace), "Delivering")

    told = await eventually(waits)
    assert (told["status"], told["reason"]) == ("False", "Paused")
    await asyncio.sleep(1)
    assert receiver.received == []
    assert await operator.metric("checklists_own_faults_total") == 0
    await pause(lab, ORGANIZATION, lab.organization, None)
    settled = await lab.until_settled(run)
    assert [event["event"] for event in receiver.events(run)] == ["step.completed", "run.completed"]
    assert {record.attempts for record in settled.status.deliveries} == {1}
    body = await until_paused(lab, ORGANIZATION, lab.organization, "False")
    assert health(body) == "Healthy"
    await until_told(lab, lab.organization, "Paused", "Resumed", namespace="default")


async def test_the_retries_of_a_paused_run_wait_and_use_up_no_attempt(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    receiver.answer = lambda _: 503
    run = await lab.dispatch(receiver.url)
    await pause(lab, RUN, run)
    paused = await until_paused(lab, RUN, run)
    assert health(paused) == "Suspended"
    await lab.cancel(run)
    await asyncio.sleep(1.5)
    assert receiver.received == []
    await pause(lab, RUN, run, None)
    await eventually(lambda: len(receiver.received) >= 2)
    await pause(lab, RUN, run)
    await until_paused(lab, RUN, run)
    before = len(receiver.received)
    await asyncio.sleep(1.5)
    assert len(receiver.received) <= before + 1  # what had begun
    receiver.answer = lambda _: 204
    await pause(lab, RUN, run, "false")
    settled = await lab.until_settled(run)
    (record,) = settled.status.deliveries
    assert record.phase is DeliveryPhase.DELIVERED
    assert record.attempts == len(receiver.received)
    await until_told(lab, run, "Paused", "Resumed")


async def test_no_run_is_made_of_a_paused_template_until_it_goes_on(lab: Lab, operator: OperatorProcess) -> None:
    name = lab.template["metadata"]["name"]
    await pause(lab, TEMPLATE, name)
    assert health(await until_paused(lab, TEMPLATE, name)) == "Suspended"
    run = await lab.apply_run(templateRef={"name": name})

    _, refused = await until_admitted(lab, run, "False")
    assert refused["reason"] == "TemplateNotRunnable"
    assert "paused" in refused["message"]
    await pause(lab, TEMPLATE, name, None)
    await until_admitted(lab, run)
    await until_told(lab, run, "TemplateNotRunnable", "Admitted")


async def test_a_run_of_a_paused_organization_is_admitted_when_that_goes_on(
    lab: Lab, operator: OperatorProcess
) -> None:
    await pause(lab, ORGANIZATION, lab.organization)
    run = await lab.apply_run(templateRef={"name": lab.template["metadata"]["name"]})

    body, refused = await until_admitted(lab, run, "False")
    assert refused["reason"] == "Paused"
    assert health(body) == "Suspended"
    await pause(lab, ORGANIZATION, lab.organization, None)
    assert health((await until_admitted(lab, run))[0]) == "Healthy"


async def test_the_time_of_a_paused_run_runs_out(lab: Lab, operator: OperatorProcess) -> None:
    run = await lab.dispatch(expires_in_s=2)
    await pause(lab, RUN, run)
    settled = await lab.until_settled(run)
    assert settled.status.phase is RunPhase.EXPIRED
    assert health(await lab.client.get(RUN, run, lab.namespace)) == "Healthy"
    await until_told(lab, run, "Expired")
