"""`make bench`: a table, and `.run/bench.json`. A goal that is missed is shown; only --strict fails for it."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.bench.answers import SECRET, answers_to, open_runs, runs_needed
from checklist_dev.bench.deliveries import measure_backlog, measure_while_answering
from checklist_dev.bench.latency import RawPipeline, measure_latency
from checklist_dev.bench.neighbours import watching
from checklist_dev.bench.photos import measure_uploads
from checklist_dev.bench.raw import RawCluster, RunFactory
from checklist_dev.bench.report import Figure, table, write_report
from checklist_dev.bench.requests import Caller, measure_gets, measure_posts
from checklist_dev.bench.scale import measure_start
from checklist_dev.bench.web import measure_web
from checklist_dev.failures import end_on_signals, run_tool, say
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.received import ReceiverLog
from checklist_dev.load.rig import Rig
from checklist_dev.repository import STATE
from checklist_dev.tether import end_with_parent

PARTS = ("requests", "latency", "deliveries", "photos", "web", "scale")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything."""

    rounds: int = 9
    posts: int = 500
    gets: int = 1500
    latency_rounds: int = 4
    latency_round_s: float = 5.0
    events_per_s: float = 100.0
    deliveries: int = 3000
    live_runs: int = 20_000
    photos: int = 100
    quiet_s: float = 8.0
    loads: int = 5
    taps: int = 40


QUICK = Sizes(
    rounds=3,
    posts=60,
    gets=120,
    latency_rounds=2,
    latency_round_s=1.5,
    events_per_s=20,
    deliveries=180,
    live_runs=300,
    photos=8,
    quiet_s=1.0,
    loads=1,
    taps=5,
)


class Bench:
    """Each part on a control plane of its own, so that none has to carry what another has left behind."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self._folder = folder
        self._sizes = sizes

    async def run(self, parts: list[str]) -> list[Figure]:
        measures: dict[str, Callable[[Rig], Awaitable[list[Figure]]]] = {
            "requests": lambda rig: self._serve(rig, self._requests),
            "latency": lambda rig: self._serve(rig, self._latency),
            "deliveries": lambda rig: self._serve(rig, self._deliveries),
            "photos": lambda rig: self._serve(rig, self._photos),
            "web": lambda rig: self._serve(rig, self._web),
            "scale": lambda rig: measure_start(rig, live_runs=self._sizes.live_runs),
        }
        figures: list[Figure] = []
        for part in parts:
            say(f"{part} ...")
            rig = Rig(self._folder / part, fsync=True)
            try:
                await asyncio.to_thread(rig.start)
                async with watching() as share:
                    measured = await measures[part](rig)
                figures += [*measured, *share.as_figure(part)]
            finally:
                await asyncio.to_thread(rig.stop)
        return figures

    async def _serve(self, rig: Rig, measure: "Callable[[_Stage, str], Awaitable[list[Figure]]]") -> list[Figure]:
        account = await asyncio.to_thread(rig.new_account)
        port = rig.start_receiver()
        api = rig.add_api()
        rig.add_operator()
        await asyncio.to_thread(rig.start_all)
        connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
        async with (
            RawCluster(connection) as cluster,
            KubeClient(connection) as kube,
            ServiceClient([api.url], account.api_key) as client,
        ):
            stage = _Stage(rig, cluster, kube, client, api.url, account.api_key, f"http://127.0.0.1:{port}/ok/hook")
            return await measure(stage, await client.create_template(TEMPLATE))

    async def _requests(self, stage: "_Stage", template_id: str) -> list[Figure]:
        sizes = self._sizes
        wish = {
            "template_id": template_id,
            "executor_ref": "bench",
            "expires_in_hours": 24,
            "webhook": {"url": stage.hook, "secret": SECRET, "events": ["*"]},
        }
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False) as session:
            caller = Caller(session, stage.url, stage.api_key)
            posts, made = await measure_posts(caller, stage.cluster, wish, rounds=sizes.rounds, calls=sizes.posts)
            usage = await stage.client.insist("GET", "/v1/usage")
            gets = await measure_gets(caller, stage.cluster, made, rounds=sizes.rounds, calls=sizes.gets)
        difference = abs(int(usage.body["used"]) - len(set(made)))
        return [
            *posts,
            Figure("quota used, less the runs acknowledged", difference, "", None, f"{len(made)} runs"),
            *gets,
        ]

    async def _latency(self, stage: "_Stage", template_id: str) -> list[Figure]:
        sizes = self._sizes
        count = int(sizes.latency_rounds * sizes.latency_round_s * sizes.events_per_s)
        people = await open_runs(stage.client, template_id, stage.hook, runs_needed(count))
        example = await stage.cluster.get_run(people[0].run_id)
        pipeline = RawPipeline(stage.cluster, stage.kube, stage.hook)
        try:
            await pipeline.prepare(RunFactory(example, raw=True, webhook=False), len(people))
            log = stage.log
            figures, _ = await measure_latency(
                pipeline,
                answers_to(people),
                log,
                rounds=sizes.latency_rounds,
                round_s=sizes.latency_round_s,
                per_second=sizes.events_per_s,
            )
        finally:
            await pipeline.close()
        return figures

    async def _deliveries(self, stage: "_Stage", template_id: str) -> list[Figure]:
        count = runs_needed(self._sizes.deliveries)
        people = await open_runs(stage.client, template_id, stage.hook, count)
        figures = await measure_while_answering(people, stage.cluster, stage.log)
        others = await open_runs(stage.client, template_id, stage.hook, count)
        operator = stage.rig.programs["operator"]
        return figures + await measure_backlog(others, stage.cluster, operator, stage.log, stage.hook)

    async def _photos(self, stage: "_Stage", template_id: str) -> list[Figure]:
        wish = {"template_id": template_id, "webhook": {"url": stage.hook, "secret": SECRET, "events": ["*"]}}
        run_id = (await stage.client.dispatch(wish)).body["run_id"]
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False) as session:
            caller = Caller(session, stage.url, stage.api_key)
            return await measure_uploads(
                stage.client,
                stage.rig.programs["api"],
                lambda: caller.get_run(run_id),
                photos=self._sizes.photos,
                quiet_s=self._sizes.quiet_s,
            )

    async def _web(self, stage: "_Stage", template_id: str) -> list[Figure]:
        return await measure_web(stage.client, rounds=self._sizes.loads, taps=self._sizes.taps)


@dataclass(frozen=True)
class _Stage:
    rig: Rig
    cluster: RawCluster
    kube: KubeClient
    client: ServiceClient
    url: str
    api_key: str
    hook: str

    @property
    def log(self) -> ReceiverLog:
        """From now on: what earlier parts received is read and forgotten."""
        log = ReceiverLog(self.rig.receiver_log())
        for _ in log.new():
            pass
        return log


def run_bench(folder: Path, sizes: Sizes, parts: list[str]) -> list[Figure]:
    """Raises Failure when something cannot be measured at all."""
    return asyncio.run(Bench(folder, sizes).run(parts))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works: no figure counts")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given several times")
    parser.add_argument("--live-runs", type=int, help="runs of the part `scale` (default: 20000)")
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a goal is missed")
    parser.add_argument("--folder", type=Path, default=STATE / "bench", help="data and logs (default: .run/bench)")
    parser.add_argument("--report", type=Path, default=STATE / "bench.json", help="default: .run/bench.json")
    arguments = parser.parse_args()
    end_with_parent()
    end_on_signals()
    sizes: Any = QUICK if arguments.quick else Sizes()
    if arguments.live_runs:
        sizes = Sizes(**{name: getattr(sizes, name) for name in Sizes.__slots__} | {"live_runs": arguments.live_runs})
    figures = run_bench(arguments.folder, sizes, arguments.only or list(PARTS))
    write_report(arguments.report, figures)
    print(table(figures))
    missed = [figure.name for figure in figures if figure.holds is False]
    say(f"missed: {json.dumps(missed)}" if missed else "every goal holds")
    say(f"report {arguments.report}, logs {arguments.folder}")
    return 1 if missed and arguments.strict else 0


if __name__ == "__main__":
    run_tool(main)
