"""`python -m checklist_operator`: takes part in leader election, works while leader, and campaigns again after losing.

Kopf is embedded (see `embedding`); `kopf run` is never used, since it would add this folder to the module path.
"""

import argparse
import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final, NoReturn, TypeVar

import uvloop

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError
from checklist_crds.platform.event_loop import EventLoop
from checklist_crds.platform.memory import configure_malloc
from checklist_crds.platform.object_store import InvalidStore, open_store
from checklist_crds.platform.process_end import end_process
from checklist_crds.platform.readiness import Check
from checklist_crds.platform.tracing import tracing_to
from checklist_crds.runs.seal import RunSeals
from checklist_crds.settings.rotation import Rotation
from checklist_crds.times import utc_now
from checklist_operator.runtime.handover import Handover
from checklist_operator.runtime.health import HealthServer
from checklist_operator.runtime.json_logging import about, configure_logging
from checklist_operator.runtime.leader import Leadership
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.settings import InvalidSetting, Settings, help_text
from checklist_operator.term import Term

T = TypeVar("T")

logger = logging.getLogger("checklist_operator")

NOT_ARCHIVED: Final = "nothing is archived (CHECKLISTS_ARCHIVE is 0): runs past their retention stay in the cluster"


class Operator:
    """The process: health server, candidacies, terms."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metrics = Metrics()
        self._metrics.archive_enabled.set(settings.archive)
        self._tracing = tracing_to(settings.otlp_endpoint, service="checklist-dispatch-operator")
        self._rotation = Rotation(settings.files, self._metrics.setting_is_stale)
        self._seals = RunSeals(settings.server_key)
        self._stopping = asyncio.Event()
        self._term: Term | None = None
        self._state = "starting"

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)

    def stop(self) -> None:
        """Shuts down cleanly: drains attempts in flight, then releases the lease."""
        self._stopping.set()

    async def run(self) -> None:
        """Runs until a signal or `stop`. Raises KubeError without a configuration, OSError when the port is taken."""
        settings = self._settings
        self._take_signals()
        connection = await KubeConnection.load()
        health = HealthServer(settings.host, settings.health_port, self._metrics, self._readiness)
        await health.start()
        rotation = asyncio.create_task(self._rotation.run(), name="read changed files of settings")
        if settings.allow_insecure_targets:
            logger.warning("operator.insecure_targets_allowed", extra=about(purpose="development only"))
        if not settings.archive:
            logger.warning("operator.archive_off", extra=about(reason=NOT_ARCHIVED))
        try:
            # The lease has its own connection: queued behind other requests, its renewal would be late, the term would
            # end, and the next one would start with the same backlog and repeat all unrecorded attempts.
            # `namespaces` limits cluster-wide lists, which this operator's role may not allow.
            reachable = KubeClient(connection, namespaces=settings.watch_namespaces, check=self._seals.check)
            async with reachable as client, KubeClient(connection, pool_size=2) as for_lease:
                while not self._stopping.is_set():
                    await self._run_candidacy(client, for_lease)
        finally:
            rotation.cancel()
            await health.stop()
            self._tracing.close()

    async def _run_candidacy(self, client: KubeClient, for_lease: KubeClient) -> None:
        """Runs one candidacy, and the term if it is won."""
        settings = self._settings
        leadership = Leadership(for_lease, settings.namespace, settings.operator_id, settings.lease, clock=utc_now)
        self._state = "standby"
        handover = await self._unless_stopped(leadership.acquire())
        if handover is None:
            return
        holding = asyncio.create_task(leadership.hold(), name="leadership")
        self._metrics.leader.set(1)
        self._state = "leading"
        term = self._term = Term(
            settings,
            client,
            self._metrics,
            seals=self._seals,
            clock=utc_now,
            take_signals=self._take_signals,
            lead=leadership,
            handover=handover,
            tracing=self._tracing,
        )
        try:
            working = asyncio.create_task(term.run(), name="term")
            await self._first_of(holding, working)
            if working.done():
                working.result()  # raises: after an unknown error, a new process must continue
            working.cancel()
        finally:
            self._term = None
            self._state = "ending"
            gracefully = not holding.done()
            await term.stop(gracefully=gracefully, step_down=partial(self._step_down, leadership, holding))

    async def _step_down(self, leadership: Leadership, holding: asyncio.Task[None], handover: Handover) -> None:
        self._metrics.leader.set(0)
        await self._release_lease(leadership, holding, handover)

    async def _release_lease(self, leadership: Leadership, holding: asyncio.Task[None], handover: Handover) -> None:
        """Releases the lease, unless it was lost."""
        was_held = not holding.done()
        holding.cancel()
        await asyncio.gather(holding, return_exceptions=True)
        if was_held:
            await leadership.release(handover)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Returns the result of `work` if it ends before `stop` is called."""
        task = asyncio.create_task(work)
        await self._first_of(task)
        done = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.result() if done and not self._stopping.is_set() else None

    async def _first_of(self, *tasks: asyncio.Task[Any]) -> None:
        """Waits until one task ends, or `stop` is called."""
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()

    def _readiness(self) -> tuple[str, list[Check], list[str]]:
        """Returns the status word, the checks and notes. A standby is ready."""
        notes = [*self._rotation.notes, *(() if self._settings.archive else (NOT_ARCHIVED,))]
        if self._state not in ("leading", "standby"):
            return self._state, [Check("lease", f"the operator is {self._state}")], notes
        term = self._term.checks() if self._term is not None else []
        return self._state, [Check("lease", None), *term], notes


async def serve(settings: Settings) -> None:
    """Runs the operator until SIGINT or SIGTERM."""
    await Operator(settings).run()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="checklist-operator",
        description="The operator of Checklist Dispatch: expiry, delivery of events, admission, retention.",
        epilog=help_text(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    try:
        settings = Settings.from_environment(os.environ)
        for variable, store in (("PHOTO_STORE", settings.photo_store), ("ARCHIVE_STORE", settings.archive_store)):
            try:
                open_store(store)
            except InvalidStore as problem:
                print(f"checklist-operator: CHECKLISTS_{variable}: {problem}", file=sys.stderr)  # noqa: T201 - no log yet
                return 2
    except InvalidSetting as problem:
        print(f"checklist-operator: {problem}", file=sys.stderr)  # noqa: T201 - there is no log yet
        return 2
    configure_logging(settings.log_level)
    configure_malloc()
    # Objects allocated so far stay. Each watch event leaves some forty objects of Kopf in a reference cycle. They are
    # collected after about 1,200 events, which costs less than frequent collections. Those in use just then (a quarter
    # at sixty events per second) move to the next generation, whose threshold is low for that reason.
    gc.freeze()
    gc.set_threshold(50_000, 5, 10)
    logger.info("operator.starting", extra=about(identity=settings.operator_id, namespace=settings.namespace))
    try:
        uvloop.run(serve(settings), loop_factory=EventLoop)
    except (KubeError, OSError) as error:
        logger.error("operator.failed", extra=about(reason=str(error)))
        return 1
    logger.info("operator.stopped")
    return 0


def run() -> NoReturn:
    """Runs the process; its exit status is that of `main`."""
    end_process(main())


if __name__ == "__main__":
    run()
