"""Expires open runs at `expires_at`, exactly once, with their event (contract section 5).

Readers and writers compare the time themselves, so nothing depends on punctuality. Runs that came due while no operator
ran are expired at start.
"""

import logging
from collections.abc import Callable
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import RUN, Key, key_of
from checklist_crds.resources.run import FINAL_PHASES, Run, RunStatus
from checklist_crds.resources.run_expiry import expires_at_of
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.commands import Expire
from checklist_crds.runs.lifecycle import decide
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.run_changes import change_if_readable
from checklist_operator.runtime.timers import Timers
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_NO_STEPS: Final = Definition(name="-", sections=[])
"""Expiry depends on time alone, so it needs no snapshot: a run expires even without its revision."""


class RunExpiry:
    """Expires unsettled runs; keeps only their due times."""

    def __init__(
        self,
        client: KubeClient,
        timers: Timers,
        metrics: Metrics,
        *,
        kube_events: EventRecorder,
        clock: Clock,
        on_unadmitted: Callable[[Key], None],
        on_bug: Callable[[str], None],
        workers: int = 16,
    ) -> None:
        """`on_unadmitted` receives runs that come due before they are admitted."""
        self._client = client
        self._kube_events = kube_events
        self._clock = clock
        self._metrics = metrics
        self._on_unadmitted = on_unadmitted
        self.queue: WorkQueue[Key] = WorkQueue("run_expiry", self._reconcile, workers=workers, on_bug=on_bug)
        self._due = timers.topic(self.queue.add)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        status = body.get("status") or {}
        if type_ == "DELETED" or status.get("phase") in FINAL_PHASES:
            self._due.cancel(key)
            return
        try:
            expires_at = expires_at_of(body)
        except ValueError:
            return  # admission refuses the run
        if expires_at is not None:
            self._due.set(key, expires_at)

    async def _reconcile(self, key: Key) -> float | None:
        seen: list[tuple[Run, RunStatus]] = []

        def expire(run: Run) -> RunStatus:
            after = run.status if run.resolved is None else decide(run, _NO_STEPS, Expire(), self._clock()).after
            seen.append((run, after))
            return after

        if not await change_if_readable(self._client, key, expire):
            return None
        run, after = seen[-1]
        if run.resolved is None:
            self._on_unadmitted(key)
        elif after is not run.status:
            self._metrics.expiries.inc()
            if run.expires_at is not None:
                self._metrics.expiry_lag.observe(max(0.0, (self._clock() - run.expires_at).total_seconds()))
            this = ObjectReference(RUN, run.namespace, run.name, run.uid)
            self._kube_events.record(this, "Expired", "The run expired before it was submitted.")
            logger.info("run.expired", extra=about(run_id=run.id))
        elif not after.phase.is_final and run.expires_at is not None:
            self._due.set(key, run.expires_at)  # the clock was set back
        return None
