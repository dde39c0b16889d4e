"""POST and GET of runs through the service, against the same object at the Kubernetes API."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final

import aiohttp

from checklist_dev.bench.raw import CONCURRENCY, RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal, of_rounds
from checklist_dev.bootstrap import ServerKeys
from checklist_dev.failures import Failure
from checklist_dev.load.client import Json

Call = Callable[[], Awaitable[Any]]
_TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class Caller:
    """One aiohttp client at the service, as bare as the one of the baseline."""

    session: aiohttp.ClientSession
    url: str
    api_key: str

    async def post_run(self, body: Json) -> Json:
        answer: Json = json.loads(await self._insist("POST", "/v1/runs", 201, json=body))
        return answer

    async def get_run(self, run_id: str) -> None:
        await self._insist("GET", f"/v1/runs/{run_id}", 200)

    async def _insist(self, method: str, path: str, wanted: int, **options: Any) -> bytes:
        """The body of the answer. A request that the service refuses for its load is sent again, as it asks."""
        for _ in range(_TRIES):
            address = f"{self.url}{path}"
            async with self.session.request(method, address, headers=self._headers, **options) as response:
                body = await response.read()
                if response.status == wanted:
                    return body
                if response.status != 503:
                    break
            await asyncio.sleep(int(response.headers["Retry-After"]))
        raise Failure(f"{method} {path} answered {response.status}: {body[:300]!r}")

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
