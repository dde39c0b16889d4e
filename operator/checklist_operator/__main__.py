"""`python -m checklist_operator`: stands for election, works while it leads, and stands again when it has lost.

Kopf is embedded (see `embedding`); `kopf run` is never used, since it would put this folder on the module path.
"""

import argparse
import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import uvloop

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError
from checklist_crds.photo_store import InvalidStore, PhotoStore
from checklist_crds.times import utc_now
from checklist_operator.health import HealthServer
from checklist_operator.json_logging import about, configure_logging
from checklist_operator.leader import Leadership
from checklist_operator.metrics import Metrics
from checklist_operator.settings import InvalidSetting, Settings, from_process_environment, help_text
from checklist_operator.term import Term

logger = logging.getLogger("checklist_operator")


class Operator:
    """The process: health server, candidacy, terms."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metrics = Metrics()
        self._stopping = asyncio.Event()
        self._term: Term | None = None
        self._state = "starting"

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)

    def stop(self) -> None:
        """Ends cleanly: what is in flight may end, the lease is given back."""
        self._stopping.set()

    async def run(self) -> None:
        """Until a signal comes, or `stop`. Raises KubeError without a configuration, OSError when the port is taken."""
        settings = self._settings
        self._take_signals()
        connection = await KubeConnection.load()
        health = HealthServer(settings.health_host, settings.health_port, self._metrics, self._readiness)
        await health.start()
        if settings.allow_insecure_targets:
            logger.warning("webhooks to http and to private addresses are allowed: for development only")
        try:
            # The lease has a connection of its own: behind a backlog of work its renewal would come too late, the term
            # would end, and the next one would begin with the same backlog and everything unrecorded sent again.
            async with KubeClient(connection) as client, KubeClient(connection, pool_size=2) as for_lease:
                while not self._stopping.is_set():
                    await self._stand(client, for_lease)
        finally:
            await health.stop()

    async def _stand(self, client: KubeClient, for_lease: KubeClient) -> None:
        """One candidacy, and the term if it is won."""
        settings = self._settings
        leadership = Leadership(for_lease, settings.namespace, settings.operator_id, settings.lease, clock=utc_now)
        self._state = "standby"
        if not await self._unless_stopped(leadership.acquire()):
            return
        self._metrics.leader.set(1)
        self._state = "leading"
        holding = asyncio.create_task(leadership.hold(), name="leadership")
        term = self._term = Term(settings, client, self._metrics, clock=utc_now, take_signals=self._take_signals)
        try:
            working = asyncio.create_task(term.run(), name="term")
            await self._first_of(holding, working)
            if working.done():
                working.result()  # raises: what went wrong is not known, so a fresh process must go on
            working.cancel()
        finally:
            self._term = None
            self._state = "ending"
            await term.stop(gracefully=not holding.done())
            self._metrics.leader.set(0)
            was_held = not holding.done()
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)
            if was_held:
                await leadership.release()

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Whether `work` ended before `stop` was called."""
        task = asyncio.create_task(work)
        await self._first_of(task)
        done = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return done and not self._stopping.is_set()

    async def _first_of(self, *tasks: asyncio.Task[Any]) -> None:
        """Until one of them ends, or `stop` is called."""
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()

    def _readiness(self) -> tuple[bool, str]:
        if self._state == "leading":
            return self._term is not None and self._term.is_ready, "leading"
        return self._state == "standby", self._state


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
        settings = from_process_environment()
        PhotoStore.open(settings.photo_store)
    except InvalidStore as problem:
        print(f"checklist-operator: CHECKLISTS_PHOTO_STORE: {problem}", file=sys.stderr)  # noqa: T201 - no log yet
        return 2
    except InvalidSetting as problem:
        print(f"checklist-operator: {problem}", file=sys.stderr)  # noqa: T201 - there is no log yet
        return 2
    configure_logging(settings.log_level)
    # What is there now stays; what events make is short-lived and hardly ever in circles.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    logger.info("starting", extra=about(identity=settings.operator_id, namespace=settings.namespace))
    try:
        uvloop.run(serve(settings))
    except (KubeError, OSError) as error:
        logger.error("cannot go on: %s", error)
        return 1
    logger.info("ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
