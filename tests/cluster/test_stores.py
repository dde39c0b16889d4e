"""The shared stores on a real API server: conditional writes, the group-committed count, a copy kept by watch."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from tests.waiting import eventually

from checklist_crds.errors import RunClosed
from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.errors import (
    KubeAlreadyExists,
    KubeConflict,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
)
from checklist_crds.kube.informer import Informer
from checklist_crds.kube.kinds import ORGANIZATION, RUN, TEMPLATE, TEMPLATE_REVISION
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.run_store import RunStore
from checklist_crds.quota import Quota, Verdict
from checklist_crds.run_lifecycle import AnswerStep, Submit
from checklist_crds.snapshot import snapshot
from checklist_crds.times import utc_now
from checklist_dev.controlplane import ControlPlane

API_VERSION = "checklists.dev/v1"


@pytest_asyncio.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))) as made:
        yield made


@pytest_asyncio.fixture
async def organization(client: KubeClient) -> str:
    name = f"org-{uuid.uuid4()}"
    body = {
        "apiVersion": API_VERSION,
        "kind": "Organization",
        "metadata": {"name": name},
        "spec": {"displayName": "Acme", "plan": {"name": "small", "runsPerMonth": 50}},
    }
    await client.create(ORGANIZATION, body)
    return name


def template(namespace: str, steps: int = 1) -> JsonObject:
    return {
        "apiVersion": API_VERSION,
        "kind": "Template",
        "metadata": {"name": f"t-{uuid.uuid4()}", "namespace": namespace},
        "spec": {
            "organizationRef": {"name": "acme"},
            "name": "Opening",
            "sections": [
                {
                    "id": "g-1",
                    "title": "Kitchen",
                    "steps": [{"id": f"s-{n}", "type": "number", "label": "How many?"} for n in range(steps)],
                }
            ],
        },
    }


async def dispatched(client: KubeClient, namespace: str, steps: int = 1) -> tuple[RunStore, str]:
    """A store, and the name of a fresh run in the namespace."""
    taken = snapshot(await client.create(TEMPLATE, template(namespace, steps), namespace))
    revisions = RevisionStore(client)
    await revisions.ensure(taken.revision, taken.definition)
    name = f"r-{uuid.uuid4()}"
    spec = {"templateId": taken.resolved.template_id, "resolved": taken.resolved.to_kube()}
    spec["webhook"] = {"url": "https://example.com/", "events": ["*"], "sealedSecret": "k1:x"}
    body = {"apiVersion": API_VERSION, "kind": "Run", "metadata": {"name": name}, "spec": spec}
    await client.create(RUN, body, namespace)
    return RunStore(client, revisions, utc_now), name


async def test_errors_of_the_cluster_have_their_own_names(client: KubeClient, namespace: str) -> None:
    body = await client.create(TEMPLATE, template(namespace), namespace)
    name = body["metadata"]["name"]
    with pytest.raises(KubeAlreadyExists):
        await client.create(TEMPLATE, template(namespace) | {"metadata": {"name": name}}, namespace)
    with pytest.raises(KubeNotFound):
        await client.get(TEMPLATE, "missing", namespace)
    with pytest.raises(KubeInvalid, match=r"spec\.name"):
        await client.patch(TEMPLATE, name, {"spec": {"name": ""}}, namespace)
    await client.patch(TEMPLATE, name, {"spec": {"name": "Second"}}, namespace)
    with pytest.raises(KubeConflict):
        stale = body["metadata"]["resourceVersion"]
        await client.patch(TEMPLATE, name, {"spec": {"name": "Third"}}, namespace, resource_version=stale)
    with pytest.raises(KubeConflict):
        await client.replace(TEMPLATE, body)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    connection = KubeConnection("http://127.0.0.1:9", None, dict)
    async with KubeClient(connection) as client:
        with pytest.raises(KubeUnavailable):
            await client.get(ORGANIZATION, "any")


async def test_fifty_answers_at_once_are_all_kept_with_one_event_each(client: KubeClient, namespace: str) -> None:
    store, name = await dispatched(client, namespace, steps=50)
    commands = [AnswerStep(step_id=f"s-{n}", value=n, op_id=str(n)) for n in range(50)]
    limit = asyncio.Semaphore(8)

    async def give(command: AnswerStep) -> None:
        async with limit:
            await store.change(namespace, name, command)

    await asyncio.gather(*(give(command) for command in commands))
    run = await store.get(namespace, name)
    assert {step_id: answer.value for step_id, answer in run.status.answers.items()} == {f"s-{n}": n for n in range(50)}
    assert [entry.seq for entry in run.status.outbox] == list(range(1, 51))
    assert len({entry.event_id for entry in run.status.outbox}) == 50
    assert run.progress.answered == 50


async def test_the_first_submit_wins(client: KubeClient, namespace: str) -> None:
    store, name = await dispatched(client, namespace)
    results = await asyncio.gather(
        *(store.change(namespace, name, Submit(op_id=str(n))) for n in range(5)), return_exceptions=True
    )
    assert sum(1 for result in results if isinstance(result, RunClosed)) == 4
    run = await store.get(namespace, name)
    assert [entry.event for entry in run.status.outbox] == ["run.completed"]


async def test_a_revision_is_made_once_and_read_back_as_it_was(client: KubeClient, namespace: str) -> None:
    taken = snapshot(await client.create(TEMPLATE, template(namespace), namespace))
    await asyncio.gather(*(RevisionStore(client).ensure(taken.revision, taken.definition) for _ in range(3)))
    name = taken.revision["metadata"]["name"]
    assert await RevisionStore(client).definition(namespace, name) == taken.definition


async def used(client: KubeClient, organization: str) -> Quota:
    return Quota.parse((await client.get(ORGANIZATION, organization))["status"]["quota"])


async def test_several_processes_reserve_exactly_up_to_the_limit(client: KubeClient, organization: str) -> None:
    ledgers = [QuotaLedger(client, utc_now) for _ in range(4)]
    reservations = await asyncio.gather(
        *(ledgers[n % 4].reserve(organization, f"r-{uuid.uuid4()}") for n in range(200))
    )
    assert sum(1 for one in reservations if one.verdict is Verdict.RESERVED) == 50
    assert {one.limit for one in reservations} == {50}
    assert (await used(client, organization)).used == 50


async def test_confirmed_and_released_runs_leave_the_memory_of_the_count(client: KubeClient, organization: str) -> None:
    ledger = QuotaLedger(client, utc_now)
    made, unmade = f"r-{uuid.uuid4()}", f"r-{uuid.uuid4()}"
    await asyncio.gather(ledger.reserve(organization, made), ledger.reserve(organization, unmade))
    ledger.confirm(organization, made)
    ledger.release(organization, unmade)
    await ledger.close()
    quota = await used(client, organization)
    assert (quota.used, quota.pending) == (1, {})


async def test_the_same_id_asked_for_twice_is_counted_once(client: KubeClient, organization: str) -> None:
    ledger, other = QuotaLedger(client, utc_now), QuotaLedger(client, utc_now)
    run_id = f"r-{uuid.uuid4()}"
    verdicts = await asyncio.gather(
        *(one.reserve(organization, run_id) for one in (ledger, ledger, other)),
    )
    assert sorted(one.verdict for one in verdicts) == [
        Verdict.ALREADY_PENDING,
        Verdict.ALREADY_PENDING,
        Verdict.RESERVED,
    ]
    assert (await used(client, organization)).used == 1


async def test_a_raised_plan_takes_effect_at_once(client: KubeClient, organization: str) -> None:
    ledger = QuotaLedger(client, utc_now)
    await asyncio.gather(*(ledger.reserve(organization, f"r-{n}") for n in range(50)))
    assert (await ledger.reserve(organization, "r-51")).verdict is Verdict.OVER_QUOTA
    await client.patch(ORGANIZATION, organization, {"spec": {"plan": {"runsPerMonth": 51}}})
    assert (await ledger.reserve(organization, "r-51")).verdict is Verdict.RESERVED


async def with_a_plan_of(client: KubeClient, organization: str, runs: int | None) -> str:
    await client.patch(ORGANIZATION, organization, {"spec": {"plan": {"runsPerMonth": runs}}})
    return organization


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


class CountingClient(KubeClient):
    """Counts its conditional writes."""

    patches = 0

    async def patch_status(self, *arguments: Any, **named: Any) -> JsonObject:
        self.patches += 1
        return await super().patch_status(*arguments, **named)


async def test_a_crowd_is_counted_ahead_and_what_is_left_is_given_back(
    control_plane: ControlPlane, client: KubeClient, organization: str
) -> None:
    await with_a_plan_of(client, organization, 100_000)
    async with CountingClient(await KubeConnection.load(str(control_plane.kubeconfig))) as counting:
        now = utc_now()  # and it stays: nobody counts on two days here
        ledger = QuotaLedger(counting, lambda: now)
        assert len(await take_many(ledger, organization, 300)) == 300
        assert counting.patches < 40
        counted = await used(client, organization)
        assert 300 < counted.used <= 300 + 64
        await ledger.settle(organization)
        assert await used(client, organization) == Quota(counted.period, 300, {}, {now.day: 300})
        assert len(await take_many(ledger, organization, 50)) == 50
        await ledger.close()
        assert await used(client, organization) == Quota(counted.period, 350, {}, {now.day: 350})


async def test_when_no_more_dispatches_come_the_count_is_right_by_itself(client: KubeClient, organization: str) -> None:
    await with_a_plan_of(client, organization, None)
    ledger = QuotaLedger(client, utc_now)
    await take_many(ledger, organization, 40)
    for _ in range(100):
        quota = await used(client, organization)
        if (quota.used, quota.pending) == (40, {}):
            break
        await asyncio.sleep(0.05)
    else:
        pytest.fail(f"{quota.used} are counted, and {len(quota.pending)} pending")


async def test_lone_dispatches_are_counted_one_by_one(client: KubeClient, organization: str) -> None:
    await with_a_plan_of(client, organization, 100_000)
    ledger = QuotaLedger(client, utc_now)
    for number in range(1, 6):
        run_id, _ = await ledger.take(organization)
        quota = await used(client, organization)
        assert (quota.used, run_id in quota.pending) == (number, True)
        ledger.confirm(organization, run_id)
    await ledger.close()


async def test_the_last_runs_of_a_plan_are_never_counted_ahead(client: KubeClient, organization: str) -> None:
    await with_a_plan_of(client, organization, 200)
    ledgers = [QuotaLedger(client, utc_now) for _ in range(3)]
    taken = await asyncio.gather(*(ledgers[number % 3].take(organization) for number in range(260)))
    assert sum(1 for _, reservation in taken if reservation.verdict is Verdict.RESERVED) == 200
    assert (await used(client, organization)).used == 200


async def test_what_was_counted_too_long_ago_or_in_another_month_is_not_taken(
    client: KubeClient, organization: str
) -> None:
    await with_a_plan_of(client, organization, 100_000)
    now = datetime(2026, 11, 30, 23, 59, 58, tzinfo=UTC)
    ledger = QuotaLedger(client, lambda: now)
    await take_many(ledger, organization, 30)
    now = datetime(2026, 12, 1, 0, 0, 1, tzinfo=UTC)
    run_id, reservation = await ledger.take(organization)
    assert reservation.quota.period == "2026-12"
    ledger.confirm(organization, run_id)
    await ledger.settle(organization)
    assert await used(client, organization) == Quota("2026-12", 1, {}, {1: 1})

    await take_many(ledger, organization, 30)
    now += timedelta(seconds=11)
    ahead = set((await used(client, organization)).pending)
    run_id, _ = await ledger.take(organization)
    assert run_id not in ahead
    ledger.confirm(organization, run_id)
    await ledger.close()
    assert await used(client, organization) == Quota("2026-12", 32, {}, {1: 32})


async def test_a_remembered_run_is_changed_without_a_read_unless_somebody_wrote_since(
    client: KubeClient, namespace: str
) -> None:
    store, name = await dispatched(client, namespace, steps=3)
    remembered = await store.get(namespace, name)
    first = await store.change_remembered(remembered, AnswerStep(step_id="s-0", value=1, op_id="a"))
    assert first is not None
    assert first.run.status.answers["s-0"].value == 1

    assert await store.change_remembered(remembered, AnswerStep(step_id="s-1", value=2, op_id="b")) is None
    assert set((await store.get(namespace, name)).status.answers) == {"s-0"}

    replayed = await store.change_remembered(first.run, AnswerStep(step_id="s-0", value=1, op_id="a"))
    refused = await store.change_remembered(first.run, AnswerStep(step_id="s-9", value=1, op_id="c"))
    assert (replayed, refused) == (None, None)

    await client.delete(RUN, name, namespace)
    with pytest.raises(KubeNotFound):
        await store.change_remembered(first.run, AnswerStep(step_id="s-1", value=2, op_id="b"))


async def test_a_reservation_that_fails_tells_everybody_who_waits() -> None:
    connection = KubeConnection("http://127.0.0.1:9", None, dict)
    async with KubeClient(connection) as client:
        ledger = QuotaLedger(client, lambda: datetime(2026, 1, 1, tzinfo=UTC))
        results = await asyncio.gather(*(ledger.reserve("acme", f"r-{n}") for n in range(3)), return_exceptions=True)
        assert all(isinstance(result, KubeUnavailable) for result in results)
        await ledger.close()


class FailingClient(KubeClient):
    """Answers the next `failures` conditional writes with silence."""

    failures = 0

    async def patch_status(self, *arguments: Any, **named: Any) -> JsonObject:
        if self.failures:
            self.failures -= 1
            raise KubeUnavailable("nobody answers")
        return await super().patch_status(*arguments, **named)


async def test_what_is_known_of_runs_is_written_later_when_the_cluster_does_not_answer(
    control_plane: ControlPlane, client: KubeClient, organization: str
) -> None:
    """Without an operator, which would find it out half a minute later."""
    async with FailingClient(await KubeConnection.load(str(control_plane.kubeconfig))) as failing:
        ledger = QuotaLedger(failing, utc_now)
        made, unmade = [(await ledger.take(organization))[0] for _ in range(2)]
        failing.failures = 2
        ledger.confirm(organization, made)
        ledger.release(organization, unmade)
        async with asyncio.timeout(30):
            while (await used(client, organization)).pending:
                await asyncio.sleep(0.05)
        assert (failing.failures, (await used(client, organization)).used) == (0, 1)
        failing.failures = 1_000
        ledger.confirm(organization, "r-1")
        await ledger.settle(organization)
        async with asyncio.timeout(30):
            await ledger.close()


class Copy:
    """What an informer reported, as a dictionary."""

    def __init__(self) -> None:
        self.objects: dict[str, JsonObject] = {}
        self.history: list[tuple[str, str]] = []

    def __call__(self, action: str, body: JsonObject) -> None:
        name = body["metadata"]["name"]
        self.history.append((action, name))
        if action == "DELETE":
            self.objects.pop(name, None)
        else:
            self.objects[name] = body


async def test_an_informer_follows_creation_change_and_deletion(client: KubeClient, namespace: str) -> None:
    before = await client.create(TEMPLATE, template(namespace), namespace)
    copy = Copy()
    informer = Informer(client, TEMPLATE, copy, namespace=namespace)
    task = asyncio.create_task(informer.run())
    await asyncio.wait_for(informer.synced.wait(), 5)
    assert list(copy.objects) == [before["metadata"]["name"]]

    made = await client.create(TEMPLATE, template(namespace), namespace)
    name = made["metadata"]["name"]
    await eventually(lambda: name in copy.objects)
    await client.patch(TEMPLATE, name, {"spec": {"name": "Changed"}}, namespace)
    await eventually(lambda: copy.objects[name]["spec"]["name"] == "Changed")
    await client.delete(TEMPLATE, name, namespace)
    await eventually(lambda: name not in copy.objects)
    task.cancel()


async def test_an_own_write_is_visible_at_once_and_an_older_state_never_replaces_it(
    client: KubeClient, namespace: str
) -> None:
    copy = Copy()
    informer = Informer(client, TEMPLATE, copy, namespace=namespace)
    old = await client.create(TEMPLATE, template(namespace), namespace)
    name = old["metadata"]["name"]
    new = await client.patch(TEMPLATE, name, {"spec": {"name": "Newer"}}, namespace)
    informer.observe(new)
    informer.observe(old)
    assert copy.objects[name]["spec"]["name"] == "Newer"
    assert copy.history == [("UPSERT", name)]


async def test_an_informer_that_fell_too_far_behind_lists_again_and_reports_what_it_missed(
    client: KubeClient, namespace: str
) -> None:
    kept = await client.create(TEMPLATE, template(namespace), namespace)
    gone = await client.create(TEMPLATE, template(namespace), namespace)
    copy = Copy()
    informer = Informer(client, TEMPLATE, copy, namespace=namespace)
    task = asyncio.create_task(informer.run())
    await asyncio.wait_for(informer.synced.wait(), 5)
    task.cancel()
    await client.delete(TEMPLATE, gone["metadata"]["name"], namespace)
    informer._resume_from = "1"  # long compacted or refused: the server answers 410, or replays from there
    task = asyncio.create_task(informer.run())
    await eventually(lambda: set(copy.objects) == {kept["metadata"]["name"]})
    task.cancel()


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


async def test_a_revision_that_was_collected_is_made_again(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = snapshot(await client.create(TEMPLATE, template(namespace), namespace))
    name = taken.revision["metadata"]["name"]
    store = RevisionStore(client)
    await store.ensure(taken.revision, taken.definition)
    await client.delete(TEMPLATE_REVISION, name, namespace)
    await store.ensure(taken.revision, taken.definition)
    with pytest.raises(KubeNotFound):
        await client.get(TEMPLATE_REVISION, name, namespace)
    monkeypatch.setattr("checklist_crds.kube.revisions._BELIEVED_S", 0.0)
    await store.ensure(taken.revision, taken.definition)
    assert await client.get(TEMPLATE_REVISION, name, namespace)
