"""Measures POST and GET of runs through the service, relative to the same object at the Kubernetes API."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice, repeat
from typing import Any, Final

import aiohttp

from checklist_crds.resources.kinds import RUN
from checklist_dev.failures import Failure
from checklist_dev.perf.bench.answers import USUAL_STEPS, template_of
from checklist_dev.perf.bench.report import Figure, Goal, of_rounds
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.client import Json
from checklist_dev.perf.load.pace import CONCURRENCY, Call, rate_of
from checklist_dev.perf.load.raw import RunFactory

_TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class Caller:
    """A bare aiohttp client of the service, like the one of the baseline."""

    session: aiohttp.ClientSession

    async def post_run(self, body: Json) -> Json:
        answer: Json = json.loads(await self._insist("POST", "/v1/runs", 201, json=body))
        return answer

    async def get_run(self, run_id: str) -> None:
        await self._insist("GET", f"/v1/runs/{run_id}", 200)

    async def _insist(self, method: str, path: str, wanted: int, **options: Any) -> bytes:
        """The body of the response. Requests refused for overload are repeated after Retry-After."""
        for _ in range(_TRIES):
            async with self.session.request(method, path, **options) as response:
                body = await response.read()
                if response.status == wanted:
                    return body
                if response.status != 503:
                    break
            await asyncio.sleep(int(response.headers["Retry-After"]))
        raise Failure(f"{method} {path} answered {response.status}: {body[:300]!r}")


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rates per second of each round."""

    raw: list[float]
    ours: list[float]

    def ratios(self) -> list[float]:
        return [ours / raw for raw, ours in zip(self.raw, self.ours, strict=True)]


async def take_turns(raw: Callable[[], Iterator[Call]], ours: Callable[[], Iterator[Call]], *, rounds: int) -> Rounds:
    """Both in every round, in alternating order, so that drifts (a disk, a neighbour) affect both alike."""
    result = Rounds([], [])
    for number in range(-1, rounds):
        pair = [(raw, result.raw), (ours, result.ours)]
        for calls, rates in pair if number % 2 else reversed(pair):
            rate = await rate_of(calls())
            if number >= 0:  # the first round only warms up
                rates.append(rate)
    return result


async def measure_requests(stage: Stage, sizes: Sizes) -> list[Figure]:
    cluster = stage.cluster
    wanted = {
        "template_id": await stage.client.create_template(template_of(USUAL_STEPS)),
        "executor_ref": "bench",
        "expires_in_hours": 24,
        "webhook": stage.webhook,
    }
    async with stage.session() as session:
        caller = Caller(session)
        made = [str((await caller.post_run(wanted))["run_id"])]
        factory = RunFactory(await cluster.get_run(made[0]), stage.rig.keys)

        async def dispatch() -> None:
            made.append((await caller.post_run(wanted))["run_id"])

        def raw_posts() -> Iterator[Call]:
            bodies = [factory.make()[1] for _ in range(sizes.posts)]
            return (partial(cluster.create, RUN, body) for body in bodies)

        def gets(get: Callable[[str], Awaitable[Any]]) -> Iterator[Call]:
            return (partial(get, name) for name in islice(cycle(made), sizes.gets))

        posts = await take_turns(raw_posts, lambda: repeat(dispatch, sizes.posts), rounds=sizes.rounds)
        reads = await take_turns(lambda: gets(cluster.read_run), lambda: gets(caller.get_run), rounds=sizes.rounds)
    return [
        *_figures("POST /v1/runs", "raw create of the same object", posts, Goal(">=", 0.6)),
        *_figures("GET /v1/runs/{run_id}", "raw GET of the same object", reads, Goal(">=", 0.5)),
    ]


def _figures(what: str, baseline: str, rounds: Rounds, goal: Goal) -> list[Figure]:
    raw = of_rounds("", rounds.raw, "/s")
    ours = of_rounds(
        f"{what} at concurrency {CONCURRENCY}", rounds.ours, "/s", baseline=f"{baseline}: {raw.value:,.0f}/s"
    )
    ratio = of_rounds(f"{what} over {baseline}", rounds.ratios(), "", goal=goal, baseline=f"{raw.value:,.0f}/s")
    return [ratio, ours]
