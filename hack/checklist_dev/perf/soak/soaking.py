"""One soak: a rig with one API and one operator, the load, a sample every few seconds, then the accounts.

The settings compress years into half an hour: retention is a minute and a half (set in the organization as a fraction
of a day), the API server compacts etcd's history every minute instead of every five, and Kubernetes Events live three
minutes instead of an hour. So all cycles happen many times. Settled runs are archived before: reading them fills the
API's cache of archived parts, which would otherwise grow throughout the soak.
"""

import asyncio
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import ORGANIZATION
from checklist_dev.failures import Failure
from checklist_dev.local.bootstrap import ServerKeys
from checklist_dev.perf.bench.archive.archiving import settled_runs
from checklist_dev.perf.bench.traffic.photos import make_photo
from checklist_dev.perf.judgement.facts import Facts, Finding
from checklist_dev.perf.judgement.settling import settle
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.client import ServiceClient
from checklist_dev.perf.load.executors import Executors, read_views
from checklist_dev.perf.load.ledger import lost_leases
from checklist_dev.perf.load.neighbours import watching
from checklist_dev.perf.load.raw import RawCluster, RunFactory
from checklist_dev.perf.load.received import ReceiverLog
from checklist_dev.perf.load.receivers import Receivers
from checklist_dev.perf.load.rig import Program, Rig
from checklist_dev.perf.soak.accounts import both, check_accounts, read_archive
from checklist_dev.perf.soak.figures import Processors, archive_bytes_a_run, figures_of, share_of_others
from checklist_dev.perf.soak.flatness import judge
from checklist_dev.perf.soak.load import TEMPLATE, Pace, SteadyLoad, ended_before
from checklist_dev.perf.soak.measures import AT_WORK, MEASURES, Watcher
from checklist_dev.perf.soak.report import Outcome

GAPS: Final = [1.0, 2.0, 4.0, 8.0]
SETTINGS: Final = {
    "CHECKLISTS_RETRY_GAPS": ",".join(f"{gap:g}" for gap in GAPS),
    "CHECKLISTS_RETRY_JITTER": "0",
    "CHECKLISTS_RESYNC_SECONDS": "60",
    "CHECKLISTS_REVISION_GRACE_SECONDS": "30",
    "CHECKLISTS_PHOTO_SWEEP_SECONDS": "60",
    "CHECKLISTS_PHOTO_ORPHAN_SECONDS": "120",
}
APISERVER_OPTIONS: Final = ("--etcd-compaction-interval=1m", "--event-ttl=3m")
HISTORY: Final = 7000
_DAY_S: Final = 86_400.0
_SAMPLE_EVERY_S: Final = 5.0
_REPORT_EVERY_S: Final = 10.0
_SETTLE_S: Final = 180.0
_HISTORY_S: Final = 300.0
_HISTORY_AT_ONCE: Final = 500
_WORDS: Final = "with all that a person has to say about it; " * 8
"""Makes the history larger than the API's cache of archived parts (32 MiB), which would else fill during the load."""
_PHOTOS: Final = 6
_PHOTO_BYTES: Final = 300_000
_PHOTO_SIZE: Final = (1600, 1200)
"""Two megapixels: images are decoded with low priority, and a soak must not wait for a busy machine."""


@dataclass(frozen=True, slots=True)
class Size:
    """Duration and amount of the load, and the number of runs archived before it."""

    load_s: float = 1800.0
    pace: Pace = field(default_factory=Pace)
    history: int = HISTORY
    retention_s: float = 90.0
    sweep_s: float = 10.0
    """The interval in which the operator looks for runs past their retention."""


class Soak:
    """Raises Failure if it cannot begin."""

    def __init__(self, folder: Path, size: Size, transcript: Transcript, *, seed: int) -> None:
        self._folder = folder
        self._size = size
        self._transcript = transcript
        self._seed = seed
        self._over = asyncio.Event()

    async def run(self) -> Outcome:
        rig = Rig(
            self._folder,
            fsync=True,
            settings={**SETTINGS, "CHECKLISTS_SWEEP_SECONDS": f"{self._size.sweep_s:g}"},
            apiserver_options=APISERVER_OPTIONS,
            report=self._transcript.say,
        )
        try:
            await asyncio.to_thread(rig.start)
            return await self._play(rig)
        finally:
            await asyncio.to_thread(rig.stop)

    async def _play(self, rig: Rig) -> Outcome:
        rng, size = random.Random(self._seed), self._size
        account = await asyncio.to_thread(rig.new_account)
        receivers = Receivers(rig, seed=self._seed)
        api, operator = rig.add_api(), rig.add_operator()
        await asyncio.to_thread(rig.start_all)
        photos = [make_photo(number, at_least=_PHOTO_BYTES, size=_PHOTO_SIZE) for number in range(_PHOTOS)]
        connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
        async with (
            ServiceClient([api.url], account.api_key, seed=self._seed, honors_retry_after=True) as client,
            KubeClient(connection, answer_within_s=30.0) as kube,
            RawCluster(connection) as cluster,
        ):
            days = {"finishedRunsDays": size.retention_s / _DAY_S, "deliveriesDays": size.retention_s / 2 / _DAY_S}
            keep = {"retention": {**days, "auditDays": size.retention_s / _DAY_S}}
            await kube.patch(ORGANIZATION, account.organization_id, {"spec": keep})
            template_id = await client.create_template(TEMPLATE)
            watcher = Watcher.of(rig, api, operator)
            history = await self._archive_history(client, cluster, operator, template_id, rig.keys)
            watcher.counters["history"] = len(history)
            executors = Executors(client, template_id, receivers.url_for, rng=rng, photos=photos)
            load = SteadyLoad(client, executors, template_id, size.pace, rng)
            used = Processors.of(rig)
            self._transcript.title(f"{size.pace.runs_per_s:g} runs per second for {size.load_s / 60:g} minutes")
            async with watching() as share:
                load_s = await self._soak(load, executors, watcher)
            figures = figures_of(rig, executors, watcher, used, load_s=load_s)
            figures |= {"reads": load.reads, "runs_that_began_late": load.late, **share_of_others(share)}
            verdicts = [
                judge(measure.name, measure.unit, watcher.samples[measure.name], measure.bound, load_s=load_s)
                for measure in MEASURES
                if measure.bound is not None
            ]
            about = {
                "seed": self._seed,
                "load_seconds": round(load_s, 1),
                "runs_a_second": size.pace.runs_per_s,
                "retention_seconds": size.retention_s,
                "logs": rig.logs(),
            }
            state, settled = await settle(kube, account.organization_id, self._transcript, within_s=_SETTLE_S)
            self._transcript.say("reading every run, and the archive")
            views = await read_views(client, list(executors.records))
            # Again, since runs moved into the archive meanwhile.
            state = (await settle(kube, account.organization_id, self._transcript, within_s=_SETTLE_S))[0]
            archived = await read_archive((rig.folder / "photos").absolute().as_uri())
            await asyncio.to_thread(rig.stop_receivers)
            transmissions = list(ReceiverLog(rig.receiver_log()).new())
            lost = lost_leases(operator.child.log)
            facts = Facts(executors.records, both(state, archived, history), transmissions, lost, GAPS, views)
            findings = [
                settled,
                *check_accounts(facts, state, archived, history, load.problems),
                *self._conduct(client, executors, load, watcher, [api, operator]),
            ]
            phases = [delivery.phase for _, _, delivery in facts.events()]
            figures["events"] = len(phases)
            figures["events_delivered"] = sum(phase is DeliveryPhase.DELIVERED for phase in phases)
            figures["events_failed_after_five_attempts"] = sum(phase is DeliveryPhase.FAILED for phase in phases)
            figures["transmissions"] = len(transmissions)
            figures["leases_lost"] = len(lost)
            of_people = [record for record in archived.records if record.run_id not in history]
            figures["archive_bytes_a_run"] = await asyncio.to_thread(archive_bytes_a_run, of_people)
            return Outcome(about, verdicts, findings, figures, watcher.samples)

    async def _archive_history(
        self, client: ServiceClient, cluster: RawCluster, operator: Program, template_id: str, keys: ServerKeys
    ) -> frozenset[str]:
        """Create old runs and wait until the operator has archived all; returns their names. Reads some once."""
        reply = await client.dispatch({"template_id": template_id, "executor_ref": Facts.abandoned})
        example = str(reply.body["run_id"])
        factory = RunFactory(await cluster.get_run(example), keys, webhook=False)
        await client.insist("POST", f"/v1/runs/{example}/cancel", {})
        names: list[str] = []
        while len(names) < self._size.history:
            count = min(_HISTORY_AT_ONCE, self._size.history - len(names))
            names += await settled_runs(cluster, factory, count, words=_WORDS)
            self._transcript.say(f"archiving a history of {len(names)} runs")
        deadline = time.monotonic() + _HISTORY_S
        while (left := len(await cluster.list_runs(field_selector="status.settled=true"))) > 0:
            if time.monotonic() > deadline:
                raise Failure(f"{left} runs of the history were not archived within {_HISTORY_S:.0f} s")
            await asyncio.sleep(1.0)
        for name in names[:: max(1, len(names) // 60)]:
            reply = await client.insist("GET", f"/v1/runs/{name}")
            if not reply.ok:
                raise Failure(f"run {name} of the history cannot be read: {reply.status} {reply.body}")
        return frozenset(names)

    async def _soak(self, load: SteadyLoad, executors: Executors, watcher: Watcher) -> float:
        """Run the load; returns its seconds."""
        began = time.monotonic()
        working = asyncio.create_task(load.run(self._over))
        reported = 0.0
        try:
            while not self._over.is_set() and not working.done():
                at = time.monotonic() - began
                watcher.samples[AT_WORK].append((at, float(load.under_way)))
                await asyncio.to_thread(watcher.sample, at)
                if at - reported >= _REPORT_EVERY_S:
                    reported = at
                    self._transcript.say(_progress(executors, load, watcher))
                if at >= self._size.load_s:
                    self._over.set()
                left = _SAMPLE_EVERY_S - (time.monotonic() - began - at)
                await ended_before(self._over, min(left, max(0.0, self._size.load_s - at)))
            lasted = time.monotonic() - began
            while not (await asyncio.wait([working], timeout=_REPORT_EVERY_S))[0]:
                self._transcript.say(f"the load has ended; {load.under_way} people have not finished")
            working.result()
            return lasted
        finally:
            self._over.set()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def _conduct(
        self,
        client: ServiceClient,
        executors: Executors,
        load: SteadyLoad,
        watcher: Watcher,
        programs: list[Program],
    ) -> list[Finding]:
        """Findings about the service's conduct and the size of the load."""
        wanted = int(self._size.load_s * self._size.pace.runs_per_s * 0.9)
        made = len(executors.records)
        empty = [measure.name for measure in MEASURES if not watcher.samples[measure.name]]
        bugs = [
            f"{name}: {watcher.counters[name]:g}"
            for name in (
                *("checklists_unexpected_errors_total", "checklists_own_faults_total"),
                *("checklists_archive_failures_total", "checklists_archive_read_failures_total"),
            )
            if watcher.counters.get(name)
        ]
        ended = [program.name for program in programs if not program.child.running]
        photos = sum(act.op.kind == "photo" and act.done for record in executors.records for act in record.acts)
        return [
            Finding("no request is answered with 500", made + load.reads, client.faults),
            Finding("every executor is answered within two minutes", made, executors.failures),
            Finding("no process ends by itself", len(programs), ended),
            Finding("no unexpected error, own fault or failure of the archive is counted", 4, bugs),
            Finding("every measure was taken", len(MEASURES), empty),
            Finding("the load was as large as planned", 2, self._missed(made, wanted, photos)),
        ]

    def _missed(self, made: int, wanted: int, photos: int) -> list[str]:
        missed = [] if made >= wanted else [f"{made} runs, expected at least {wanted}"]
        return missed if photos else [*missed, "no photo was uploaded"]


def _progress(executors: Executors, load: SteadyLoad, watcher: Watcher) -> str:
    last = watcher.last
    return (
        f"{len(executors.records)} runs, {executors.acknowledged} changes, {load.under_way} under way, "
        f"{watcher.counters.get('checklists_runs_archived_total', 0):.0f} archived, "
        f"{last('runs in the cluster'):.0f} in the cluster; memory API {last('API: memory'):.1f}, "
        f"operator {last('operator: memory'):.1f} MiB; "
        f"etcd {last('etcd: in use'):.1f} of {last('etcd: database'):.1f} MiB; "
        f"{last('watches'):.0f} watches; oldest {last('oldest first attempt'):.1f} s; "
        f"descriptors {last('API: descriptors'):.0f} and {last('operator: descriptors'):.0f}"
    )
