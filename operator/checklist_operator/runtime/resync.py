"""The safety net under the watches: now and then everything unsettled is listed and shown to the controllers again.

A watch can lose something: Kopf, when a connection breaks in the middle of an initial list, goes on from the version
of some object and never sees the rest. Controllers are level-triggered, so seeing an object once more does no harm.
"""

import asyncio

from checklist_crds.kube.client import KubeClient
from checklist_operator.runtime.handlers import SELECTED, WATCHED, Observe
from checklist_operator.runtime.paging import pages


async def resync(client: KubeClient, observe: Observe, namespaces: tuple[str, ...]) -> None:
    """One pass. Raises KubeError."""
    for kind in WATCHED:
        where = namespaces if kind.namespaced else ()
        async for page in pages(client, kind, where, field_selector=SELECTED.get(kind)):
            for body in page:
                observe(kind, None, {"apiVersion": kind.api_version, "kind": kind.kind, **body})
            await asyncio.sleep(0)
