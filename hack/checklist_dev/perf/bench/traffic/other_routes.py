"""Other traffic at a steady pace: dispatches, reads and answers."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from statistics import median
from typing import Any, Final, Self

from checklist_dev.failures import Failure
from checklist_dev.perf.bench.answers import USUAL_STEPS, open_runs, template_of, text_for
from checklist_dev.perf.bench.report import percentile
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.client import Person, Reply, ServiceClient, new_op
from checklist_dev.perf.load.pace import due_times

_PEOPLE: Final = 64
REQUESTS_PER_S: Final = 50.0
Seconds = dict[str, list[float]]
"""Seconds by route."""


class OtherRoutes:
    """Runs of the usual size; some are answered."""

    @classmethod
    async def of(cls, stage: Stage) -> Self:
        template_id = await stage.client.create_template(template_of(USUAL_STEPS))
        people = await open_runs(stage.client, template_id, [stage.hook], _PEOPLE)
        return cls(stage.client, {"template_id": template_id, "webhook": stage.webhook}, people)

    def __init__(self, client: ServiceClient, wanted: dict[str, Any], people: Sequence[Person]) -> None:
        self._rng = random.Random(1)
        self._people = itertools.cycle(people)
        self._routes: Final[dict[str, Callable[[], Awaitable[Reply]]]] = {
            "POST /v1/runs": lambda: client.dispatch(wanted),
            "GET /v1/runs/{run_id}": lambda: client.once("GET", f"/v1/runs/{next(self._people).run_id}"),
            "GET /v1/runs": lambda: client.once("GET", "/v1/runs?limit=20"),
            "GET /v1/executor/runs/{run_id}": lambda: next(self._people).read(insist=False),
            "PUT .../answers/{step_id}": self._answer,
        }

    async def call_for(self, seconds: float) -> Seconds:
        """Call the routes for so many seconds."""
        return await self.call_until(asyncio.ensure_future(asyncio.sleep(seconds)))

    async def call_until(self, until: asyncio.Future[Any]) -> Seconds:
        """Call the routes in an open loop until `until` is done; returns the seconds of each call from its due time.

        Raises Failure if a call is refused.
        """
        loop = asyncio.get_running_loop()
        seconds: Seconds = {route: [] for route in self._routes}
        under_way: list[asyncio.Task[None]] = []

        async def one(route: str, due: float) -> None:
            reply = await self._routes[route]()
            if not reply.ok:
                raise Failure(f"{route} answered {reply.status}: {reply.body}")
            seconds[route].append(loop.time() - due)

        routes = itertools.cycle(self._routes)
        async for due in due_times(REQUESTS_PER_S, until.done):
            under_way.append(asyncio.create_task(one(next(routes), due)))
        await asyncio.gather(*under_way)
        return seconds

    async def _answer(self) -> Reply:
        number = self._rng.randrange(USUAL_STEPS)
        return await next(self._people).answer(f"s-{number}", text_for(self._rng.randrange(1000)), op_id=new_op())


def p99(rounds: Sequence[Seconds]) -> float:
    """The median of the rounds' p99 over all routes, so that one disturbed round does not count."""
    return median(percentile(list(chain(*one.values())), 99) for one in rounds)
