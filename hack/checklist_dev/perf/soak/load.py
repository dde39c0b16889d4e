"""The load of `make soak`: people who answer at a steady rate, and clients that read, list and change a template.

Runs are dispatched in an open loop, each on time regardless of earlier ones. People and receivers behave as in the
chaos scenes, with some photos, and without abandoned runs, which would stay in the cluster.
"""

import asyncio
import itertools
import random
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from checklist_dev.failures import Failure
from checklist_dev.perf.load.checklist import TEMPLATE as WITHOUT_PHOTOS
from checklist_dev.perf.load.client import Reply, ServiceClient
from checklist_dev.perf.load.executors import Executors
from checklist_dev.perf.load.pace import due_times
from checklist_dev.perf.load.plan import Op, RunPlan, plan_run

PHOTO_STEP: Final = "s-photo"
TEMPLATE: Final[dict[str, Any]] = deepcopy(WITHOUT_PHOTOS)
TEMPLATE["sections"][1]["steps"].append(
    {"id": PHOTO_STEP, "type": "photo", "label": "The shelves", "config": {"min": 1, "max": 2}}
)
_ENDS: Final = frozenset({"submit", "cancel", "owner_cancel"})
_DEAD_EVERY: Final = 20
_TEMPLATE_CHANGES_EVERY_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Pace:
    """`runs_per_s`: dispatches, `reads_per_s`: reads; `pause_s`: mean pause between two answers."""

    runs_per_s: float = 2.0
    reads_per_s: float = 1.0
    pause_s: float = 0.6
    photo_share: float = 0.1
    """The share of runs with a photo."""


def plan_of(rng: random.Random, pace: Pace, number: int) -> RunPlan:
    """The plan of run `number`, which always ends: submitted, cancelled, or expired. Photos and dead receivers are
    assigned by number, so that even a short soak has some."""
    plan = plan_run(rng, pause_s=pace.pause_s, behaviour="dead" if number % _DEAD_EVERY == 1 else None)
    ops = list(plan.ops)
    if number % round(1 / pace.photo_share) == 0 and ops and ops[-1].kind in _ENDS:
        ops.insert(len(ops) - 1, Op("photo", PHOTO_STEP, pause_s=rng.uniform(0, 2 * pace.pause_s)))
    if plan.expires_in_s is None and not (ops and ops[-1].kind in _ENDS):
        return replace(plan, ops=tuple(ops), expires_in_s=rng.uniform(15.0, 30.0))
    return replace(plan, ops=tuple(ops))


class SteadyLoad:
    """Runs until `over`, then waits until every started run and read has ended."""

    def __init__(
        self, client: ServiceClient, executors: Executors, template_id: str, pace: Pace, rng: random.Random
    ) -> None:
        self.problems: list[str] = []
        """Errors seen by readers."""
        self.reads = 0
        self.late = 0
        """Runs that began more than a second late: then the machine, not the service, determined the rate."""
        self._client = client
        self._executors = executors
        self._template_id = template_id
        self._pace = pace
        self._rng = rng
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """The number of runs and reads in progress."""
        return len(self._under_way)

    async def run(self, over: asyncio.Event) -> None:
        """Raises Failure if the template cannot be changed."""
        works = [
            self._in_turn(
                self._pace.runs_per_s, lambda number: self._perform(plan_of(self._rng, self._pace, number)), over
            ),
            self._in_turn(self._pace.reads_per_s, lambda _: self._read(), over),
            self._change_template(over),
        ]
        try:
            await asyncio.gather(*works)
            while self._under_way:
                await asyncio.wait(set(self._under_way))
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _in_turn(self, per_s: float, begin: Callable[[int], Any], over: asyncio.Event) -> None:
        loop, numbers = asyncio.get_running_loop(), itertools.count()
        async for due in due_times(per_s, over.is_set):
            self.late += loop.time() - due > 1.0
            task = asyncio.create_task(begin(next(numbers)))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _perform(self, plan: RunPlan) -> None:
        try:
            await self._executors.perform(plan)
        except Failure as failure:
            self._executors.failures.append(str(failure))

    async def _read(self) -> None:
        """Read something: a list, the usage, or a run of any age in either place."""
        made = self._executors.records
        run_id = self._rng.choice(made).run_id if made else ""
        paths = [f"/v1/runs?per_page=50&page={self._rng.randint(1, 20)}", "/v1/usage", "/v1/deliveries?per_page=50"]
        path = self._rng.choice([f"/v1/runs/{run_id}", *paths]) if made else paths[0]
        reply: Reply = await self._client.once("GET", path)
        self.reads += 1
        if reply.status == 404 or (reply.ok and run_id in path and run_id and reply.body.get("run_id") != run_id):
            self.problems.append(f"GET {path} answered {reply.status} {reply.body}")

    async def _change_template(self, over: asyncio.Event) -> None:
        """Create new versions regularly; old revisions are collected when their runs are archived."""
        for number in itertools.count(1):
            if await ended_before(over, _TEMPLATE_CHANGES_EVERY_S):
                return
            change = {"description": f"Changed {number} times."}
            reply = await self._client.once("PATCH", f"/v1/templates/{self._template_id}", change)
            if reply.is_definite and not reply.ok:  # otherwise another change follows soon
                raise Failure(f"a change of the template was refused with {reply.status}: {reply.body}")


async def ended_before(over: asyncio.Event, seconds: float) -> bool:
    """Wait for `seconds`, or until `over`; returns whether it is set."""
    if seconds > 0:
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), seconds)
    return over.is_set()
