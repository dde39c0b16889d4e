"""Lists of any length in several namespaces: sweeps look at everything, but never hold everything."""

from collections.abc import AsyncIterator

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.resources.kinds import Kind


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
