"""Watches settled deliveries for requested replays.

There may be a hundred thousand of them, so they are neither listed into memory nor received whole: the watch starts at
the current version with metadata only, and one slow pass over all pages finds earlier requests.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from attrs import define

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError, KubeGone
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.work_queue import Backoff

logger = logging.getLogger(__name__)

_SETTLED: Final = "status.settled=true"
_PAGE_PAUSE_S: Final = 0.1
_BACKOFF: Final = Backoff(first=0.1, longest=5.0)

Observe = Callable[[str | None, JsonObject], None]


@define(kw_only=True, eq=False, repr=False, slots=False)
class SettledDeliveries:
    """Passes the metadata of changed settled deliveries to `observe`, and once that of all others."""

    _client: KubeClient
    _observe: Observe
    _namespaces: tuple[str, ...]
    """Empty for all."""
    _page_pause_s: float = _PAGE_PAUSE_S

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for namespace in self._namespaces or (None,):
                tasks.create_task(self._follow(namespace))

    async def _follow(self, namespace: str | None) -> None:
        failures = 0
        while True:
            try:
                await self._list_and_watch(namespace)
            except KubeGone:
                failures = 0  # the next pass finds what was missed
            except KubeError as error:
                failures += 1
                logger.warning("watch.failed", extra=about(of="settled deliveries", reason=error.message))
                await asyncio.sleep(_BACKOFF.after(failures))

    async def _list_and_watch(self, namespace: str | None) -> None:
        """Lists all objects once while watching, then goes on watching; returns only with KubeError."""
        pages = self._client.pages(
            WEBHOOK_DELIVERY,
            namespace,
            field_selector=_SETTLED,
            metadata_only=True,
        )
        items, version = await anext(pages)
        self._show(items)
        watching = asyncio.create_task(self._watch(namespace, version))
        try:
            async for items, _ in pages:
                self._show(items)
                await asyncio.sleep(self._page_pause_s)
            await watching
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, namespace: str | None, version: str) -> None:
        """Resumes a broken stream as long as the server still knows its version."""
        failures = 0
        while True:
            try:
                async for event in self._client.watch(
                    WEBHOOK_DELIVERY,
                    namespace,
                    resource_version=version,
                    field_selector=_SETTLED,
                    metadata_only=True,
                ):
                    failures = 0
                    version = event.object["metadata"]["resourceVersion"]
                    # One that is no longer settled leaves the selection and is shown by the other watch.
                    if event.type in ("ADDED", "MODIFIED"):
                        self._observe(event.type, event.object)
            except KubeGone:
                raise
            except KubeError as error:
                failures += 1
                logger.warning("watch.failed", extra=about(of="settled deliveries", reason=error.message))
                await asyncio.sleep(_BACKOFF.after(failures))

    def _show(self, items: list[JsonObject]) -> None:
        for body in items:
            self._observe(None, body)
