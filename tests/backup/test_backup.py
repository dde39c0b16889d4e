"""`checklist-dispatch backup` and `restore`: GET answers with the same bytes, and the service goes on."""

import asyncio
import base64
import json
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.cluster.operator_lab import Receiver
from tests.contract.conftest import definition, http_client
from tests.unit.archive.test_format import a_record, encoded, kept
from tests.waiting import eventually, until_the_clock_passes

from checklist_cli.backup import layout
from checklist_cli.backup.copying import ARCHIVE, copy_archive
from checklist_cli.backup.objects import KINDS
from checklist_cli.backup.placing import InTheWay, Placed
from checklist_cli.backup.reading import objects_of, verify
from checklist_cli.backup.store import BackupStore
from checklist_cli.backup.taking import TRIES, Stores
from checklist_cli.console.command import CommandFailed
from checklist_cli.program import main
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeGone
from checklist_crds.platform.object_store import StoredObject
from checklist_crds.resources.base import RESTORING_ANNOTATION
from checklist_crds.resources.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    LOCAL_ACCOUNT,
    ORGANIZATION,
    RUN,
    SECRET,
    TEMPLATE,
    TEMPLATE_REVISION,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.resources.pause import is_paused
from checklist_crds.runs.seal import SEAL_ANNOTATION, RunSeals
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import format_timestamp, parse_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject

from .lab import (
    Site,
    account_of,
    archive_run,
    assert_restored,
    clear,
    every_kind,
    execute,
    made_by_hand,
    make_namespace,
    operator_of,
    seen,
    simple_source,
    token_of,
)
from .stepping import Killed, die, stepping

HOOK = {"secret": "a-secret-of-the-test", "events": ["*"]}


async def program(*arguments: str) -> int:
    return await asyncio.to_thread(main, list(arguments))


async def test_restore_gives_byte_identical_answers(source: Site, target: Site, url: str, receiver: Receiver) -> None:
    receiver.answer = lambda delivered: 500 if "/fails" in delivered.path else 204
    failing, working = ({**HOOK, "url": f"http://127.0.0.1:{receiver.port}/{path}"} for path in ("fails", "works"))
    again = {"Idempotency-Key": "once"}

    async with source.api() as base_url:
        operator = operator_of(source, CHECKLISTS_RETRY_GAPS="5,5,5,5")
        await operator.start()
        account = await account_of(source, base_url, plan={"name": "small", "runsPerMonth": 9})
        template = str((await account.create_template())["id"])
        for name in ("second", "third"):
            response = await account.http.patch(f"/v1/templates/{template}", json={"name": name})
            assert response.status_code == 200, response.text
        begun = await account.dispatch(template, executor_ref="begun", webhook=failing)
        done = await account.dispatch(template, webhook=working)
        expired = await account.dispatch(template, expires_in_hours=0.0001)
        keyed = await account.http.post("/v1/runs", json={"template_id": template}, headers=again)
        assert keyed.status_code == 201, keyed.text
        for run in (begun, done):
            await execute(base_url, run, "PUT", "/answers/s-clean", json={"value": True})
        await execute(base_url, done, "POST", "/submit", json={})

        async def at_rest() -> bool:
            bodies = {b["metadata"]["name"]: b.get("status") or {} for b in (await source.kube.list_all(RUN))[0]}
            failed, _ = await source.kube.list_all(WEBHOOK_DELIVERY)
            return (
                all(bodies[str(run["run_id"])].get("settled") for run in (done, expired))
                and not bodies[str(begun["run_id"])].get("outbox")
                and len(failed) == 1
                and failed[0]["status"].get("nextAttemptAt") is not None
            )

        await eventually(at_rest)
        await operator.stop()
        # It is over by the clock, and no operator is there to say so: that of the restored cluster will.
        will_expire = await account.dispatch(template, expires_in_hours=0.0001, webhook=working)
        await until_the_clock_passes(parse_timestamp(will_expire["expires_at"]))
        [waiting] = (await source.kube.list_all(WEBHOOK_DELIVERY))[0]
        runs = [begun, done, expired, will_expire, keyed.json()]
        paths = [
            *("/v1/templates", f"/v1/templates/{template}/versions", f"/v1/templates/{template}/versions/2"),
            *("/v1/runs", "/v1/runs?executor_ref=begun", "/v1/usage", "/v1/deliveries?status=pending"),
            *(f"/v1/runs/{run['run_id']}{below}" for run in runs for below in ("", "/preview", "/deliveries")),
        ]
        executor_headers = {"Authorization": f"Executor {token_of(begun)}"}
        executor_path = [f"/v1/executor/runs/{begun['run_id']}"]
        await account.http.aclose()
        taken = await source.backup(url)
        before = await seen(base_url, account.key, paths)
        before_executor = await seen(base_url, account.key, executor_path, executor_headers)
    assert {path: answer for path, answer in before.items() if answer[0] not in (200, 410)} == {}
    assert taken.counts["runs"] == len(runs)

    result = await target.restore(url)
    assert result.placed[Placed.MADE] == sum(taken.counts.values())
    async with target.api() as base_url, http_client(base_url, account.key) as http:
        assert await seen(base_url, account.key, paths) == before
        assert await seen(base_url, account.key, executor_path, executor_headers) == before_executor
        # The same request is still the same run; the quota of the month goes on, and so do the versions.
        response = await http.post("/v1/runs", json={"template_id": template}, headers=again)
        assert (response.status_code, response.json()["run_id"]) == (201, keyed.json()["run_id"])
        statuses = [(await http.post("/v1/runs", json={"template_id": template})).status_code for _ in range(5)]
        assert statuses == [201] * 4 + [402]
        response = await http.patch(f"/v1/templates/{template}", json={"name": "fourth"})
        assert (response.status_code, response.json()["v"]) == (200, 4)
        # An operator works on: the retry is sent at its time, with the same event, and an expiry happens.
        receiver.answer = lambda _: 204
        receiver.received.clear()
        operator = operator_of(target)
        await operator.start()
        try:
            await eventually(lambda: receiver.events(str(begun["run_id"])))
            await eventually(
                lambda: "run.expired" in [one["event"] for one in receiver.events(str(will_expire["run_id"]))]
            )
            [retried] = receiver.events(str(begun["run_id"]))
            assert retried["event_id"] == waiting["spec"]["eventId"]
            assert retried["delivery_attempt"] == waiting["status"]["attempt"] + 1
            assert not receiver.events(str(done["run_id"])), "what was delivered is not sent again"
        finally:
            await operator.stop()


async def test_restore_of_every_kind_is_idempotent(source: Site, target: Site, url: str, tmp_path: Path) -> None:
    """Also those whose status has defaults, and what has ended or was revoked; sessions do not come back, and Secrets
    of webhooks only when that is asked for. Who applies a template goes on managing it."""
    account, runs = await simple_source(source)
    where, data = source.namespace, {"secret": base64.b64encode(b"of the receiver").decode()}
    await every_kind(source, account, str(runs[0]["run_id"]))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook", "namespace": where}, "data": data}
    await source.kube.create(SECRET, secret, where)
    webhook = {"url": "https://a.example/", "events": ["*"], "secretRef": {"name": "hook"}}
    spec = {"templateRef": {"name": "any"}, "webhook": webhook, "createdAt": "2026-11-22T07:18:22.123Z"}
    await source.kube.create(RUN, made_by_hand(RUN, f"r-{uuid.uuid4()}", None, where, **spec), where)
    manifest = made_by_hand(TEMPLATE, "opening-check", account, where, **definition())
    file = source.folder / "template.json"
    apply = ("apply", "--server-side", "--field-manager=gitops", "-f", str(file))
    file.write_text(json.dumps(manifest))
    source.plane.run_kubectl(*apply)

    taken = await source.backup(url)
    assert [(one.name, one.key) for one in taken.secrets_needed] == [("hook", "secret")]
    result = await target.restore(url)
    assert [one.name for one in result.secrets_missing] == ["hook"]
    await assert_restored(source, target, without=f"dashboardsessions/{where}/session")
    body = await target.kube.get(TEMPLATE, "opening-check", where)
    managers = {(one["manager"], one["operation"]) for one in body["metadata"]["managedFields"]}
    assert ("gitops", "Apply") in managers
    theirs = await target.objects()
    assert {key.partition("/")[0] for key in theirs} == {kind.plural for kind in KINDS}
    annotations = theirs[f"organizations//{account.organization}"]["metadata"]["annotations"]
    assert RESTORING_ANNOTATION not in annotations
    second = await target.backup((tmp_path / "second").as_uri())
    assert second.counts == (await BackupStore.open(url).snapshot(None)).counts
    # The service works on, and the same restore is run again.
    await target.kube.patch_status(LOCAL_ACCOUNT, "ada", {"lastSignInAt": "2026-11-23T07:18:22.123Z"}, where)
    async with target.api() as base_url:
        await execute(base_url, runs[1], "PUT", "/answers/s-clean", json={"value": True})
    before = await target.objects()
    result = await target.restore(url)
    assert (result.were_finished, result.finished) == ([account.organization], [])
    assert await target.objects() == before
    # What the owner of the template takes out of it is gone: it is still theirs.
    del manifest["spec"]["settings"]
    file.write_text(json.dumps(manifest))
    target.plane.run_kubectl(*apply)
    body = await target.kube.get(TEMPLATE, "opening-check", where)
    assert not body["spec"].get("settings", {}).get("allow_skip")

    sealed = tmp_path / "sealed"
    assert not (await source.backup(sealed.as_uri(), include_secrets=True)).secrets_needed
    kept = b"".join(file.read_bytes() for file in sealed.rglob("*secrets*"))
    assert kept and data["secret"].encode()[:-2] not in kept
    await clear(target.kube)
    assert not (await target.restore(sealed.as_uri())).secrets_missing
    assert (await target.kube.get(SECRET, "hook", where))["data"] == data


class Course:
    """Is killed at its write number `at`: before it, or after it and before the answer arrives."""

    def __init__(self, at: int, *, afterwards: bool) -> None:
        self._at, self._afterwards = at, afterwards
        self._writes = 0

    async def write(self, call: Callable[[], Awaitable[Any]]) -> Any:
        self._writes += 1
        if self._writes > self._at or (self._writes == self._at and not self._afterwards):
            raise asyncio.CancelledError
        answer = await call()
        if self._writes == self._at:
            raise asyncio.CancelledError
        return answer


class CutClient(KubeClient):
    course: Course

    async def _call(self, method: str, path: str, **arguments: Any) -> JsonObject:
        made = partial(super()._call, method, path, **arguments)
        return await made() if method == "GET" else await self.course.write(made)


class CutStore(BackupStore):
    course: Course

    async def put(self, key: str, content: bytes) -> None:
        await self.course.write(partial(super().put, key, content))


async def cut_restore(target: Site, url: str, at: int, *, afterwards: bool) -> bool:
    """Whether it came to its end."""
    async with CutClient(await KubeConnection.load(str(target.plane.kubeconfig))) as client:
        store = CutStore.open(target.photos)
        client.course = store.course = Course(at, afterwards=afterwards)
        try:
            await target.restore(url, client=client, stores=Stores(store, store), parallel=1)
        except asyncio.CancelledError:
            return False
        return True


@pytest.mark.parametrize("afterwards", [False, True])
async def test_a_restore_resumes_after_any_killed_write(source: Site, target: Site, url: str, afterwards: bool) -> None:
    account, [run] = await simple_source(source, runs=1)
    where, run_id = source.namespace, str(run["run_id"])
    event = {"event": "step.completed", "seq": 1, "ts": "2026-11-22T07:18:22.123Z", "payload": "{}"}
    delivery = {"runRef": {"name": run_id}, "eventId": "evt-1", "url": "https://hooks.example.com/x", **event}
    body = made_by_hand(WEBHOOK_DELIVERY, "delivery", account, where, **delivery)
    await source.kube.create(WEBHOOK_DELIVERY, body, where)
    for number in range(2):
        await source.stores.photos.put(f"photos/{run_id}/{number}", os.urandom(500))
    await source.backup(url)
    wanted = await source.objects()
    at = 1
    while not await cut_restore(target, url, at, afterwards=afterwards):
        # Until all is there, nothing may act: the organization is paused, or not there at all.
        there = await target.objects()
        organizations = [body for key, body in there.items() if key.startswith("organizations/")]
        for metadata in (body["metadata"] for body in organizations):
            marked = is_paused(metadata) and RESTORING_ANNOTATION in metadata["annotations"]  # the API answers 503 then
            assert there.keys() == wanted.keys() or marked
        assert f"runs/{where}/{run_id}" in there or f"webhookdeliveries/{where}/delivery" not in there
        await target.restore(url)
        await assert_restored(source, target)
        await clear(target.kube)
        await target.stores.photos.delete(list(await target.stored()))
        at += 1
    assert at > len(wanted) + 2


async def test_one_organization_alone(source: Site, target: Site, url: str, tmp_path: Path) -> None:
    first, _ = await simple_source(source)
    second, _ = await simple_source(source)
    await source.backup(url)
    await target.restore(url, only=[second.organization])
    organizations = [key for key in await target.objects() if key.startswith("organizations/")]
    assert organizations == [f"organizations//{second.organization}"]
    await target.restore(url)
    assert (await target.objects()).keys() == (await source.objects()).keys()
    partial = await source.backup((tmp_path / "partial").as_uri(), only=[first.organization])
    assert [one.name for one in partial.organizations] == [first.organization] and partial.is_partial
    with pytest.raises(CommandFailed, match="no organization"):
        await source.backup((tmp_path / "nothing").as_uri(), only=["unknown"])


async def test_what_must_not_be_is_noticed_before_anything_is_written_and_then_it_goes_into_another_namespace(  # noqa: PLR0917 - fixtures
    source: Site, target: Site, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], receiver: Receiver
) -> None:
    account, runs = await simple_source(source, webhook={**HOOK, "url": receiver.url})
    taken = await source.backup(url)
    # An organization of that name that comes from elsewhere; a run of that name that is another organization's.
    organization = made_by_hand(ORGANIZATION, account.organization, None, "", displayName="Another owner")
    del organization["metadata"]["namespace"]
    run = made_by_hand(RUN, str(runs[0]["run_id"]), None, target.namespace, templateRef={"name": "mine"})
    for kind, body in ((ORGANIZATION, organization), (RUN, run)):
        name, where = body["metadata"]["name"], body["metadata"].get("namespace")
        await target.kube.create(kind, body, where)
        with pytest.raises(InTheWay, match=name):
            await target.restore(url)
        assert list(await target.objects()) == [f"{kind.plural}/{where or ''}/{name}"]
        await target.kube.delete(kind, name, where)

    operator = operator_of(target)
    await operator.start()
    try:
        with pytest.raises(CommandFailed, match="an operator works on this cluster"):
            await target.restore(url)
    finally:
        await operator.stop()  # it gives its lease back
    target.server_key = bytes(32)
    with pytest.raises(CommandFailed, match="server key is not that of the backup"):
        await target.restore(url)
    target.server_key = source.server_key
    target.sealing_keys = "k1:" + base64.b64encode(bytes(32)).decode()
    with pytest.raises(CommandFailed, match="cannot be opened"):
        await target.restore(url)
    target.sealing_keys = source.sealing_keys

    folder = tmp_path / "backup"
    assert await program("backup", "--verify", url) == 0
    for entry in taken.parts:
        file = folder / entry.key
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert await program("backup", "--verify", url) == 1
        assert entry.key in capsys.readouterr().out
        file.write_bytes(whole)
    part = folder / next(entry.key for entry in taken.parts if entry.plural == "runs")
    whole = part.read_bytes()
    part.unlink()
    with pytest.MonkeyPatch.context() as environment:
        for name, value in target.environment().items():
            environment.setenv(name, value)
        assert await program("restore", "--from", url) == 2
    assert "missing, but listed in the manifest" in capsys.readouterr().err
    assert await target.objects() == {}
    part.write_bytes(whole)

    target.namespace = f"{source.namespace}-new"
    await make_namespace(target.kube, target.namespace)
    await target.restore(url, namespaces={source.namespace: target.namespace})
    assert {key.split("/")[1] for key in await target.objects()} == {"", target.namespace}
    async with target.api() as base_url:
        await execute(base_url, runs[1], "PUT", "/answers/s-clean", json={"value": True})
    operator = operator_of(target)
    await operator.start()
    try:
        await eventually(lambda: receiver.events(str(runs[1]["run_id"])))
    finally:
        await operator.stop()
    (folder / f"snapshots/{taken.name}/manifest.json").unlink()
    assert await program("backup", "--verify", url) == 1


async def test_a_run_that_says_of_itself_that_it_was_admitted_is_not_believed_in_another_cluster_either(
    source: Site, target: Site, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that was over before there were seals is: only the service writes a status. One that bears the seal of a run
    of long ago is not: it was created again."""
    account, [made, *_] = await simple_source(source)
    sealed = str(made["run_id"])
    spec = (await source.kube.get(RUN, sealed, source.namespace))["spec"]
    expired = {"phase": "Expired", "settled": True}
    refused = [{"type": "Admitted", "status": "False", "reason": "No", "lastTransitionTime": spec["createdAt"]}]
    plain, forged, again, closed, earlier = names = sorted(new_id("r") for _ in range(5))
    seals = RunSeals(ServerKeys(source.server_key))
    statuses = {closed: {**expired, "conditions": refused}, earlier: expired}
    for name in names:
        run = made_by_hand(RUN, name, account, source.namespace, **spec)
        run["metadata"]["annotations"] = {SEAL_ANNOTATION: "A" * 43} if name == forged else {}
        if name == again:
            run["spec"] = {**spec, "createdAt": format_timestamp(utc_now() - timedelta(hours=1))}
            run = seals.sealed(run)
        await source.kube.create(RUN, run, source.namespace)
        await source.kube.patch_status(RUN, name, statuses.get(name, {}), source.namespace)
    await source.backup(url)
    with pytest.raises(CommandFailed, match="set CHECKLISTS_SERVER_KEY"):
        await target.restore(url, server_keys=None)

    for variable, value in target.environment().items():
        monkeypatch.setenv(variable, value)
    assert await program("restore", "--from", url) == 0
    assert "not proven: 4 runs were admitted without a valid seal" in (printed := capsys.readouterr().out)
    assert f"{plain}, {forged}, {again}, {closed}" in printed
    for where in (target.namespace, f"{target.namespace}-new"):
        if where != target.namespace:
            await clear(target.kube)
            await make_namespace(target.kube, where)
            result = await target.restore(url, namespaces={source.namespace: where})
            assert sorted(result.unproved) == [plain, forged, again, closed]
        found = {name: await target.kube.get(RUN, name, where) for name in (*names, sealed)}
        assert {name for name, run in found.items() if run["spec"].get("resolved")} == {earlier, sealed}
        kept = {name: run["status"].get("resolved") for name, run in found.items()}
        bound = {name: resolved.get("bound") for name, resolved in kept.items() if resolved}
        assert bound == {earlier: None, sealed: True}


async def test_a_backup_of_a_busy_service_is_consistent(source: Site, url: str) -> None:
    stop, made = asyncio.Event(), 0
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template()

        async def busy() -> None:
            nonlocal made
            while not stop.is_set():
                run = await account.dispatch(template["id"])
                await execute(base_url, run, "PUT", "/answers/s-clean", json={"value": True})
                made += 1

        callers = [asyncio.create_task(busy()) for _ in range(4)]
        await eventually(lambda: made > 8)
        taken = [await source.backup(url) for _ in range(4)]
        stop.set()
        await asyncio.gather(*callers)
        await account.http.aclose()
    assert len({one.counts["runs"] for one in taken}) > 1
    store = BackupStore.open(url)
    for manifest in taken:
        runs = [body async for body in objects_of(store, manifest, RUN, None)]
        [organization] = [body async for body in objects_of(store, manifest, ORGANIZATION, None)]
        quota = organization["status"]["quota"]
        pending = {one["runId"] for one in quota.get("pending", [])}
        # Counted are exactly the runs that are there, and those that were about to be made.
        assert quota["used"] == len({body["metadata"]["name"] for body in runs} | pending)
        revisions = {b["metadata"]["name"] async for b in objects_of(store, manifest, TEMPLATE_REVISION, None)}
        assert {body["spec"]["resolved"]["revisionRef"]["name"] for body in runs} <= revisions


@pytest.fixture
async def storing_v2(target: Site) -> AsyncIterator[None]:
    """The target's cluster stores another version of our kinds than the source's."""
    names = [f"{kind.plural}.checklists.dev" for kind in KINDS]
    bodies = {name: await target.kube.get(CUSTOM_RESOURCE_DEFINITION, name) for name in names}

    async def store_as(version: str) -> None:
        for name, body in bodies.items():
            [ours] = body["spec"]["versions"]
            versions = [{**ours, "name": each, "storage": each == version} for each in ("v1", "v2")]
            await target.kube.patch(CUSTOM_RESOURCE_DEFINITION, name, {"spec": {"versions": versions}})

    async def is_served() -> bool:
        return (await target.kube.raw_get("/apis/checklists.dev/v2/runs"))[0] == 200

    await store_as("v2")
    await eventually(is_served)
    yield
    await store_as("v1")


@pytest.mark.usefixtures("storing_v2")
async def test_a_run_archived_during_the_backup_is_restored_as_archived(source: Site, target: Site, url: str) -> None:
    account, made = await simple_source(source)
    changed, archived, live = [str(run["run_id"]) for run in made]
    for run_id in (archived, changed):
        await archive_run(source, account, run_id, stays=True)
    paths = ["/v1/runs", *(f"/v1/runs/{run_id}" for run_id in (archived, changed, live))]
    async with source.api() as base_url:
        # What the archive has of this one is old: it was changed before it could be deleted.
        await execute(base_url, made[0], "POST", "/submit", json={})
        await source.backup(url)
        before = await seen(base_url, account.key, paths)
    result = await target.restore(url)
    assert result.archived == 1
    there = {key.rpartition("/")[2] for key in await target.objects() if key.startswith("runs/")}
    assert there == {changed, live}
    async with target.api() as base_url:
        assert target.services is not None
        await target.services.archive.wait_until_loaded()
        assert await seen(base_url, account.key, paths) == before


async def test_a_killed_backup_does_not_count_and_is_cleaned_up_later(source: Site, url: str, tmp_path: Path) -> None:
    _, [run] = await simple_source(source, runs=1)
    await source.stores.photos.put(f"photos/{run['run_id']}/picture", b"a picture")
    plain = BackupStore.open(url)
    for at in range(1, 200):
        store, came = stepping(url, at, die, from_then_on=True)
        with suppress(Killed):
            await source.backup(url, store=store)
        for name in await plain.names():
            if await plain.get(layout.manifest_key(name)) is not None:
                assert (await verify(plain, await plain.snapshot(name), with_copies=True)).damages == [], at
        if not came():
            break
        await source.backup(url)
        whole = await plain.snapshot(None)
        assert (await verify(plain, whole, with_copies=True)).damages == [], at
        assert whole.counts["runs"] == 1 and whole.copies is not None and whole.copies.photos == 1
        shutil.rmtree(tmp_path / "backup")
    assert at > 10
    whole = await plain.snapshot(None)
    folder = tmp_path / "backup" / "snapshots"
    old, young = "20200101T000000.000Z-00000001", "29990101T000000.000Z-00000001"
    for name in (old, young):
        shutil.copytree(folder / whole.name, folder / name)
        (folder / name / "manifest.json").unlink()
    assert (await plain.snapshot(None)).name == whole.name
    await source.backup(url)
    names = await plain.names()
    assert old not in names and young in names


async def test_a_backup_begins_again_when_the_cluster_forgets_its_moment(source: Site, url: str) -> None:
    await simple_source(source)

    class Forgets(KubeClient):
        times = 2

        async def pages(self, kind: Kind, *arguments: Any, **options: Any) -> AsyncIterator[Any]:  # type: ignore[override]
            async for page in super().pages(kind, *arguments, **options):
                if kind is RUN and options.get("exactly_at") and self.times:
                    self.times -= 1
                    raise KubeGone("too old resource version", status=410)
                yield page

    async with Forgets(await KubeConnection.load(str(source.plane.kubeconfig))) as client:
        taken = await source.backup(url, client=client)
        client.times = TRIES
        with pytest.raises(CommandFailed, match="nearer to the cluster"):
            await source.backup(url, client=client)
    # Of what was begun in vain nothing is left.
    assert await BackupStore.open(url).names() == [taken.name]


class Rewriting(BackupStore):
    """In each of the first `times` listings, the part is replaced by one with a run less."""

    times = 0
    parts = tuple(encoded(*[a_record(number) for number in range(first, 7)]) for first in range(1, 7))
    late = False
    """Whether the listing has neither of them: it has passed the place of the new one already."""

    async def listed(self, prefix: str) -> AsyncIterator[StoredObject]:
        found = [one async for one in super().listed(prefix)]
        if self.times:
            self.times -= 1
            old, *others = self.parts
            await kept(self, others[0])
            await self.delete([old.place.manifest_key, old.place.key])
            self.parts, found = tuple(others), [] if self.late else found
        for one in found:
            yield one


@pytest.mark.parametrize(("times", "late"), [(0, False), (1, False), (4, False), (1, True)])
async def test_a_part_that_is_rewritten_during_the_backup_is_in_it(tmp_path: Path, times: int, late: bool) -> None:
    source, target = Rewriting.open((tmp_path / "source").as_uri()), BackupStore.open((tmp_path / "target").as_uri())
    await kept(source, source.parts[0])
    source.times, source.late = times, late
    copied = await copy_archive(source, target, known={})
    there = {one.key async for one in source.listed(ARCHIVE)}
    assert len(there) == 2
    assert ({one.key for one in copied.objects}, copied.seen, copied.vanished) == (there, 2, 0)


async def test_a_backup_during_which_parts_are_rewritten_again_and_again_does_not_count(source: Site, url: str) -> None:
    archive = Rewriting.open((source.folder / "rewriting").as_uri())
    await kept(archive, archive.parts[0])
    archive.times = 5
    with pytest.raises(CommandFailed, match="no erasure"):
        await source.backup(url, stores=Stores(source.stores.photos, archive))
    assert await BackupStore.open(url).names() == []


async def test_photos_are_copied_once_and_leave_the_backups_with_their_run(
    source: Site, target: Site, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, runs = await simple_source(source)
    gone, stays = str(runs[1]["run_id"]), str(runs[2]["run_id"])
    for run in (gone, stays):
        await source.stores.photos.put(f"photos/{run}/picture", run.encode() * 100)
    first = await source.backup(url)
    assert first.copies is not None and first.copies.photos == 2
    kept = tmp_path / "backup" / "photos"
    photo = kept / stays / "picture"
    made_at = photo.stat().st_mtime_ns
    await source.stores.photos.put(f"photos/{stays}/new", b"another")
    await source.kube.delete(RUN, gone, source.namespace)
    await source.stores.photos.delete([f"photos/{gone}/picture"])
    second = await source.backup(url)
    assert second.copies is not None and second.copies.photos == 2
    assert photo.stat().st_mtime_ns == made_at
    assert {folder.name for folder in kept.iterdir()} == {gone, stays}
    # What an earlier snapshot has copied is not believed when its list is damaged; it is read again.
    (tmp_path / "backup" / f"snapshots/{second.name}/copies.jsonl.zst").write_bytes(b"x")
    third = await source.backup(url)
    assert await program("backup", "--prune", url, "--keep", "1") == 0
    assert "copies: 1 removed" in capsys.readouterr().out
    assert {folder.name for folder in kept.iterdir()} == {stays}
    assert gone.encode() not in _all_that_is_kept(tmp_path / "backup")
    assert await BackupStore.open(url).names() == [third.name]
    result = await target.restore(url)
    assert result.copies is not None and result.copies.copied == 2
    assert (await target.objects()).keys() == (await source.objects()).keys()
    assert await target.stores.photos.get(f"photos/{stays}/picture") == stays.encode() * 100
    assert await program("backup", "--verify", url) == 0
    photo.write_bytes(b"x" * photo.stat().st_size)
    assert await program("backup", "--verify", url) == 1
    assert await program("backup", "--verify", url, "--quick") == 0
    photo.unlink()
    assert await program("backup", "--verify", url, "--quick") == 1


def _all_that_is_kept(folder: Path) -> bytes:
    """Names and contents, unpacked."""
    found = []
    for file in folder.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        if file.suffix == ".zst":
            content = zstandard.ZstdDecompressor().decompress(content)
        found.append(str(file).encode() + content)
    return b"".join(found)
