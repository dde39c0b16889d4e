"""Runs under the operator: expiry, admission of what kubectl made, conditions of what people apply."""

import asyncio
import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, condition
from tests.waiting import eventually

from checklist_crds import api_keys
from checklist_crds.ids import derived_id, object_id
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import API_KEY, MEMBER, ORGANIZATION, RUN, TEMPLATE, Kind
from checklist_crds.quota import Quota
from checklist_crds.resource_types import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.run_types import Run, RunPhase
from checklist_crds.secret_digest import digest
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.controlplane import ControlPlane
from checklist_dev.kubectl import Kubectl


async def until_phase(lab: Lab, run: str, phase: RunPhase, *, within_s: float = 60.0) -> Run:
    async def reached() -> Run | None:
        now = await lab.run(run)
        return now if now.status.phase is phase else None

    found: Run = await eventually(reached, within_s=within_s)
    return found


async def until_condition(
    lab: Lab, kind: Kind, name: str, condition_type: str, *, status: str, within_s: float = 60.0
) -> dict[str, Any]:
    async def reached() -> dict[str, Any] | None:
        found = condition(await lab.client.get(kind, name, lab.namespace), condition_type)
        return found if found is not None and found["status"] == status else None

    result: dict[str, Any] = await eventually(reached, within_s=within_s)
    return result


# -- expiry -------------------------------------------------------------------------------------------------------


async def test_a_run_expires_at_its_time_with_one_event(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url, expires_in_s=1.5)
    settled = await lab.until_settled(run)
    assert settled.status.phase is RunPhase.EXPIRED
    assert settled.expires_at is not None
    (event,) = receiver.events(run)
    assert event["event"] == "run.expired"
    assert event["ts"] == format_timestamp(settled.expires_at)
    assert event["data"] == {
        "expires_at": format_timestamp(settled.expires_at),
        "progress": {"total": 3, "answered": 0, "skipped": 0},
    }
    assert 0 <= receiver.received[0].at - settled.expires_at.timestamp() < 1.0


async def test_what_came_due_while_no_operator_ran_is_made_up_for_once(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, tmp_path: Path
) -> None:
    runs = [await lab.dispatch(receiver.url, expires_in_s=0.1) for _ in range(20)]
    await asyncio.sleep(0.2)
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace)
    await operator.start()
    for run in runs:
        await lab.until_settled(run)
    await operator.kill()
    await operator.start()
    await asyncio.sleep(0.5)
    assert sorted(one.envelope["run_id"] for one in receiver.received) == sorted(runs)
    await operator.stop()


async def test_a_completed_run_does_not_expire(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    run = await lab.dispatch(receiver.url, expires_in_s=1.0)
    await lab.submit(run)
    await asyncio.sleep(1.5)
    assert (await lab.run(run)).status.phase is RunPhase.COMPLETED
    assert [event["event"] for event in receiver.events(run)] == ["run.completed"]


# -- admission ----------------------------------------------------------------------------------------------------


async def test_a_run_of_kubectl_is_admitted_and_works_like_one_of_the_api(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    name = f"r-{uuid.uuid4()}"
    await lab.secret("hook", "sixteen characters and more")
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "Run",
        "metadata": {"name": name, "namespace": lab.namespace},
        "spec": {
            "templateRef": {"name": lab.template["metadata"]["name"]},
            "executorRef": "room 12",
            "expiresInHours": 1.5,
            "webhook": {"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
        },
    }
    await asyncio.to_thread(kubectl, "apply", "-f", "-", stdin=json.dumps(manifest))
    await until_condition(lab, RUN, name, "Admitted", status="True")
    body = await lab.client.get(RUN, name, lab.namespace)
    run = Run.parse(body)
    assert body["metadata"]["labels"][ORGANIZATION_LABEL] == lab.organization
    assert run.resolved is not None and run.resolved.template_version == 1
    assert run.expires_at == run.created_at + timedelta(hours=1.5)
    await lab.answer(name)
    await lab.submit(name)
    await lab.until_settled(name)
    assert [event["event"] for event in receiver.events(name)] == ["step.completed", "run.completed"]
    assert receiver.events(name)[0]["executor_ref"] == "room 12"
    organization = await lab.client.get(ORGANIZATION, lab.organization)
    assert Quota.parse(organization["status"]["quota"]).used == 1


async def test_a_template_is_found_by_its_public_id_even_if_a_person_named_it(
    lab: Lab, operator: OperatorProcess
) -> None:
    await lab.client.create(TEMPLATE, lab.template_body("kitchen-opening"), lab.namespace)
    public_id = object_id("t", "kitchen-opening", lab.organization)
    await until_condition(lab, TEMPLATE, "kitchen-opening", "Valid", status="True")
    by_id = await lab.apply_run(templateId=public_id)
    by_name = await lab.apply_run(templateId="kitchen-opening")
    for run in (by_id, by_name):
        await until_condition(lab, RUN, run, "Admitted", status="True")
        assert (await lab.run(run)).resolved.template_id == public_id


async def test_a_refused_run_says_why_and_is_admitted_when_its_cause_is_gone(
    lab: Lab, operator: OperatorProcess
) -> None:
    run = await lab.apply_run(templateRef={"name": "later"})
    refused = await until_condition(lab, RUN, run, "Admitted", status="False")
    assert refused["reason"] == "TemplateNotFound"
    await lab.client.create(TEMPLATE, lab.template_body("later"), lab.namespace)
    await until_condition(lab, RUN, run, "Admitted", status="True")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"organizationRef": {"name": "nobody"}}, "OrganizationNotFound"),
        ({"templateRef": {"name": "empty"}}, "TemplateNotRunnable"),
        ({"webhook": {"url": "ftp://example.com/", "events": ["*"], "secretRef": {"name": "hook"}}}, "WebhookInvalid"),
        ({"webhook": {"url": "https://example.com/", "events": ["*"], "secretRef": {"name": "no"}}}, "SecretNotFound"),
        (
            {"webhook": {"url": "https://example.com/", "events": ["*"], "secretRef": {"name": "hook"}}},
            "SecretNotFound",
        ),
    ],
)
async def test_each_cause_of_refusal_has_its_reason(
    lab: Lab, operator: OperatorProcess, change: dict[str, Any], reason: str
) -> None:
    await lab.client.create(TEMPLATE, lab.template_body("empty", sections=[]), lab.namespace)
    await lab.secret("hook", "too short")
    spec = {"templateRef": {"name": lab.template["metadata"]["name"]}} | change
    run = await lab.apply_run(**spec)
    refused = await until_condition(lab, RUN, run, "Admitted", status="False")
    assert refused["reason"] == reason
    assert "too short" not in refused["message"]


async def test_the_quota_admits_exactly_as_many_as_the_plan_allows_and_more_when_it_grows(
    lab: Lab, operator: OperatorProcess
) -> None:
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"plan": {"name": "small", "runsPerMonth": 3}}})
    reference = {"name": lab.template["metadata"]["name"]}
    runs = await asyncio.gather(*(lab.apply_run(templateRef=reference) for _ in range(6)))

    async def reasons() -> list[str]:
        found = [condition(await lab.client.get(RUN, run, lab.namespace), "Admitted") for run in runs]
        return sorted(one["reason"] for one in found if one is not None)

    async def decided() -> bool:
        return len(await reasons()) == 6

    await eventually(decided)
    assert await reasons() == ["Admitted"] * 3 + ["QuotaExceeded"] * 3
    await lab.client.patch(ORGANIZATION, lab.organization, {"spec": {"plan": {"name": "small", "runsPerMonth": 5}}})

    async def more() -> bool:
        return await reasons() == ["Admitted"] * 5 + ["QuotaExceeded"]

    await eventually(more)
    organization = await lab.client.get(ORGANIZATION, lab.organization)
    assert Quota.parse(organization["status"]["quota"]).used == 5


async def test_nobody_acts_for_an_organization_from_a_namespace_that_is_not_its_own(
    lab: Lab, control_plane: ControlPlane, kubectl: Kubectl, tmp_path: Path
) -> None:
    elsewhere = f"{lab.namespace}-elsewhere"
    await asyncio.to_thread(kubectl, "create", "namespace", elsewhere)
    operator = OperatorProcess(
        tmp_path, control_plane.kubeconfig, lab.namespace, CHECKLISTS_WATCH_NAMESPACES=f"{lab.namespace},{elsewhere}"
    )
    await operator.start()
    thief = Lab(lab.client, elsewhere)
    thief.organization = lab.organization
    await lab.client.create(TEMPLATE, thief.template_body("stolen"), elsewhere)
    run = await thief.apply_run(templateRef={"name": "stolen"})
    refused = await until_condition(thief, RUN, run, "Admitted", status="False")
    assert refused["reason"] == "OrganizationNotFound"
    await operator.stop()


async def test_a_run_that_could_never_be_admitted_expires_without_an_event(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.apply_run(
        templateRef={"name": "missing"},
        expiresAt=format_timestamp(utc_now() + timedelta(seconds=1)),
        webhook={"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
    )
    settled = await lab.until_settled(run)
    assert settled.status.phase is RunPhase.EXPIRED
    assert receiver.received == []


# -- what people apply --------------------------------------------------------------------------------------------


async def test_a_bad_template_is_told_within_a_second_and_good_again_when_mended(
    lab: Lab, operator: OperatorProcess
) -> None:
    step = {"id": "s-1", "type": "number", "label": "How many?"}
    twice = [{"id": "g-1", "title": "A", "steps": [step]}, {"id": "g-2", "title": "B", "steps": [step]}]
    await lab.client.create(TEMPLATE, lab.template_body("twice", sections=twice), lab.namespace)
    told = await until_condition(lab, TEMPLATE, "twice", "Valid", status="False")
    assert "sections[1].steps[0].id" in told["message"]
    await lab.client.patch(TEMPLATE, "twice", {"spec": {"sections": twice[:1]}}, lab.namespace)
    await until_condition(lab, TEMPLATE, "twice", "Valid", status="True")
    status = (await lab.client.get(TEMPLATE, "twice", lab.namespace))["status"]
    assert status["id"] == derived_id("t", lab.organization, "twice")
    assert (status["version"], status["stepCount"]) == (2, 1)


async def test_members_keys_and_organizations_get_ids_labels_and_conditions(
    lab: Lab, operator: OperatorProcess
) -> None:
    sha256 = digest(api_keys.new_key())
    member = _object("Member", "ada", lab, name="Ada", email="ada@example.com")
    good = _object("ApiKey", api_keys.object_name(sha256), lab, name="ci", sha256=sha256)
    named = _object("ApiKey", "my-key", lab, name="ci", sha256=digest(api_keys.new_key()))
    revoked = _object("ApiKey", "old-key", lab, name="ci", sha256="0" * 64, revoked=True)
    for kind, body in ((MEMBER, member), (API_KEY, good), (API_KEY, named), (API_KEY, revoked)):
        await lab.client.create(kind, body, lab.namespace)
    await until_condition(lab, MEMBER, "ada", "Ready", status="True")
    await until_condition(lab, API_KEY, good["metadata"]["name"], "Ready", status="True")
    await until_condition(lab, API_KEY, "my-key", "Ready", status="True")
    assert (await until_condition(lab, API_KEY, "old-key", "Ready", status="False"))["reason"] == "Revoked"
    body = await lab.client.get(MEMBER, "ada", lab.namespace)
    assert body["metadata"]["labels"] == {ORGANIZATION_LABEL: lab.organization}
    assert body["status"]["id"] == object_id("u", "ada", lab.organization)

    async def has_id() -> bool:
        organization = await lab.client.get(ORGANIZATION, lab.organization)
        ready = condition(organization, "Ready")
        return ready is not None and ready["status"] == "True" and organization["status"]["id"] == lab.organization

    await eventually(has_id)


async def test_a_member_without_an_organization_becomes_ready_when_it_comes(
    lab: Lab, operator: OperatorProcess
) -> None:
    later = f"org-{uuid.uuid4()}"
    body = _object("Member", "bob", lab, name="Bob", email="bob@example.com")
    body["spec"]["organizationRef"]["name"] = later
    await lab.client.create(MEMBER, body, lab.namespace)
    assert (await until_condition(lab, MEMBER, "bob", "Ready", status="False"))["reason"] == "OrganizationNotFound"
    organization = {
        "apiVersion": API_VERSION,
        "kind": "Organization",
        "metadata": {"name": later},
        "spec": {"displayName": "Later"},
    }
    await lab.client.create(ORGANIZATION, organization)
    await until_condition(lab, MEMBER, "bob", "Ready", status="True")


def _object(kind: str, object_name: str, lab: Lab, **spec: Any) -> JsonObject:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": object_name, "namespace": lab.namespace},
        "spec": {"organizationRef": {"name": lab.organization}, **spec},
    }
