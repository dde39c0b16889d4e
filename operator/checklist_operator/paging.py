"""Lists of any length, page by page: sweeps look at everything, but never hold everything."""

import json
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlencode

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeUnavailable, from_status
from checklist_crds.kube.kinds import Kind

_PAGE: Final = 250


async def pages(
    client: KubeClient, kind: Kind, namespaces: tuple[str, ...] = (), *, field_selector: str | None = None
) -> AsyncIterator[list[JsonObject]]:
    """The objects of `kind` in `namespaces` (none: everywhere), a page at a time.

    Raises KubeError; KubeGone when the list took so long that its version is no longer kept.
    """
    for namespace in namespaces or (None,):
        parameters = {"limit": str(_PAGE)} | ({"fieldSelector": field_selector} if field_selector else {})
        while True:
            status, text = await client.raw_get(f"{kind.path(namespace)}?{urlencode(parameters)}")
            try:
                page = json.loads(text)
            except ValueError:
                raise KubeUnavailable(f"the list of {kind.plural} is not JSON", status=status) from None
            if status != 200:
                raise from_status(status, page)
            yield page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                break
            parameters["continue"] = token
