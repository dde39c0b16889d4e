"""Adds the label `checklists.dev/org` to objects made with kubectl, which mostly lack it."""

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import Kind
from checklist_crds.values.json_text import JsonObject


def lacks_label(body: JsonObject, organization: str) -> bool:
    labels = body["metadata"].get("labels") or {}
    return labels.get(ORGANIZATION_LABEL) != organization


async def labelled(client: KubeClient, kind: Kind, body: JsonObject, organization: str) -> JsonObject:
    """Returns the object with its label, written only if it was missing. Raises KubeError.

    Call it before writing a condition, so that clients who wait for the condition find the label too.
    """
    if not organization or not lacks_label(body, organization):
        return body
    metadata = body["metadata"]
    patch = {"metadata": {"labels": {ORGANIZATION_LABEL: organization}}}
    return await client.patch(
        kind, metadata["name"], patch, metadata.get("namespace"), resource_version=metadata["resourceVersion"]
    )
