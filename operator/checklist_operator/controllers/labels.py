"""The label `checklists.dev/org`, which objects made with kubectl mostly lack."""

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import Kind


def lacks_label(body: JsonObject, organization: str) -> bool:
    """Whether the object is not labelled with `organization`."""
    labels = body["metadata"].get("labels") or {}
    return labels.get(ORGANIZATION_LABEL) != organization


async def labelled(client: KubeClient, kind: Kind, body: JsonObject, organization: str) -> JsonObject:
    """The object as it is with its label; it is only written if it lacked it. Raises KubeError.

    To be done before a verdict is written, so that whoever waits for the verdict finds the label too.
    """
    if not organization or not lacks_label(body, organization):
        return body
    metadata = body["metadata"]
    patch = {"metadata": {"labels": {ORGANIZATION_LABEL: organization}}}
    return await client.patch(
        kind, metadata["name"], patch, metadata.get("namespace"), resource_version=metadata["resourceVersion"]
    )
