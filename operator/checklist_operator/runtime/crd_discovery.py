"""Waits until the custom resources are installed, because Kopf discovers the kinds to watch only once."""

import asyncio
import json
import logging

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_crds.resources.base import API_VERSION, GROUP
from checklist_operator.runtime.handlers import WATCHED
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)


async def wait_for_crds(client: KubeClient) -> None:
    """Returns when discovery shows all watched kinds."""
    logged = False
    while not await _has_crds(client):
        if not logged:
            logger.warning("crds.missing", extra=about(reason="not all of them are installed"))
            logged = True
        await asyncio.sleep(1.0)


async def _has_crds(client: KubeClient) -> bool:
    """Checks both discovery lists that Kopf reads, since one may lag behind the other."""
    try:
        groups = await _discover(client, "/apis", "groups")
        kinds = await _discover(client, f"/apis/{API_VERSION}", "resources")
    except KubeError:
        return False
    return GROUP in groups and all(kind.plural in kinds for kind in WATCHED)


async def _discover(client: KubeClient, path: str, what: str) -> set[str]:
    status, text = await client.raw_get(path)
    return {entry["name"] for entry in json.loads(text)[what]} if status == 200 else set()
