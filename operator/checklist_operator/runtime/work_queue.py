"""Keyed, de-duplicating work queue: a key waits at most once and is never processed concurrently.

Level-triggered like Kubernetes controllers: a key says "reconcile this object", not what happened to it. Work that
fails because the cluster does not answer is retried with backoff. Any other error is a bug: it is logged with its
traceback and counted, and the key is retried too.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from checklist_crds.kube.errors import KubeError
from checklist_crds.platform.log_lines import in_context
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays in seconds: `first`, doubled up to `longest`, each shortened by a random part of at most a half."""

    first: float = 0.1
    longest: float = 10.0

    def after(self, failures: int) -> float:
        pause: float = min(self.first * 2.0 ** min(failures - 1, 30), self.longest)
        return pause * (0.5 + random.random() / 2)


AFTER_A_BUG = Backoff(first=5.0, longest=300.0)


class WorkQueue(Generic[K]):
    """Calls `reconcile(key)`, which may return the seconds until the next call."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[float | None]],
        *,
        workers: int,
        backoff: Backoff | None = None,
        on_bug: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self._reconcile = reconcile
        self._workers = workers
        self._backoff = backoff or Backoff()
        self._on_bug = on_bug
        self._ready: deque[K] = deque()
        self._waiting: set[K] = set()
        self._active: dict[K, asyncio.Task[None]] = {}
        self._again: set[K] = set()
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._closed = False

    def __len__(self) -> int:
        """Number of keys that wait or are being processed, without delayed ones."""
        return len(self._waiting) + len(self._active)

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._active)

    def add(self, key: K, *, ahead: bool = False) -> None:
        """Enqueues `key`, `ahead` of all others or after them; once more if it is being processed now."""
        if self._closed:
            return
        if key in self._active:
            self._again.add(key)
        elif key not in self._waiting:
            self._cancel_later(key)
            self._waiting.add(key)
            if ahead:
                self._ready.appendleft(key)
            else:
                self._ready.append(key)
            self._start_ready()

    def add_later(self, key: K, delay_s: float) -> None:
        """Enqueues `key` after `delay_s`, unless it is added earlier."""
        if self._closed or key in self._waiting:
            return
        due = asyncio.get_running_loop().time() + delay_s
        known = self._later.get(key)
        if known is not None:
            if known.when() <= due:
                return
            known.cancel()
        self._later[key] = asyncio.get_running_loop().call_at(due, self._now, key)

    def forget(self, key: K) -> None:
        """Drops the delays and failures of a deleted object."""
        self._cancel_later(key)
        self._failures.pop(key, None)
        self._again.discard(key)

    async def close(self) -> None:
        """Cancels running work and accepts no more."""
        self._closed = True
        for handle in self._later.values():
            handle.cancel()
        self._later.clear()
        self._ready.clear()
        self._waiting.clear()
        tasks = list(self._active.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _now(self, key: K) -> None:
        self._later.pop(key, None)
        self.add(key)

    def _cancel_later(self, key: K) -> None:
        handle = self._later.pop(key, None)
        if handle is not None:
            handle.cancel()

    def _start_ready(self) -> None:
        while self._ready and len(self._active) < self._workers:
            key = self._ready.popleft()
            self._waiting.discard(key)
            self._active[key] = asyncio.create_task(self._process(key), name=f"{self.name} {key}")

    async def _process(self, key: K) -> None:
        in_context()  # clears the log context of the caller that added the key
        pause: float | None = None
        self._again.discard(key)  # this call sees all changes up to now
        try:
            pause = await self._reconcile(key)
            self._failures.pop(key, None)
        except KubeError as error:
            pause = self._count_failure(key, self._backoff)
            logger.warning(
                "work.retried",
                extra=about(
                    queue=self.name, key=key, reason=error.message, again_in_s=round(pause, 2), kind=_kind(error)
                ),
            )
        except Exception as error:
            pause = self._count_failure(key, AFTER_A_BUG)
            logger.exception("work.bug", extra=about(queue=self.name, key=key, kind=_kind(error)))
            if self._on_bug is not None:
                self._on_bug(self.name)
        finally:
            del self._active[key]
            if not self._closed:
                self._requeue(key, pause)
                self._start_ready()

    def _requeue(self, key: K, pause: float | None) -> None:
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        elif pause is not None:
            self.add_later(key, pause)

    def _count_failure(self, key: K, backoff: Backoff) -> float:
        self._failures[key] = self._failures.get(key, 0) + 1
        return backoff.after(self._failures[key])


def _kind(error: Exception) -> str:
    return type(error).__name__
