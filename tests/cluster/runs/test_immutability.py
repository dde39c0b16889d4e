"""What of a dispatched run may change."""

import pytest
from tests.cluster.resources.test_resources import make_run

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeInvalid
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import RunSpec, Webhook
from checklist_crds.values.json_text import JsonObject

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
DISPATCHED: JsonObject = {
    "organizationRef": {"name": "acme"},
    "templateId": "t-1",
    "executorRef": "order 17",
    "createdAt": "2026-11-21T10:00:00.000Z",
    "expiresAt": "2026-12-21T10:00:00.000Z",
    "createdByName": "Ada",
    "webhook": {"url": "https://hooks.example.com/", "events": ["*"], "sealedSecret": "k1:c2VhbGVk"},
    "linkSecretRef": {"name": "person-link"},
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
    "linkSecretRef": {"linkSecretRef": {"name": "another-link"}},
    "linkSecretRef, gone": {"linkSecretRef": ABSENT},
    "resolved": {"resolved": {"templateVersion": 2}},
    "resolved, gone": {"resolved": ABSENT},
    "webhook, gone": {"webhook": ABSENT},
    "webhook.url": {"webhook": {"url": "https://evil.example.com/"}},
    "webhook.events": {"webhook": {"events": ["run.completed"]}},
    "webhook.secretRef": {"webhook": {"sealedSecret": ABSENT, "secretRef": {"name": "mine"}}},
}


async def test_no_field_of_a_dispatched_run_changes(client: KubeClient, namespace: str) -> None:
    """But the form in which its secret is sealed."""
    fields = {info.alias or name for name, info in RunSpec.model_fields.items()}
    fields |= {f"webhook.{info.alias or name}" for name, info in Webhook.model_fields.items()}
    assert fields - {"webhook", "webhook.sealedSecret"} <= set(CHANGES), "every field of a run is tried"

    name = await make_run(client, namespace, templateRef=ABSENT, **DISPATCHED)
    for what, change in CHANGES.items():
        with pytest.raises(KubeInvalid, match="the spec of a run is immutable"):
            await client.patch(RUN, name, {"spec": change}, namespace)
            pytest.fail(what)
    changed = await client.patch(RUN, name, {"spec": {"webhook": {"sealedSecret": "k2:YW5ldw"}}}, namespace)
    assert changed["spec"] == {**DISPATCHED, "webhook": {**DISPATCHED["webhook"], "sealedSecret": "k2:YW5ldw"}}

    quiet = await make_run(client, namespace, templateRef=ABSENT, **{**DISPATCHED, "webhook": ABSENT})
    of_kubectl = await make_run(client, namespace)
    for name, change in ((quiet, {"webhook": DISPATCHED["webhook"]}), (of_kubectl, {"executorRef": "changed"})):
        with pytest.raises(KubeInvalid, match="the spec of a run is immutable"):
            await client.patch(RUN, name, {"spec": change}, namespace)
