"""POST and GET of runs through the service, against the same object at the Kubernetes API."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import aiohttp

from checklist_dev.bench.raw import CONCURRENCY, RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal, of_rounds
from checklist_dev.bootstrap import ServerKeys
from checklist_dev.failures import Failure
from checklist_dev.load.client import Json

Call = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Caller:
    """One aiohttp client at the service, as bare as the one of the baseline."""

    session: aiohttp.ClientSession
    url: str
    api_key: str

    async def post_run(self, body: Json) -> Json:
        async with self.session.post(f"{self.url}/v1/runs", json=body, headers=self._headers) as response:
            answer: Json = await response.json()
            if response.status != 201:
                raise Failure(f"POST /v1/runs answered {response.status}: {answer}")
            return answer

    async def get_run(self, run_id: str) -> None:
        async with self.session.get(f"{self.url}/v1/runs/{run_id}", headers=self._headers) as response:
            await response.read()
            if response.status != 200:
                raise Failure(f"GET /v1/runs/{run_id} answered {response.status}")

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"}


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rates per second of each round, the baseline's and ours."""

    raw: list[float]
    ours: list[float]

    def ratios(self) -> list[float]:
        return [ours / raw for raw, ours in zip(self.raw, self.ours, strict=True)]


async def take_turns(
    raw: Callable[[], Iterator[Call]], ours: Callable[[], Iterator[Call]], *, rounds: int, concurrency: int
) -> Rounds:
    """Both in every round, in changing order, so that what drifts (a disk, a neighbour) meets both alike."""
    result = Rounds([], [])
    for number in range(-1, rounds):
        pair = [(raw, result.raw), (ours, result.ours)]
        for calls, rates in pair if number % 2 else reversed(pair):
            rate = await rate_of(calls(), concurrency=concurrency)
            if number >= 0:  # the first round only warms up
                rates.append(rate)
    return result


async def measure_posts(
    caller: Caller,
    cluster: RawCluster,
    wish: Json,
    *,
    keys: ServerKeys,
    rounds: int,
    calls: int,
    concurrency: int = CONCURRENCY,
) -> tuple[list[Figure], list[str]]:
    """The figures, and the ids of all runs that the service acknowledged. `keys`: those of the service."""
    first = await caller.post_run(wish)
    made = [str(first["run_id"])]
    factory = RunFactory(await cluster.get_run(made[0]), keys, raw=True)

    def raw() -> Iterator[Call]:
        bodies = [factory.make()[1] for _ in range(calls)]
        return (partial(cluster.create_run, body) for body in bodies)

    async def dispatch() -> None:
        made.append((await caller.post_run(wish))["run_id"])

    def ours() -> Iterator[Call]:
        return (dispatch for _ in range(calls))

    rounds_ = await take_turns(raw, ours, rounds=rounds, concurrency=concurrency)
    return _figures("POST /v1/runs", "raw create of the same object", rounds_, Goal(">=", 0.6)), made


async def measure_gets(
    caller: Caller, cluster: RawCluster, run_ids: list[str], *, rounds: int, calls: int, concurrency: int = CONCURRENCY
) -> list[Figure]:
    def names() -> Iterator[str]:
        return islice((name for _ in range(calls) for name in run_ids), calls)

    def raw() -> Iterator[Call]:
        return (partial(cluster.read_run, name) for name in names())

    def ours() -> Iterator[Call]:
        return (partial(caller.get_run, name) for name in names())

    rounds_ = await take_turns(raw, ours, rounds=rounds, concurrency=concurrency)
    return _figures("GET /v1/runs/{run_id}", "raw GET of the same object", rounds_, Goal(">=", 0.5))


def _figures(what: str, baseline: str, rounds: Rounds, goal: Goal) -> list[Figure]:
    raw = of_rounds("", rounds.raw, "/s")
    ours = of_rounds(
        f"{what} at concurrency {CONCURRENCY}", rounds.ours, "/s", baseline=f"{baseline}: {raw.value:,.0f}/s"
    )
    ratio = of_rounds(f"{what} over {baseline}", rounds.ratios(), "", goal=goal, baseline=f"{raw.value:,.0f}/s")
    return [ratio, ours]
