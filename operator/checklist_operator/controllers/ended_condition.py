"""Adds the condition Ended to runs that ended under a release without it, so that `kubectl wait` returns.

The watch shows runs with events left to send, but not settled runs: `sweep` lists these until a whole pass finds none
without the condition, usually once after an upgrade. It limits its write rate, since there can be 100,000 such runs.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeGone
from checklist_crds.resources.kinds import RUN, Key, key_of
from checklist_crds.runs.end_conditions import lacks_ended, with_missing_ended
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.paging import pages
from checklist_operator.runtime.run_changes import change_if_readable
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_WRITE_INTERVAL_S: Final = 0.02
"""Minimum interval between writes of a sweep: at most 50 per second."""


class EndedConditions:
    """`observe` takes watch events of unsettled runs; `sweep` lists the settled ones."""

    def __init__(
        self,
        client: KubeClient,
        *,
        namespaces: tuple[str, ...],
        on_bug: Callable[[str], None],
        write_interval_s: float = _WRITE_INTERVAL_S,
    ) -> None:
        self._client = client
        self._namespaces = namespaces
        self._write_interval_s = write_interval_s
        self._complete = False
        self.queue: WorkQueue[Key] = WorkQueue("run_ends", self._reconcile, workers=2, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        if type_ == "DELETED":
            self.queue.forget(key_of(body))
        elif lacks_ended(body):
            self.queue.add(key_of(body))

    async def sweep(self) -> int:
        """Add the condition to settled runs; returns how many. Raises KubeError; the next sweep starts again."""
        if self._complete:
            return 0
        written = 0
        try:
            async for page in pages(self._client, RUN, self._namespaces, field_selector="status.settled=true"):
                for body in filter(lacks_ended, page):
                    written += await change_if_readable(self._client, key_of(body), with_missing_ended, known=body)
                    await asyncio.sleep(self._write_interval_s)
            self._complete = written == 0
        except KubeGone:
            # The continue token of the list expired after some minutes. The next sweep finds the rest.
            pass
        if written:
            logger.info("runs.ended_condition_added", extra=about(runs=written))
        return written

    async def _reconcile(self, key: Key) -> float | None:
        await change_if_readable(self._client, key, with_missing_ended)
        return None
