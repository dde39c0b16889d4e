"""The label `checklists.dev/org`, which objects made with kubectl mostly lack: the operator adds it."""

import contextlib

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import Kind
from checklist_crds.resource_types import ORGANIZATION_LABEL


def lacks_label(body: JsonObject, organization: str) -> bool:
    """Whether the object is not labelled with `organization`."""
    labels = body["metadata"].get("labels") or {}
    return labels.get(ORGANIZATION_LABEL) != organization


async def ensure_label(client: KubeClient, kind: Kind, body: JsonObject, organization: str) -> None:
    """Labels the object unless it is labelled. Raises KubeError."""
    if not organization or not lacks_label(body, organization):
        return
    metadata = body["metadata"]
    with contextlib.suppress(KubeNotFound):
        await client.patch(
            kind,
            metadata["name"],
            {"metadata": {"labels": {ORGANIZATION_LABEL: organization}}},
            metadata.get("namespace"),
        )
