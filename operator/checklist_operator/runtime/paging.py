"""Pages through lists in several namespaces, so that sweeps never hold all objects in memory."""

import asyncio
from collections.abc import AsyncIterator

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import Kind
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.handlers import SELECTED, WATCHED, Observe


async def pages(
    client: KubeClient,
    kind: Kind,
    namespaces: tuple[str, ...] = (),
    *,
    field_selector: str | None = None,
    label_selector: str | None = None,
) -> AsyncIterator[list[JsonObject]]:
    """Yields the objects of `kind` in `namespaces` (empty for all), a page at a time.

    Raises KubeError; KubeGone when a list took so long that its version is no longer kept.
    """
    for namespace in namespaces or (None,):
        async for items, _ in client.pages(
            kind, namespace, field_selector=field_selector, label_selector=label_selector
        ):
            yield items


async def resync(client: KubeClient, observe: Observe, namespaces: tuple[str, ...]) -> None:
    """Lists all unsettled objects and passes them to the controllers again. Raises KubeError.

    A watch can miss objects: when a connection breaks during an initial list, Kopf continues from the version of some
    object and never sees the rest. Controllers are level-triggered, so seeing an object twice is harmless.
    """
    for kind in WATCHED:
        where = namespaces if kind.namespaced else ()
        async for page in pages(client, kind, where, field_selector=SELECTED.get(kind)):
            for body in page:
                observe(kind, None, {"apiVersion": kind.api_version, "kind": kind.kind, **body})
            await asyncio.sleep(0)
