"""A watch of settled deliveries for the one thing that can still happen to them: somebody asks for a replay.

There may be a hundred thousand of them, so they are neither listed into memory nor received as a whole: the watch
begins now, brings metadata alone, and what was asked for before it began is found by one slow pass over all pages.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from attrs import define

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeError, KubeGone
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.work_queue import Backoff

logger = logging.getLogger(__name__)

_SETTLED: Final = "status.settled=true"
_PAGE_PAUSE_S: Final = 0.1
_BACKOFF: Final = Backoff(first=0.1, longest=5.0)

Observe = Callable[[str | None, JsonObject], None]


@define(kw_only=True, eq=False, repr=False, slots=False)
class SettledDeliveries:
    """Shows `observe` the metadata of settled deliveries that were changed, and once that of all others."""

    _client: KubeClient
    _observe: Observe
    _namespaces: tuple[str, ...]
    """None means all."""
    _page_pause_s: float = _PAGE_PAUSE_S

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for namespace in self._namespaces or (None,):
                tasks.create_task(self._follow(namespace))

    async def _follow(self, namespace: str | None) -> None:
        failures = 0
        while True:
            try:
                await self._look_and_watch(namespace)
            except KubeGone:
                failures = 0  # what was missed is found by the next pass
            except KubeError as error:
                failures += 1
                logger.warning("watch.failed", extra=about(of="settled deliveries", reason=error.message))
                await asyncio.sleep(_BACKOFF.after(failures))

    async def _look_and_watch(self, namespace: str | None) -> None:
        """One pass over what is there, and meanwhile and from then on the watch; until KubeError."""
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
        """Goes on where it was when the stream breaks, as long as the server still knows that place."""
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
                    # One that leaves the selection is no longer settled, and comes by the other watch.
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
