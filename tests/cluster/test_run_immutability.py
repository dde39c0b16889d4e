"""What of a dispatched run may change: nothing, but the form in which its webhook secret is sealed."""

import uuid
from typing import Any

import pytest

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeInvalid
from checklist_crds.kube.kinds import RUN
from checklist_crds.resource_types import API_VERSION
from checklist_crds.run_types import RunSpec, Webhook

RESOLVED = {
    "organization": "acme",
    "templateId": "t-1",
    "templateVersion": 1,
    "templateName": "Opening",
    "revisionRef": {"name": "rev-1"},
    "identityMode": "anonymous",
    "stepCount": 3,
    "applicableSteps": 3,
}
SPEC: JsonObject = {
    "organizationRef": {"name": "acme"},
    "templateId": "t-1",
    "executorRef": "order 17",
    "createdAt": "2026-11-21T10:00:00.000Z",
    "expiresAt": "2026-12-21T10:00:00.000Z",
    "createdByName": "Ada",
    "webhook": {"url": "https://hooks.example.com/", "events": ["*"], "sealedSecret": "k1:c2VhbGVk"},
    "resolved": RESOLVED,
}
ABSENT = None
CHANGES: dict[str, JsonObject] = {
    "organizationRef": {"organizationRef": {"name": "evil"}},
    "organizationRef, gone": {"organizationRef": ABSENT},
    "templateId": {"templateId": "t-2"},
    "templateRef": {"templateId": ABSENT, "templateRef": {"name": "other"}},
    "executorRef": {"executorRef": "order 18"},
    "executorRef, gone": {"executorRef": ABSENT},
    "createdAt": {"createdAt": "2026-11-21T10:00:00.001Z"},
    "expiresAt": {"expiresAt": "2026-12-21T10:00:00.001Z"},
    "expiresInHours": {"expiresAt": ABSENT, "expiresInHours": 1},
    "createdByName": {"createdByName": "Bob"},
    "resolved": {"resolved": {"templateVersion": 2}},
    "resolved, gone": {"resolved": ABSENT},
    "webhook, gone": {"webhook": ABSENT},
    "webhook.url": {"webhook": {"url": "https://evil.example.com/"}},
    "webhook.events": {"webhook": {"events": ["run.completed"]}},
    "webhook.secretRef": {"webhook": {"sealedSecret": ABSENT, "secretRef": {"name": "mine"}}},
}


async def make_run(client: KubeClient, namespace: str, spec: JsonObject) -> str:
    name = f"r-{uuid.uuid4()}"
    body = {"apiVersion": API_VERSION, "kind": "Run", "metadata": {"name": name}, "spec": spec}
    await client.create(RUN, body, namespace)
    return name


def test_every_field_of_a_run_is_tried() -> None:
    fields = {info.alias or name for name, info in RunSpec.model_fields.items()} - {"webhook"}
    fields |= {f"webhook.{info.alias or name}" for name, info in Webhook.model_fields.items()} - {
        "webhook.sealedSecret"
    }
    assert fields <= set(CHANGES)


@pytest.mark.parametrize("change", CHANGES)
async def test_no_field_of_a_dispatched_run_changes(client: KubeClient, namespace: str, change: str) -> None:
    name = await make_run(client, namespace, SPEC)
    with pytest.raises(KubeInvalid, match="the spec of a run is immutable"):
        await client.patch(RUN, name, {"spec": CHANGES[change]}, namespace)


async def test_a_webhook_is_not_added_later(client: KubeClient, namespace: str) -> None:
    spec: dict[str, Any] = {key: value for key, value in SPEC.items() if key != "webhook"}
    name = await make_run(client, namespace, spec)
    with pytest.raises(KubeInvalid, match="the spec of a run is immutable"):
        await client.patch(RUN, name, {"spec": {"webhook": SPEC["webhook"]}}, namespace)


async def test_the_secret_of_a_run_is_sealed_anew(client: KubeClient, namespace: str) -> None:
    name = await make_run(client, namespace, SPEC)
    patch = {"spec": {"webhook": {"sealedSecret": "k2:YW5ldw"}}}
    changed = await client.patch(RUN, name, patch, namespace)
    assert changed["spec"] == {**SPEC, "webhook": {**SPEC["webhook"], "sealedSecret": "k2:YW5ldw"}}
