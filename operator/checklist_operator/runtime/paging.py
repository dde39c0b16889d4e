"""Lists of any length in several namespaces: sweeps look at everything, but never hold everything."""

import asyncio
from collections.abc import AsyncIterator

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.resources.kinds import Kind
from checklist_operator.runtime.handlers import SELECTED, WATCHED, Observe


async def pages(
    client: KubeClient,
    kind: Kind,
    namespaces: tuple[str, ...] = (),
    *,
    field_selector: str | None = None,
    label_selector: str | None = None,
) -> AsyncIterator[list[JsonObject]]:
    """The objects of `kind` in `namespaces` (none: everywhere), a page at a time.

    Raises KubeError; KubeGone when a list took so long that its version is no longer kept.
    """
    for namespace in namespaces or (None,):
        async for items, _ in client.pages(
            kind, namespace, field_selector=field_selector, label_selector=label_selector
        ):
            yield items


async def resync(client: KubeClient, observe: Observe, namespaces: tuple[str, ...]) -> None:
    """One pass of the safety net under the watches: everything unsettled is listed and shown to the controllers again.
    Raises KubeError.

    A watch can lose something: Kopf, when a connection breaks in the middle of an initial list, goes on from the
    version of some object and never sees the rest. Controllers are level-triggered: seeing an object again is no harm.
    """
    for kind in WATCHED:
        where = namespaces if kind.namespaced else ()
        async for page in pages(client, kind, where, field_selector=SELECTED.get(kind)):
            for body in page:
                observe(kind, None, {"apiVersion": kind.api_version, "kind": kind.kind, **body})
            await asyncio.sleep(0)
