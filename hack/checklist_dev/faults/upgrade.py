"""Upgrade and rollback under load: API and operator switch between the previous release and this one, without a loss.

The previous release is checked out from this repository's history into another folder.
"""

import asyncio
import contextlib
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.delivery_records import raw_records
from checklist_crds.resources.kinds import RUN
from checklist_dev.faults.kill_under_load import Size, load
from checklist_dev.faults.takeovers import a_graceful_end_interrupts_nothing_that_is_answered_soon
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.crd_install import install_crds
from checklist_dev.perf.judgement.facts import Finding
from checklist_dev.perf.judgement.settling import judge, repetitions, staged
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.perf.load.executors import Executors
from checklist_dev.perf.load.ledger import Kill
from checklist_dev.perf.load.release_before import RELEASE_BEFORE, code_of, install_older_crds
from checklist_dev.perf.load.rig import Program, Rig
from checklist_dev.repository import ROOT

_STOP_WITHIN_S: Final = 30.0


class Changeover:
    """Replaces the programs of a rig, one after another, during the load."""

    def __init__(self, rig: Rig, apis: list[Program], operator: Program, before: Path, executors: Executors) -> None:
        self.kills: list[Kill] = []
        """Restarts of the operator. After a rollback an event may be repeated, since the previous release cannot read
        this one's records; after an upgrade only if its receiver is slow."""
        self.ended_by_themselves: list[str] = []
        self._rig = rig
        self._apis = apis
        self._operator = operator
        self._before = before
        self._executors = executors
        self._is_done = False

    def is_done(self, _: int) -> bool:
        return self._is_done

    async def run(self, *, until: asyncio.Event) -> None:
        """Upgrade, roll back and upgrade again, with load in between unless it has ended."""
        await self._some_answers(until)
        await asyncio.to_thread(install_crds, self._rig.cluster.run_kubectl)
        await self._upgrade()
        await self._some_answers(until)
        for api in self._apis:
            await self._replace(api, self._before)
        await self._replace_operator(self._before, "operator of the release before")
        await self._some_answers(until)
        await self._upgrade()
        self._is_done = not until.is_set()

    async def _upgrade(self) -> None:
        """The operator first, as documented for the chart."""
        await self._replace_operator(ROOT, f"{self._operator.name}, {signal.SIGTERM.name}")
        for api in self._apis:
            await self._replace(api, ROOT)

    async def _replace_operator(self, code: Path, restart: str) -> None:
        began = time.time()
        await self._replace(self._operator, code)
        self.kills.append(Kill(restart, began, time.time()))

    async def _replace(self, program: Program, code: Path) -> None:
        if not program.child.running:
            self.ended_by_themselves.append(f"{program.name} {program.child.epitaph()}")
        await asyncio.to_thread(program.child.stop, grace_s=_STOP_WITHIN_S)
        program.run_from(code)
        await asyncio.to_thread(program.start)
        await asyncio.to_thread(program.wait_ready)

    async def _some_answers(self, until: asyncio.Event, count: int = 60) -> None:
        """Wait until `count` more changes were acknowledged, or the load has ended."""
        enough = self._executors.acknowledged + count
        while self._executors.acknowledged < enough and not until.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(until.wait(), 0.05)


async def upgrade_and_roll_back(
    rig: Rig, size: Size, gaps: list[float], transcript: Transcript, *, seed: int
) -> Result:
    """Raises Failure if the service cannot be started or the previous release is not available."""
    before = await asyncio.to_thread(code_of, RELEASE_BEFORE, rig.folder / "before")
    await asyncio.to_thread(install_older_crds, rig, before)
    apis = [rig.add_api(f"api-{number}") for number in range(size.apis)]
    operator = rig.add_operator()
    for program in (*apis, operator):
        program.run_from(before)
    title = f"upgrade, rollback and upgrade of {size.apis} APIs and the operator"
    async with staged(rig, transcript, title, seed=seed) as stage:
        client, executors = stage.client, stage.executors
        changeover = Changeover(rig, apis, operator, before, executors)
        await load(stage, changeover, replace(size, kills=0))
        findings, facts = await judge(stage, changeover.kills, gaps, settle_within_s=size.settle_s)
        forms = await _forms(stage.kube)
    missed = [] if changeover.is_done(0) else ["the load ended before the last upgrade"]
    findings += [
        a_graceful_end_interrupts_nothing_that_is_answered_soon(facts),
        Finding("upgrade, rollback and upgrade happened under load", 3, missed),
        Finding("no request is answered with 500", client.retries + executors.acknowledged, client.faults),
        Finding("every executor is answered within two minutes", len(executors.records), executors.failures),
        Finding("no process ends by itself", 3 * (size.apis + 1), changeover.ended_by_themselves),
    ]
    figures: dict[str, Any] = {
        "runs": len(facts.state.runs),
        "events": sum(1 for _ in facts.events()),
        "transmissions": len(facts.transmissions),
        "repeated_transmissions": repetitions(facts),
        "runs_with_records_as_text": forms[0],
        "runs_with_records_as_objects": forms[1],
    }
    return Result("upgrade and rollback", findings, figures, rig.logs())


async def _forms(kube: KubeClient) -> tuple[int, int]:
    """The number of runs with records as text, and as objects."""
    runs, _ = await kube.list_all(RUN, NAMESPACE)
    forms = [{type(record) for record in raw_records(run.get("status") or {}).values()} for run in runs]
    return sum(str in form for form in forms), sum(dict in form for form in forms)
