"""`make bench`: a table, and `.run/bench.json`. A goal that is missed is shown; only --strict fails for it."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.bench.answer_cost import Answering, measure_answer_cost
from checklist_dev.bench.answers import SECRET, USUAL_STEPS, answers_to, open_runs, runs_needed, template_of
from checklist_dev.bench.archive_lists import measure_archive_lists
from checklist_dev.bench.archiving import ARCHIVE_SETTINGS, measure_archive
from checklist_dev.bench.composing import measure_composing
from checklist_dev.bench.dashboard import STREAMS_OF_ONE, measure_lists, measure_viewers, signed_in
from checklist_dev.bench.deliveries import measure_backlog, measure_while_answering
from checklist_dev.bench.erasure import measure_erasure
from checklist_dev.bench.exporting import measure_exports
from checklist_dev.bench.idle import measure_idle
from checklist_dev.bench.large_templates import SETTINGS as LARGE_TEMPLATES_SETTINGS
from checklist_dev.bench.large_templates import measure_large_templates
from checklist_dev.bench.latency import RawPipeline, measure_latency
from checklist_dev.bench.neighbours import watching
from checklist_dev.bench.other_routes import OtherRoutes
from checklist_dev.bench.overload import measure_overload
from checklist_dev.bench.photos import measure_uploads
from checklist_dev.bench.raw import RawCluster, RunFactory
from checklist_dev.bench.report import Figure, table, write_report
from checklist_dev.bench.requests import Caller, measure_gets, measure_posts
from checklist_dev.bench.restoring import measure_restore
from checklist_dev.bench.retries import loopback_hosts, measure_retries
from checklist_dev.bench.scale import measure_start
from checklist_dev.bench.sizing import measure_sizes
from checklist_dev.bench.web import measure_web
from checklist_dev.failures import end_on_signals, run_tool, say
from checklist_dev.load.client import Person, ServiceClient
from checklist_dev.load.received import ReceiverLog
from checklist_dev.load.release_before import code_of, install_older_crds
from checklist_dev.load.rig import Rig
from checklist_dev.repository import STATE
from checklist_dev.tether import end_with_parent

PARTS = (
    "requests",
    "answers",
    "overload",
    "latency",
    "deliveries",
    "retries",
    "photos",
    "web",
    "dashboard",
    "templates",
    "scale",
    "composing",
    "memory",
    "archive-lists",
    "archive",
    "restore",
    "exports",
    "erasure",
    "sizing",
)

PEOPLE = 64
WITHOUT_FSYNC = frozenset({"photos", "dashboard", "templates", "archive-lists", "exports", "erasure"})
"""A small machine's disk pauses for hundreds of milliseconds whenever it likes: that would hide what these cost."""


SETTINGS = {"archive": ARCHIVE_SETTINGS, "templates": LARGE_TEMPLATES_SETTINGS}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything."""

    rounds: int = 9
    posts: int = 500
    answers: int = 600
    answer_rounds: int = 3
    overload_s: float = 60.0
    gets: int = 1500
    latency_rounds: int = 4
    latency_round_s: float = 5.0
    events_per_s: float = 100.0
    deliveries: int = 3000
    live_runs: int = 100_000
    waiting_deliveries: int = 50_000
    retries: int = 10_000
    retries_within_s: float = 60.0
    retrying_runs: int = 500
    photos: int = 100
    quiet_s: float = 8.0
    loads: int = 5
    taps: int = 40
    viewers: int = 500
    viewer_rounds: int = 4
    listed_runs: int = 20_000
    large_templates: int = 600
    prompts: int = 10_000
    idle_s: float = 30.0
    archived_runs: int = 100_000
    moved_runs: int = 10_000
    restored_runs: int = 20_000
    exported_runs: int = 100_000
    exported_of_cluster: int = 10_000
    sized_runs: int = 10_000


QUICK = Sizes(
    rounds=3,
    posts=60,
    answers=100,
    answer_rounds=1,
    overload_s=3.0,
    gets=120,
    latency_rounds=2,
    latency_round_s=1.5,
    events_per_s=20,
    deliveries=180,
    live_runs=300,
    waiting_deliveries=150,
    retries=240,
    retries_within_s=4.0,
    retrying_runs=12,
    photos=8,
    quiet_s=1.0,
    loads=1,
    taps=5,
    viewers=20,
    viewer_rounds=1,
    listed_runs=300,
    large_templates=12,
    prompts=300,
    idle_s=2.0,
    archived_runs=1_200,
    moved_runs=100,
    restored_runs=100,
    exported_runs=1_200,
    exported_of_cluster=100,
    sized_runs=200,
)


class Bench:
    """Each part on a control plane of its own, if it needs one, so that none carries what another left behind."""

    def __init__(self, folder: Path, sizes: Sizes, *, against: str | None = None) -> None:
        """`against`: a revision of this repository that the part `answers` is paired with."""
        self._folder = folder
        self._sizes = sizes
        self._against = against

    async def run(self, parts: list[str]) -> list[Figure]:
        measures: dict[str, Callable[[Rig], Awaitable[list[Figure]]]] = {
            "requests": lambda rig: self._serve(rig, self._requests),
            "answers": lambda rig: self._serve(rig, self._answers),
            "overload": lambda rig: self._serve(rig, self._overload),
            "latency": lambda rig: self._serve(rig, self._latency),
            "deliveries": lambda rig: self._serve(rig, self._deliveries),
            "photos": lambda rig: self._serve(rig, self._photos),
            "web": lambda rig: self._serve(rig, self._web),
            "dashboard": lambda rig: self._serve(rig, self._dashboard),
            "templates": lambda rig: self._serve(rig, self._templates),
            "retries": lambda rig: self._serve(rig, self._retries),
            "scale": self._scale,
            "memory": lambda rig: measure_idle(rig, for_s=self._sizes.idle_s),
            "archive-lists": lambda rig: measure_archive_lists(rig, archived_runs=self._sizes.archived_runs),
            "archive": lambda rig: measure_archive(rig, runs=self._sizes.moved_runs),
            "restore": lambda rig: measure_restore(rig, live_runs=self._sizes.restored_runs),
            "exports": lambda rig: measure_exports(
                rig, archived_runs=self._sizes.exported_runs, cluster_runs=self._sizes.exported_of_cluster
            ),
            "erasure": lambda rig: measure_erasure(rig, archived_runs=self._sizes.archived_runs),
            "sizing": lambda rig: measure_sizes(rig, runs=self._sizes.sized_runs),
        }
        alone: dict[str, Callable[[], list[Figure]]] = {
            "composing": lambda: measure_composing(self._sizes.prompts),
        }
        figures: list[Figure] = []
        for part in parts:
            say(f"{part} ...")
            if part in alone:
                async with watching() as share:
                    measured = await asyncio.to_thread(alone[part])
                figures += [*measured, *share.as_figure(part)]
                continue
            settings = SETTINGS.get(part)
            rig = Rig(self._folder / part, fsync=part not in WITHOUT_FSYNC, settings=settings, memory_target=None)
            try:
                await asyncio.to_thread(rig.start)
                async with watching() as share:
                    measured = await measures[part](rig)
                figures += [*measured, *share.as_figure(part)]
            finally:
                await asyncio.to_thread(rig.stop)
        return figures

    async def _serve(self, rig: Rig, measure: "Callable[[_Stage, str], Awaitable[list[Figure]]]") -> list[Figure]:
        async with self._stage(rig) as stage:
            return await measure(stage, await stage.client.create_template(template_of(USUAL_STEPS)))

    @asynccontextmanager
    async def _stage(self, rig: Rig, code: Path | None = None) -> "AsyncIterator[_Stage]":
        """The service on a rig that is started; `code`: from another checkout."""
        if code is not None:
            await asyncio.to_thread(install_older_crds, rig, code)
        account = await asyncio.to_thread(rig.new_account)
        port = rig.start_receiver()
        api = rig.add_api()
        operator = rig.add_operator()
        if code is not None:
            api.run_from(code)
            operator.run_from(code)
        await asyncio.to_thread(rig.start_all)
        connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
        async with (
            RawCluster(connection) as cluster,
            KubeClient(connection) as kube,
            ServiceClient([api.url], account.api_key) as client,
        ):
            hook = f"http://127.0.0.1:{port}/ok/hook"
            yield _Stage(rig, cluster, kube, client, api.url, account.api_key, account.organization_id, hook)

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
            posts, made = await measure_posts(
                caller, stage.cluster, wish, keys=stage.rig.keys, rounds=sizes.rounds, calls=sizes.posts
            )
            usage = await stage.client.insist("GET", "/v1/usage")
            gets = await measure_gets(caller, stage.cluster, made, rounds=sizes.rounds, calls=sizes.gets)
        difference = abs(int(usage.body["used"]) - len(set(made)))
        return [
            *posts,
            Figure("quota used, less the runs acknowledged", difference, "", None, f"{len(made)} runs"),
            *gets,
        ]

    async def _answers(self, stage: "_Stage", template_id: str) -> list[Figure]:
        sizes = self._sizes
        now = _answering(stage)
        if self._against is None:
            return await measure_answer_cost(now, answers=sizes.answers, rounds=sizes.answer_rounds)
        folder = self._folder / "answers-before"
        rig = Rig(folder, fsync=stage.rig.fsync, memory_target=None)
        try:
            await asyncio.to_thread(rig.start)
            code = await asyncio.to_thread(code_of, self._against, folder / "code")
            async with self._stage(rig, code) as before:
                return await measure_answer_cost(
                    now, answers=sizes.answers, rounds=sizes.answer_rounds, before=_answering(before)
                )
        finally:
            await asyncio.to_thread(rig.stop)

    async def _overload(self, stage: "_Stage", template_id: str) -> list[Figure]:
        sizes = self._sizes
        return await measure_overload(
            stage.rig,
            stage.client,
            stage.cluster,
            stage.kube,
            stage.hook,
            answers=sizes.answers,
            for_s=sizes.overload_s,
        )

    async def _latency(self, stage: "_Stage", template_id: str) -> list[Figure]:
        sizes = self._sizes
        count = int(sizes.latency_rounds * sizes.latency_round_s * sizes.events_per_s)
        people = await open_runs(stage.client, template_id, [stage.hook], runs_needed(count))
        example = await stage.cluster.get_run(people[0].run_id)
        pipeline = RawPipeline(stage.cluster, stage.kube, stage.hook)
        try:
            await pipeline.prepare(RunFactory(example, stage.rig.keys, raw=True, webhook=False), len(people))
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
        people = await open_runs(stage.client, template_id, [stage.hook], count)
        figures = await measure_while_answering(people, stage.cluster, stage.log)
        others = await open_runs(stage.client, template_id, [stage.hook], count)
        operator = stage.rig.programs["operator"]
        return figures + await measure_backlog(others, stage.cluster, operator, stage.log, stage.hook)

    async def _retries(self, stage: "_Stage", template_id: str) -> list[Figure]:
        sizes = self._sizes
        hosts = loopback_hosts()
        port = stage.rig.start_receiver("endpoints", hosts=["127.0.0.1", *hosts])
        urls = [f"http://{host}:{port}/ok/hook" for host in hosts]
        return await measure_retries(
            await open_runs(stage.client, template_id, urls, sizes.retrying_runs),
            stage.cluster,
            stage.rig.programs["operator"],
            ReceiverLog(stage.rig.receiver_log("endpoints")),
            count=sizes.retries,
            within_s=sizes.retries_within_s,
        )

    async def _scale(self, rig: Rig) -> list[Figure]:
        sizes = self._sizes
        return await measure_start(rig, live_runs=sizes.live_runs, waiting_deliveries=sizes.waiting_deliveries)

    async def _photos(self, stage: "_Stage", template_id: str) -> list[Figure]:
        return await measure_uploads(
            stage.client,
            stage.rig.programs["api"],
            await stage.others(template_id),
            photos=self._sizes.photos,
            quiet_s=self._sizes.quiet_s,
        )

    async def _dashboard(self, stage: "_Stage", template_id: str) -> list[Figure]:
        sizes = self._sizes
        people = await signed_in(stage.kube, stage.organization, -(-sizes.viewers // STREAMS_OF_ONE))
        viewers = await measure_viewers(
            stage.rig.programs["api"],
            people,
            await stage.others(template_id),
            viewers=sizes.viewers,
            rounds=sizes.viewer_rounds,
            round_s=sizes.quiet_s,
        )
        reply = await stage.client.dispatch({"template_id": template_id})
        example = await stage.cluster.get_run(reply.body["run_id"])
        return viewers + await measure_lists(
            stage.url, people[0], stage.cluster, example, stage.rig.keys, live_runs=sizes.listed_runs
        )

    async def _templates(self, stage: "_Stage", template_id: str) -> list[Figure]:
        return await measure_large_templates(
            stage.rig,
            stage.kube,
            await asyncio.to_thread(stage.rig.new_account),
            await stage.others(template_id),
            templates=self._sizes.large_templates,
            rounds=self._sizes.viewer_rounds,
            round_s=self._sizes.quiet_s,
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
    organization: str
    hook: str

    async def others(self, template_id: str) -> OtherRoutes:
        """What everybody else does, with runs of their own."""
        wish = {"template_id": template_id, "webhook": {"url": self.hook, "secret": SECRET, "events": ["*"]}}
        runs = [(await self.client.dispatch(wish)).body for _ in range(PEOPLE)]
        people = [Person(self.client, run["run_id"], run["link"]) for run in runs]
        return OtherRoutes(self.client, wish, people)

    @property
    def log(self) -> ReceiverLog:
        """From now on: what earlier parts received is read and forgotten."""
        log = ReceiverLog(self.rig.receiver_log())
        for _ in log.new():
            pass
        return log


def _answering(stage: _Stage) -> Answering:
    return Answering(stage.rig, stage.client, stage.cluster, ReceiverLog(stage.rig.receiver_log()), stage.hook)


def run_bench(folder: Path, sizes: Sizes, parts: list[str], *, against: str | None = None) -> list[Figure]:
    """Raises Failure when something cannot be measured at all."""
    return asyncio.run(Bench(folder, sizes, against=against).run(parts))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works: no figure counts")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given several times")
    parser.add_argument("--live-runs", type=int, help="runs of the part `scale` (default: 100000)")
    parser.add_argument("--moved-runs", type=int, help="runs of the part `archive` (default: 10000)")
    parser.add_argument(
        "--against", metavar="REVISION", help="also measure the part `answers` of this revision, in turn with ours"
    )
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a goal is missed")
    parser.add_argument("--folder", type=Path, default=STATE / "bench", help="data and logs (default: .run/bench)")
    parser.add_argument("--report", type=Path, default=STATE / "bench.json", help="default: .run/bench.json")
    arguments = parser.parse_args()
    end_with_parent()
    end_on_signals()
    sizes: Any = QUICK if arguments.quick else Sizes()
    wanted = {"live_runs": arguments.live_runs, "moved_runs": arguments.moved_runs}
    sizes = replace(sizes, **{name: runs for name, runs in wanted.items() if runs})
    figures = run_bench(arguments.folder, sizes, arguments.only or list(PARTS), against=arguments.against)
    write_report(arguments.report, figures)
    print(table(figures))
    missed = [figure.name for figure in figures if figure.holds is False]
    say(f"missed: {json.dumps(missed)}" if missed else "every goal holds")
    say(f"report {arguments.report}, logs {arguments.folder}")
    return 1 if missed and arguments.strict else 0


if __name__ == "__main__":
    run_tool(main)
