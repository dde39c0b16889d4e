"""Runs under the operator: expiry, admission of what kubectl made, conditions of what people apply."""

import asyncio
import json
import re
import uuid
from datetime import timedelta
from typing import Any

from tests.cluster.operator_lab import OTHER_SECRET, Lab, OperatorProcess, Receiver, StartOperator, condition, resource
from tests.waiting import eventually

from checklist_crds.ids import derived_id, object_id
from checklist_crds.limits.quota import Quota
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import API_KEY, MEMBER, ORGANIZATION, RUN, TEMPLATE
from checklist_crds.resources.run import RunPhase
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_crds.times import format_optional, format_timestamp, utc_now
from checklist_dev.local.kubectl import Kubectl


async def used(lab: Lab) -> int:
    return Quota.parse((await lab.get(ORGANIZATION, lab.organization))["status"]["quota"]).used


async def test_runs_expire_with_one_event(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    run, completed = [await lab.dispatch(receiver.url, expires_in_s=1.5) for _ in range(2)]
    never = await lab.apply_run(
        templateRef={"name": "missing"},
        expiresAt=format_timestamp(utc_now() + timedelta(seconds=1)),
        webhook={"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
    )
    await lab.submit(completed)
    assert (await lab.until_settled(never)).status.phase is RunPhase.EXPIRED
    settled = await lab.until_settled(run)
    assert settled.status.phase is RunPhase.EXPIRED
    assert settled.expires_at is not None
    (event,) = receiver.events(run)
    assert (event["event"], event["ts"]) == ("run.expired", format_timestamp(settled.expires_at))
    assert event["data"] == {
        "expires_at": format_timestamp(settled.expires_at),
        "progress": {"total": 3, "answered": 0, "skipped": 0},
    }
    (arrived,) = [one.at for one in receiver.received if one.envelope["event"] == "run.expired"]
    assert 0 <= arrived - settled.expires_at.timestamp() < 10
    assert (await lab.run(completed)).status.phase is RunPhase.COMPLETED
    assert [event["event"] for event in receiver.events(completed)] == ["run.completed"]
    assert receiver.events(never) == []


async def test_a_run_of_kubectl_is_admitted_and_works_like_one_of_the_api(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    name = f"r-{uuid.uuid4()}"
    await lab.secret("hook", OTHER_SECRET)
    spec = {
        "templateRef": {"name": lab.template["metadata"]["name"]},
        "executorRef": "room 12",
        "expiresInHours": 1.5,
        "webhook": {"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
    }
    manifest = json.dumps(resource("Run", name, spec, namespace=lab.namespace))
    await asyncio.to_thread(kubectl, "apply", "-f", "-", stdin=manifest)
    run = await lab.until_admitted(name)
    assert (await lab.get(RUN, name))["metadata"]["labels"][ORGANIZATION_LABEL] == lab.organization
    assert run.resolved is not None and run.resolved.template_version == 1
    assert run.id == name and "runId" not in (await lab.get(RUN, name))["status"]["resolved"]
    assert run.expires_at == run.created_at + timedelta(hours=1.5)
    by_api = await lab.dispatch(expires_in_s=60)
    head, *rows = (await asyncio.to_thread(kubectl, "get", "clrun", "-n", lab.namespace, "-o", "wide")).splitlines()
    starts = [(found.group(), found.start()) for found in re.finditer(r"\S+(?: \S+)*", head)]
    for each in (name, by_api):
        line = next(row for row in rows if row.startswith(each))
        row = {title: line[start:].split("  ")[0] for title, start in starts}
        expires_at = format_optional((await lab.run(each)).expires_at)
        assert (row["TEMPLATE"], row["ORGANIZATION"], row["EXPIRES"]) == ("Opening", lab.organization, expires_at)
        if each == name:
            assert (row["ANSWERED"], row["TOTAL"]) == ("0", "3")
            assert (await lab.get(RUN, each))["status"]["expiresAt"] == expires_at
    await lab.answer(name)
    await lab.submit(name)
    await lab.until_settled(name)
    assert [event["event"] for event in receiver.events(name)] == ["step.completed", "run.completed"]
    assert receiver.events(name)[0]["executor_ref"] == "room 12"
    assert await used(lab) == 1

    # A template is found by its public id even if a person named it.
    await lab.client.create(TEMPLATE, lab.template_body("kitchen-opening"), lab.namespace)
    public_id = object_id("t", "kitchen-opening", lab.organization)
    await lab.until_condition(TEMPLATE, "kitchen-opening", "Valid", status="True")
    for template_id in (public_id, "kitchen-opening"):
        run = await lab.until_admitted(await lab.apply_run(templateId=template_id))
        assert run.resolved.template_id == public_id


async def test_refused_runs_state_the_reason(lab: Lab, operator: OperatorProcess) -> None:
    def webhook(secret: str, url: str = "https://example.com/") -> dict[str, Any]:
        return {"webhook": {"url": url, "events": ["*"], "secretRef": {"name": secret}}}

    await lab.client.create(TEMPLATE, lab.template_body("empty", sections=[]), lab.namespace)
    await lab.secret("hook", "too short")
    for spec, reason in (
        ({"organizationRef": {"name": "absent"}}, "OrganizationNotFound"),
        ({"templateRef": {"name": "empty"}}, "TemplateNotRunnable"),
        (webhook("hook", "ftp://example.com/"), "WebhookInvalid"),
        (webhook("no"), "SecretNotFound"),
        (webhook("hook"), "SecretNotFound"),
    ):
        refused = await lab.until_condition(RUN, await lab.apply_run(**spec), "Admitted", status="False")
        assert refused["reason"] == reason
        assert "too short" not in refused["message"]
    run = await lab.apply_run(templateRef={"name": "later"})
    await lab.until_condition(RUN, run, "Admitted", status="False", reason="TemplateNotFound")
    await lab.client.create(TEMPLATE, lab.template_body("later"), lab.namespace)
    await lab.until_admitted(run)


async def test_the_quota_admits_exactly_the_plan(lab: Lab, operator: OperatorProcess) -> None:
    await lab.configure(plan={"name": "small", "runsPerMonth": 3})
    runs = await asyncio.gather(*(lab.apply_run() for _ in range(6)))

    async def decided(admitted: int) -> bool:
        found = [condition(await lab.get(RUN, run), "Admitted") for run in runs]
        reasons = sorted(one["reason"] for one in found if one is not None)
        return reasons == ["Admitted"] * admitted + ["QuotaExceeded"] * (6 - admitted)

    await eventually(lambda: decided(3))
    await lab.configure(plan={"name": "small", "runsPerMonth": 5})
    await eventually(lambda: decided(5))
    assert await used(lab) == 5


async def test_runs_in_foreign_namespaces_are_refused(
    lab: Lab, kubectl: Kubectl, start_operator: StartOperator
) -> None:
    elsewhere = f"{lab.namespace}-elsewhere"
    await asyncio.to_thread(kubectl, "create", "namespace", elsewhere)
    await start_operator(CHECKLISTS_WATCH_NAMESPACES=f"{lab.namespace},{elsewhere}")
    thief = Lab(lab.client, elsewhere)
    thief.organization = lab.organization
    await lab.client.create(TEMPLATE, thief.template_body("stolen"), elsewhere)
    run = await thief.apply_run(templateRef={"name": "stolen"})
    refused = await thief.until_condition(RUN, run, "Admitted", status="False")
    assert refused["reason"] == "OrganizationNotFound"


async def test_templates_without_organization(lab: Lab, operator: OperatorProcess, kubectl: Kubectl) -> None:
    later, elsewhere = f"org-{uuid.uuid4()}", f"{lab.namespace}-elsewhere"
    body = lab.template_body("early", organizationRef={"name": later})
    await lab.client.create(TEMPLATE, body, lab.namespace)
    await lab.until_condition(TEMPLATE, "early", "Valid", status="False", reason="OrganizationNotFound")
    await asyncio.to_thread(kubectl, "create", "namespace", elsewhere)
    spec = {"displayName": "Later", "namespace": elsewhere}
    await lab.client.create(ORGANIZATION, resource("Organization", later, spec))
    for kind, name, condition_type in ((ORGANIZATION, later, "Ready"), (TEMPLATE, "early", "Valid")):
        refusal = await lab.until_condition(kind, name, condition_type, status="False", reason="NamespaceNotWatched")
        assert repr(elsewhere) in refusal["message"]
    await lab.client.patch(ORGANIZATION, later, {"spec": {"namespace": None}})
    for kind, name, condition_type in ((ORGANIZATION, later, "Ready"), (TEMPLATE, "early", "Valid")):
        await lab.until_condition(kind, name, condition_type, status="True")


async def test_what_people_apply_gets_ids_labels_and_conditions(lab: Lab, operator: OperatorProcess) -> None:
    step = {"id": "s-1", "type": "number", "label": "How many?"}
    twice = [{"id": "g-1", "title": "A", "steps": [step]}, {"id": "g-2", "title": "B", "steps": [step]}]
    await lab.client.create(TEMPLATE, lab.template_body("twice", sections=twice), lab.namespace)
    invalid = await lab.until_condition(TEMPLATE, "twice", "Valid", status="False")
    assert "sections[1].steps[0].id" in invalid["message"]
    await lab.client.patch(TEMPLATE, "twice", {"spec": {"sections": twice[:1]}}, lab.namespace)
    await lab.until_condition(TEMPLATE, "twice", "Valid", status="True")
    status = (await lab.get(TEMPLATE, "twice"))["status"]
    assert status["id"] == derived_id("t", lab.organization, "twice")
    assert (status["version"], status["stepCount"]) == (2, 1)

    keys = [api_keys.new_key() for _ in range(2)]
    good = api_keys.object_name(digest(keys[0]))
    for kind, body in (
        (MEMBER, lab.owned("Member", "ada", name="Ada", email="ada@example.com")),
        (API_KEY, lab.owned("ApiKey", good, name="ci", sha256=digest(keys[0]))),
        (API_KEY, lab.owned("ApiKey", "my-key", name="ci", sha256=digest(keys[1]))),
    ):
        await lab.client.create(kind, body, lab.namespace)
    for kind, name in ((MEMBER, "ada"), (API_KEY, good), (API_KEY, "my-key"), (ORGANIZATION, lab.organization)):
        await lab.until_condition(kind, name, "Ready", status="True")
    ada = await lab.get(MEMBER, "ada")
    assert ada["metadata"]["labels"] == {ORGANIZATION_LABEL: lab.organization}
    assert ada["status"]["id"] == object_id("u", "ada", lab.organization)
    assert (await lab.get(ORGANIZATION, lab.organization))["status"]["id"] == lab.organization
