"""Runs Kopf inside this process and restarts it when it ends.

An error in a watch other than 410 Gone (etcd elects a leader, a connection breaks in the middle of a line) ends Kopf.
`kopf.operator()` would then cancel every other task of the loop, deliveries in flight included. So its two documented
halves are used: `kopf.spawn_tasks()`, and instead of `kopf.run_tasks()` a shutdown that cancels Kopf's own tasks only.
It cancels all of them: when one watch fails, Kopf leaves the others running, next to those of the next start.

(Kopf in its own thread would also protect us, but both threads compete for the GIL: under load each of our system calls
waited 3 ms for it.)
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from types import CodeType
from typing import Any, Final

import kopf

from checklist_operator.runtime.generators import GeneratorTracker
from checklist_operator.runtime.handlers import Observe, kopf_registry, kopf_settings
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
_STABLE_AFTER_S: Final = 60.0
_END_WITHIN_S: Final = 5.0
_KOPF: Final = Path(kopf.__file__).parent
_WATCH: Final = "guard"  # the coroutine around each watch


class EmbeddedKopf:
    """Keeps one Kopf operator running; its watch events go to `observe`."""

    def __init__(
        self,
        observe: Observe,
        *,
        namespaces: tuple[str, ...],
        on_start: Callable[[], None],
        on_restart: Callable[[], None],
    ) -> None:
        """`on_start` is called right after each start of Kopf, which installs its own signal handlers."""
        self._observe = observe
        self._namespaces = namespaces
        self._on_start = on_start
        self._on_restart = on_restart
        self._ready = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        """Whether Kopf has started and its watches are being opened."""
        return self._ready.is_set()

    async def run(self) -> None:
        """Runs until cancelled. Kopf lists all objects again after each restart."""
        pause = _FIRST_PAUSE_S
        clock = asyncio.get_running_loop().time
        while True:
            started = clock()
            try:
                await self._live_once()
            except Exception as error:
                logger.warning("kopf.ended", exc_info=error, extra=about(reason=type(error).__name__))
            self._ready.clear()
            pause = _FIRST_PAUSE_S if clock() - started > _STABLE_AFTER_S else min(pause * 2, _LONGEST_PAUSE_S)
            logger.warning("kopf.restarting", extra=about(pause_s=pause))
            self._on_restart()
            await asyncio.sleep(pause)

    async def _live_once(self) -> None:
        """Runs Kopf until one of its root tasks ends; raises that task's error."""
        with GeneratorTracker(_KOPF) as streams:
            tasks = await kopf.spawn_tasks(
                registry=kopf_registry(self._observe),
                settings=kopf_settings(),
                standalone=True,
                clusterwide=not self._namespaces,
                namespaces=self._namespaces,
                ready_flag=self._ready,
            )
            self._on_start()
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await _end(tasks)
                await streams.close()
        for task in tasks:
            if not task.cancelled():
                task.result()


async def _end(root_tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancels the root tasks, then the watches that they left, then the rest: each task cleans up what it started."""
    hanging = await _cancel(root_tasks)
    hanging |= await _cancel([task for task in _tasks_of_kopf() - hanging if _function(task) == _WATCH])
    hanging |= await _cancel(_tasks_of_kopf() - hanging)
    if hanging:
        names = [task.get_name() for task in hanging]
        logger.warning("kopf.not_ended", extra=about(within_s=_END_WITHIN_S, tasks=names))


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """Returns the tasks that have not ended in time."""
    for task in tasks:
        task.cancel()
    return (await asyncio.wait(tasks, timeout=_END_WITHIN_S))[1] if tasks else set()


def _tasks_of_kopf() -> set[asyncio.Task[Any]]:
    """Returns the tasks that run Kopf's code; tasks started by our handlers run ours."""
    return {task for task in asyncio.all_tasks() if Path(_code(task).co_filename).is_relative_to(_KOPF)}


def _function(task: asyncio.Task[Any]) -> str:
    return _code(task).co_name


def _code(task: asyncio.Task[Any]) -> CodeType:
    coroutine: Any = task.get_coro()
    code: CodeType = getattr(coroutine, "cr_code", _end.__code__)
    return code
