"""What everybody else does with the service, at a steady pace: dispatch, look, answer."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from checklist_dev.bench.answers import USUAL_STEPS, text_for
from checklist_dev.failures import Failure
from checklist_dev.load.client import Person, Reply, ServiceClient, new_op

REQUESTS_PER_S: Final = 50.0
Seconds = dict[str, list[float]]
"""By route."""


class OtherRoutes:
    """`wish` dispatches the checklist of `load.checklist`; `people` answer it, one after the other."""

    def __init__(self, client: ServiceClient, wish: dict[str, Any], people: Sequence[Person]) -> None:
        self._rng = random.Random(1)
        self._people = itertools.cycle(people)
        self._routes: Final[dict[str, Callable[[], Awaitable[Reply]]]] = {
            "POST /v1/runs": lambda: client.dispatch(wish),
            "GET /v1/runs/{run_id}": lambda: client.once("GET", f"/v1/runs/{next(self._people).run_id}"),
            "GET /v1/runs": lambda: client.once("GET", "/v1/runs?limit=20"),
            "GET /v1/executor/runs/{run_id}": lambda: next(self._people).read(insist=False),
            "PUT .../answers/{step_id}": self._answer,
        }

    async def call_until(self, until: asyncio.Future[Any]) -> Seconds:
        """Seconds of each call, from the moment at which it was due, sent in an open loop until `until` is done.

        Raises Failure when one is refused.
        """
        loop = asyncio.get_running_loop()
        seconds: Seconds = {route: [] for route in self._routes}
        under_way: set[asyncio.Task[None]] = set()

        async def one(route: str, due: float) -> None:
            reply = await self._routes[route]()
            if not reply.ok:
                raise Failure(f"{route} answered {reply.status}: {reply.body}")
            seconds[route].append(loop.time() - due)

        due = loop.time()
        for route in itertools.cycle(self._routes):
            if until.done():
                break
            due += 1 / REQUESTS_PER_S
            await asyncio.sleep(max(0.0, due - loop.time()))
            under_way.add(asyncio.create_task(one(route, due)))
        await asyncio.gather(*under_way)
        return seconds

    async def _answer(self) -> Reply:
        number = self._rng.randrange(USUAL_STEPS)
        return await next(self._people).answer(f"s-{number}", text_for(self._rng.randrange(1000)), op_id=new_op())
