"""The service on its own rig, as each part of the benchmark finds it, and clients of its components."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.delivery_records import recorded_events, waiting_events
from checklist_dev.local.bootstrap import Account
from checklist_dev.perf.bench.answers import SECRET
from checklist_dev.perf.load.checklist import TEMPLATE, value_for
from checklist_dev.perf.load.client import Json, Person, ServiceClient, new_op
from checklist_dev.perf.load.pace import until
from checklist_dev.perf.load.raw import RawCluster
from checklist_dev.perf.load.received import ReceiverLog
from checklist_dev.perf.load.release_before import install_older_crds
from checklist_dev.perf.load.rig import Program, Rig


@dataclass(frozen=True, slots=True)
class Stage:
    """`hook`: a receiver that answers every delivery with 204."""

    rig: Rig
    account: Account
    api: Program
    operator: Program
    connection: KubeConnection
    cluster: RawCluster
    kube: KubeClient
    client: ServiceClient
    hook: str

    @property
    def webhook(self) -> Json:
        return {"url": self.hook, "secret": SECRET, "events": ["*"]}

    def log(self, receiver: str = "receiver") -> ReceiverLog:
        """A log of what is received from now on."""
        log = ReceiverLog(self.rig.receiver_log(receiver))
        for _ in log.new():
            pass
        return log

    def archive(self) -> ArchiveStore:
        return ArchiveStore.open((self.rig.folder / "photos").absolute().as_uri())

    def session(self, account: Account | None = None) -> aiohttp.ClientSession:
        """A bare client of the API for this organization or another one, with a long timeout."""
        headers = {"Authorization": f"Bearer {(account or self.account).api_key}"}
        return aiohttp.ClientSession(
            self.api.url,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_read=120),
            trust_env=False,
            headers=headers,
        )

    async def example(self, **wanted: object) -> Json:
        """A run of the checklist of `load.checklist` as stored in the cluster, to be copied."""
        return await self.cluster.get_run((await self._dispatched(wanted)).run_id)

    async def answered(self, steps: Sequence[Json], *, submit: bool, **wanted: object) -> Json:
        """The same, after the steps were answered and every event was delivered and recorded."""
        rng = random.Random(0)
        person = await self._dispatched({"webhook": self.webhook, **wanted})
        for step in steps:
            await person.answer(step["id"], value_for(rng, step["type"]), op_id=new_op())
        if submit:
            await person.submit(op_id=new_op())
        run: Json = {}

        async def is_at_rest() -> bool:
            nonlocal run
            run = await self.cluster.get_run(person.run_id)
            status = run["status"]
            sent = len(recorded_events(status)) == len(steps) + submit and not waiting_events(status)
            return sent and bool(status.get("settled")) == submit

        await until(is_at_rest, f"delivered: all events of run {person.run_id}")
        return run

    async def _dispatched(self, wanted: Json) -> Person:
        template_id = await self.client.create_template(TEMPLATE)
        reply = await self.client.dispatch({"template_id": template_id, **wanted})
        return Person(self.client, reply.body["run_id"], reply.body["link"])

    async def stop(self, *programs: Program) -> None:
        for program in programs or (self.api, self.operator):
            await asyncio.to_thread(program.child.stop)

    async def start(self, *programs: Program) -> None:
        """Start the programs and wait until they are ready."""
        for program in programs or (self.api, self.operator):
            program.start()
            await asyncio.to_thread(program.wait_ready)


@asynccontextmanager
async def staged(rig: Rig, code: Path | None = None) -> AsyncIterator[Stage]:
    """A stage on a started rig. `code`: the source code of another release."""
    api, operator = rig.add_api(), rig.add_operator()
    if code is not None:
        await asyncio.to_thread(install_older_crds, rig, code)
        for program in (api, operator):
            program.run_from(code)
    account = await asyncio.to_thread(rig.new_account)
    port = rig.start_receiver()
    await asyncio.to_thread(rig.start_all)
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with (
        RawCluster(connection) as cluster,
        KubeClient(connection) as kube,
        ServiceClient([api.url], account.api_key) as client,
    ):
        hook = f"http://127.0.0.1:{port}/ok/hook"
        yield Stage(rig, account, api, operator, connection, cluster, kube, client, hook)
