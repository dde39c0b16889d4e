"""Templates with values that are nested deeper than our parsers go. The Kubernetes API takes ten thousand levels."""

import json
from typing import Final

import aiohttp

from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.base import API_VERSION
from checklist_crds.resources.kinds import TEMPLATE

_DEPTH: Final = 3_000
NESTED: Final = ("[" * _DEPTH + "1" + "]" * _DEPTH, '{"a":' * _DEPTH + "1" + "}" * _DEPTH)
"""JSON texts: lists in lists, objects in objects."""


async def apply_nested(connection: KubeConnection, organization: str, namespace: str, nested: str) -> str:
    """A template whose step has `nested`, a JSON text, as its photo bounds: a field of any shape; its name."""
    step = {"id": "s-a", "type": "boolean", "label": "Is it clean?", "photo": "NESTED"}
    spec = {
        "organizationRef": {"name": organization},
        "name": "Nested",
        "sections": [{"id": "g-a", "title": "Kitchen", "steps": [step]}],
    }
    metadata = {"name": "nested", "namespace": namespace}
    body = {"apiVersion": API_VERSION, "kind": TEMPLATE.kind, "metadata": metadata, "spec": spec}
    text = json.dumps(body).replace('"NESTED"', nested)
    headers = {**connection.headers(), "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=connection.tls or True)) as session,
        session.post(connection.server + TEMPLATE.path(namespace), data=text, headers=headers) as response,
    ):
        assert response.status == 201, await response.text()
    return str(metadata["name"])
