"""The shared stores on a real API server: conditional writes, group-committed counts, watched copies, fresh reads."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from tests.cluster.operator_lab import Lab, resource
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeNotFound, KubeUnavailable
from checklist_crds.kube.informer import Informer
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.limits.quota import Quota, Verdict
from checklist_crds.resources.kinds import ORGANIZATION, RUN, TEMPLATE, TEMPLATE_REVISION, version_of
from checklist_crds.runs.commands import AnswerStep
from checklist_crds.runs.snapshot import snapshot
from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.fresh_reads import FreshReads


@pytest_asyncio.fixture
async def organization(client: KubeClient) -> str:
    name = f"org-{uuid.uuid4()}"
    plan = {"name": "small", "runsPerMonth": 50}
    await client.create(ORGANIZATION, resource("Organization", name, {"displayName": "Acme", "plan": plan}))
    return name


def new_run_id() -> str:
    return f"r-{uuid.uuid4()}"


async def test_a_revision_is_created_once_and_recreated(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, client = snapshot(lab.template), lab.client
    store, *others = [RevisionStore(client) for _ in range(3)]
    await asyncio.gather(*(each.ensure(taken.revision, taken.definition) for each in (store, *others)))
    name = taken.revision["metadata"]["name"]
    assert await RevisionStore(client).definition(lab.namespace, name) == taken.definition
    await client.delete(TEMPLATE_REVISION, name, lab.namespace)
    await store.ensure(taken.revision, taken.definition)
    assert await lab.is_gone(TEMPLATE_REVISION, name)
    monkeypatch.setattr("checklist_crds.kube.revisions._CACHED_S", 0.0)
    await store.ensure(taken.revision, taken.definition)
    assert await lab.get(TEMPLATE_REVISION, name)


async def used(client: KubeClient, organization: str) -> Quota:
    return Quota.parse((await client.get(ORGANIZATION, organization))["status"]["quota"])


async def with_a_plan_of(client: KubeClient, organization: str, runs: int | None) -> None:
    await client.patch(ORGANIZATION, organization, {"spec": {"plan": {"runsPerMonth": runs}}})


async def take_many(ledger: QuotaLedger, organization: str, runs: int, at_once: int = 8) -> set[str]:
    """Ids of runs, counted and confirmed, `at_once` under way at a time."""
    taken: set[str] = set()
    numbers = iter(range(runs))

    async def dispatcher() -> None:
        for _ in numbers:
            run_id, reservation = await ledger.take(organization)
            assert reservation.verdict is Verdict.RESERVED
            taken.add(run_id)
            await asyncio.sleep(0.001)
            ledger.confirm(organization, run_id)

    await asyncio.gather(*(dispatcher() for _ in range(at_once)))
    return taken


class Counting(KubeClient):
    """The connections of `shared`: counts its conditional writes, of which the next `failures` are not answered."""

    def __init__(self, shared: KubeClient) -> None:
        self.__dict__.update(shared.__dict__)
        self.patches = self.failures = 0

    async def patch_status(self, *arguments: Any, **named: Any) -> JsonObject:
        self.patches += 1
        if self.failures:
            self.failures -= 1
            raise KubeUnavailable("no answer")
        return await super().patch_status(*arguments, **named)


async def test_bursts_are_counted_ahead_and_unused_counts_returned(client: KubeClient, organization: str) -> None:
    await with_a_plan_of(client, organization, 100_000)
    counting = Counting(client)
    now = utc_now()  # and it stays: no test counts on two days here
    ledger = QuotaLedger(counting, lambda: now)
    for number in range(1, 6):
        run_id, _ = await ledger.take(organization)
        quota = await used(client, organization)
        assert (quota.used, run_id in quota.pending) == (number, True)
        ledger.confirm(organization, run_id)
    assert len(await take_many(ledger, organization, 295)) == 295
    assert counting.patches < 50
    counted = await used(client, organization)
    assert 300 < counted.used <= 300 + 64
    await ledger.flush(organization)
    assert await used(client, organization) == Quota(counted.period, 300, {}, {now.day: 300})
    assert len(await take_many(ledger, organization, 50)) == 50

    async def is_right() -> bool:
        return await used(client, organization) == Quota(counted.period, 350, {}, {now.day: 350})

    await eventually(is_right)  # by itself, when no more dispatches come
    await ledger.close()
    assert await is_right()


async def test_several_processes_count_exactly(client: KubeClient, organization: str) -> None:
    """The last runs of a plan are never counted ahead."""
    await with_a_plan_of(client, organization, 200)
    ledgers = [QuotaLedger(client, utc_now) for _ in range(4)]

    async def verdict(number: int) -> Verdict:
        ledger = ledgers[number % 4]
        if number % 3:
            return (await ledger.take(organization))[1].verdict
        return (await ledger.reserve(organization, new_run_id())).verdict

    verdicts = await asyncio.gather(*(verdict(number) for number in range(260)))
    assert verdicts.count(Verdict.RESERVED) == 200
    assert verdicts.count(Verdict.OVER_QUOTA) == 60
    assert (await used(client, organization)).used == 200
    assert (await ledgers[0].reserve(organization, "r-201")).verdict is Verdict.OVER_QUOTA
    await with_a_plan_of(client, organization, 201)
    assert (await ledgers[0].reserve(organization, "r-201")).verdict is Verdict.RESERVED


async def test_stale_prefetched_counts_are_not_used(client: KubeClient, organization: str) -> None:
    await with_a_plan_of(client, organization, 100_000)
    now = datetime(2026, 11, 30, 23, 59, 58, tzinfo=UTC)
    ledger = QuotaLedger(client, lambda: now)
    await take_many(ledger, organization, 30)
    now = datetime(2026, 12, 1, 0, 0, 1, tzinfo=UTC)
    run_id, reservation = await ledger.take(organization)
    assert reservation.quota.period == "2026-12"
    ledger.confirm(organization, run_id)
    await ledger.flush(organization)
    assert await used(client, organization) == Quota("2026-12", 1, {}, {1: 1})

    await take_many(ledger, organization, 30)
    now += timedelta(seconds=11)
    ahead = set((await used(client, organization)).pending)
    run_id, _ = await ledger.take(organization)
    assert run_id not in ahead
    ledger.confirm(organization, run_id)
    await ledger.close()
    assert await used(client, organization) == Quota("2026-12", 32, {}, {1: 32})


async def test_a_remembered_run_is_changed_without_a_read_unless_it_was_written_since(lab: Lab) -> None:
    store, name = lab.store, await lab.dispatch()
    remembered = await store.get(lab.namespace, name)
    first = await store.change_remembered(remembered, [AnswerStep(step_id="s-0", value=1, op_id="a")])
    assert first is not None
    written = first.change.run
    assert written.status.answers["s-0"].value == 1

    assert await store.change_remembered(remembered, [AnswerStep(step_id="s-1", value=2, op_id="b")]) is None
    assert set((await store.get(lab.namespace, name)).status.answers) == {"s-0"}

    replayed = await store.change_remembered(written, [AnswerStep(step_id="s-0", value=1, op_id="a")])
    refused = await store.change_remembered(written, [AnswerStep(step_id="s-9", value=1, op_id="c")])
    assert (replayed, refused) == (None, None)

    await lab.client.delete(RUN, name, lab.namespace)
    with pytest.raises(KubeNotFound):
        await store.change_remembered(written, [AnswerStep(step_id="s-1", value=2, op_id="b")])


async def test_confirmations_are_retried(client: KubeClient, organization: str) -> None:
    """Without an operator, which would find it out half a minute later."""
    failing = Counting(client)
    ledger = QuotaLedger(failing, utc_now)
    made, unmade = [(await ledger.take(organization))[0] for _ in range(2)]
    failing.failures = 2
    ledger.confirm(organization, made)
    ledger.release(organization, unmade)

    async def is_written() -> bool:
        return not (await used(client, organization)).pending

    await eventually(is_written)
    assert (failing.failures, (await used(client, organization)).used) == (0, 1)
    failing.failures = 1_000
    ledger.confirm(organization, "r-1")
    await ledger.flush(organization)
    async with asyncio.timeout(30):
        await ledger.close()


class Copy:
    """What an informer of the lab's templates reported, as a dictionary."""

    def __init__(self, lab: Lab) -> None:
        self.objects: dict[str, JsonObject] = {}
        self.history: list[tuple[str, str]] = []
        self.informer = Informer(lab.client, TEMPLATE, self, namespace=lab.namespace)

    def __call__(self, action: str, body: JsonObject) -> None:
        name = body["metadata"]["name"]
        self.history.append((action, name))
        if action == "DELETE":
            self.objects.pop(name, None)
        else:
            self.objects[name] = body

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.informer.run())
        await asyncio.wait_for(self.informer.synced.wait(), 5)
        yield
        task.cancel()


async def test_an_informer_follows_creation_change_and_deletion_and_what_it_missed(lab: Lab) -> None:
    kept, name, copy = lab.template["metadata"]["name"], "second", Copy(lab)
    async with copy.following():
        assert list(copy.objects) == [kept]
        await lab.client.create(TEMPLATE, lab.template_body(name), lab.namespace)
        await eventually(lambda: name in copy.objects)
        await lab.client.patch(TEMPLATE, name, {"spec": {"name": "Changed"}}, lab.namespace)
        await eventually(lambda: copy.objects[name]["spec"]["name"] == "Changed")
        await lab.client.delete(TEMPLATE, name, lab.namespace)
        await eventually(lambda: name not in copy.objects)
        await lab.client.create(TEMPLATE, lab.template_body("third"), lab.namespace)
        await eventually(lambda: "third" in copy.objects)
    await lab.client.delete(TEMPLATE, "third", lab.namespace)
    copy.informer._resume_from = "1"  # long compacted or refused: the server answers 410, or replays from there
    async with copy.following():
        await eventually(lambda: set(copy.objects) == {kept})

    # An own write is visible at once, and an older state never replaces it.
    own = Copy(lab)
    own.informer.observe(await lab.client.patch(TEMPLATE, kept, {"spec": {"name": "Newer"}}, lab.namespace))
    own.informer.observe(lab.template)
    assert own.objects[kept]["spec"]["name"] == "Newer"
    assert own.history == [("UPSERT", kept)]


async def test_a_server_that_has_no_time_is_asked_again() -> None:
    calls = 0

    async def busy_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        while await reader.readuntil(b"\r\n\r\n"):
            calls += 1
            status = "429 Too Many Requests" if calls < 3 else "200 OK"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}".encode())

    server = await asyncio.start_server(busy_twice, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, KubeClient(KubeConnection(f"http://127.0.0.1:{port}", None, dict)) as client:
        assert await client.get(ORGANIZATION, "any") == {}
    assert calls == 3


async def test_what_was_written_before_the_term_and_by_ourselves_is_always_seen(lab: Lab) -> None:
    for _ in range(20):
        run = await lab.dispatch()
        written = await lab.client.patch(RUN, run, {"metadata": {"labels": {"seen": "yes"}}}, lab.namespace)
        read = await FreshReads(lab.client).get(RUN, run, lab.namespace)
        assert version_of(read) == version_of(written)
    reads = FreshReads(lab.client)
    for number in range(50):
        labels = {"metadata": {"labels": {"number": str(number)}}}
        reads.note(RUN, await lab.client.patch(RUN, run, labels, lab.namespace))
        assert (await reads.get(RUN, run, lab.namespace))["metadata"]["labels"]["number"] == str(number)
    gone = await lab.dispatch()
    await lab.client.delete(RUN, gone, lab.namespace)
    with pytest.raises(KubeNotFound):
        await FreshReads(lab.client).get(RUN, gone, lab.namespace)
