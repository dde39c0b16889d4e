"""The condition Ended of runs that a release without it has ended: the operator adds it, so `kubectl wait` returns.

Runs with events left to send come by the watch. Settled runs do not: `sweep` lists them until one whole pass finds none
without the condition, usually once after an upgrade, and writes slowly, because there may be a hundred thousand.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from pydantic import ValidationError

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeGone, KubeNotFound
from checklist_crds.kube.informer import Key, key_of
from checklist_crds.resources.kinds import RUN
from checklist_crds.runs.end_conditions import lacks_ended, with_missing_ended
from checklist_operator.attempts.run_status import change_run_status
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.paging import pages
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_APART_S: Final = 0.02
"""Between two writes of a sweep: at most 50 a second."""


class RunEnds:
    """Shown every unsettled run; `sweep` finds the settled ones."""

    def __init__(
        self,
        client: KubeClient,
        *,
        namespaces: tuple[str, ...],
        on_bug: Callable[[str], None],
        apart_s: float = _APART_S,
    ) -> None:
        self._client = client
        self._namespaces = namespaces
        self._apart_s = apart_s
        self._complete = False
        self.queue: WorkQueue[Key] = WorkQueue("run_ends", self._reconcile, workers=2, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        if type_ == "DELETED":
            self.queue.forget(key_of(body))
        elif lacks_ended(body):
            self.queue.add(key_of(body))

    async def sweep(self) -> int:
        """How many settled runs got the condition. Raises KubeError; then the next sweep begins again."""
        if self._complete:
            return 0
        written = 0
        try:
            async for page in pages(self._client, RUN, self._namespaces, field_selector="status.settled=true"):
                for body in filter(lacks_ended, page):
                    written += await self._add(key_of(body), known=body)
                    await asyncio.sleep(self._apart_s)
            self._complete = written == 0
        except KubeGone:
            # The cluster keeps what a list continues from for some minutes. The next sweep finds what is left.
            pass
        if written:
            logger.info("runs.ended_condition_added", extra=about(runs=written))
        return written

    async def _reconcile(self, key: Key) -> float | None:
        await self._add(key)
        return None

    async def _add(self, key: Key, *, known: JsonObject | None = None) -> bool:
        """Whether the run is readable and still there. Raises KubeError."""
        try:
            await change_run_status(self._client, *key, with_missing_ended, known=known)
        except KubeNotFound:
            return False
        except ValidationError as error:
            # No part of the operator writes such a run.
            logger.warning("run.unreadable", extra=about(run_id=key[1], reason=error.errors()[0]["msg"]))
            return False
        return True
