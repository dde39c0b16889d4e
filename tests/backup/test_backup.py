"""`checklist-dispatch backup` and `restore`: what GET tells is the same bytes, and the service goes on."""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard
from tests.cluster.operator_lab import Receiver
from tests.contract.conftest import definition, http_client
from tests.contract.pictures import picture
from tests.waiting import eventually

from checklist_api.organizations import OrganizationDirectory
from checklist_cli.backup.objects import KINDS
from checklist_cli.backup.placing import InTheWay, Placed
from checklist_cli.backup.store import BackupStore
from checklist_cli.backup.taking import TRIES
from checklist_cli.command import CommandFailed
from checklist_cli.program import main
from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeGone
from checklist_crds.kube.kinds import (
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
from checklist_crds.pausing import is_paused
from checklist_crds.resource_types import RESTORING_ANNOTATION

from .lab import (
    Site,
    account_of,
    archive_run,
    clear,
    every_kind,
    execute,
    make_namespace,
    operator_of,
    seen,
    simple_source,
    token_of,
)


async def test_what_get_tells_is_the_same_bytes_and_the_service_goes_on(
    source: Site, target: Site, url: str, receiver: Receiver
) -> None:
    receiver.answer = lambda delivered: 500 if "/fails" in delivered.path else 204
    hook = {"secret": "a-secret-of-the-test", "events": ["*"]}
    failing = {**hook, "url": f"http://127.0.0.1:{receiver.port}/fails"}
    working = {**hook, "url": f"http://127.0.0.1:{receiver.port}/works"}
    photo_step = {"id": "s-photo", "type": "photo", "label": "Picture", "config": {"min": 1, "max": 3}}
    with_photo = definition()
    with_photo["sections"][0]["steps"].append(photo_step)

    async with source.api() as base_url:
        operator = operator_of(source, CHECKLISTS_RETRY_GAPS="12,12,12,12")
        await operator.start()
        account = await account_of(source, base_url, plan={"name": "small", "runsPerMonth": 12})
        template = await account.create_template(**with_photo)
        for name in ("second", "third"):
            response = await account.http.patch(f"/v1/templates/{template['id']}", json={"name": name})
            assert response.status_code == 200, response.text
        other = await account.create_template(name="Never changed")

        async def dispatched(**members: Any) -> JsonObject:
            return await account.dispatch(str(template["id"]), **members)

        pending = await dispatched(executor_ref="pending")
        begun = await dispatched(executor_ref="begun", webhook=failing)
        done = await dispatched(webhook=working)
        cancelled = await dispatched(webhook=working)
        expired = await dispatched(expires_in_hours=0.0001)
        again = {"Idempotency-Key": "once"}
        keyed = await account.http.post("/v1/runs", json={"template_id": other["id"]}, headers=again)
        assert keyed.status_code == 201, keyed.text
        for run in (begun, done):
            await execute(base_url, run, "PUT", "/answers/s-clean", json={"value": True})
        image = {"Content-Type": "image/jpeg"}
        await execute(base_url, done, "POST", "/answers/s-photo/photos", content=picture(), headers=image)
        await execute(base_url, done, "POST", "/submit", json={})
        response = await account.http.post(f"/v1/runs/{cancelled['run_id']}/cancel", json={})
        assert response.status_code == 200, response.text
        by_hand = f"r-{uuid.uuid4()}"
        await source.kube.create(
            RUN,
            {
                "apiVersion": RUN.api_version,
                "kind": "Run",
                "metadata": {"name": by_hand, "namespace": account.namespace},
                "spec": {"templateRef": {"name": other["id"]}, "executorRef": "by hand", "expiresInHours": 5},
            },
            account.namespace,
        )

        async def at_rest() -> bool:
            bodies = {b["metadata"]["name"]: b.get("status") or {} for b in (await source.kube.list_all(RUN))[0]}
            failed, _ = await source.kube.list_all(WEBHOOK_DELIVERY)
            return (
                all(bodies[str(run["run_id"])].get("settled") for run in (done, cancelled, expired))
                and not bodies[str(begun["run_id"])].get("outbox")
                and bool(bodies[by_hand].get("conditions"))
                and len(failed) == 1
                and failed[0]["status"].get("nextAttemptAt") is not None
            )

        await eventually(at_rest)
        await operator.stop()
        # It is over by the clock, and nobody is there to say so: the operator of the restored cluster will.
        will_expire = await dispatched(expires_in_hours=0.0001, webhook=working)
        await asyncio.sleep(0.5)
        [waiting] = (await source.kube.list_all(WEBHOOK_DELIVERY))[0]
        next_one = waiting["status"]["attempt"] + 1
        runs = [pending, begun, done, cancelled, expired, will_expire, keyed.json(), {"run_id": by_hand}]
        paths = [
            "/v1/templates",
            f"/v1/templates/{template['id']}",
            f"/v1/templates/{template['id']}/versions",
            *(f"/v1/templates/{template['id']}/versions/{number}" for number in (1, 2, 3)),
            f"/v1/templates/{other['id']}",
            "/v1/runs",
            "/v1/runs?status=completed",
            "/v1/runs?status=expired",
            "/v1/runs?executor_ref=begun",
            f"/v1/runs?template_id={template['id']}&per_page=2&page=2",
            "/v1/usage",
            "/v1/deliveries",
            "/v1/deliveries?status=pending",
            *(f"/v1/runs/{run['run_id']}" for run in runs),
            *(f"/v1/runs/{run['run_id']}/preview" for run in runs),
            *(f"/v1/runs/{run['run_id']}/deliveries" for run in runs),
        ]
        # Nobody opens the expired one: what holds at an instant would be another answer a moment later.
        executor_headers = {"Authorization": f"Executor {token_of(begun)}"}
        executor_path = [f"/v1/executor/runs/{begun['run_id']}"]
        await account.http.aclose()
        taken = await source.backup(url)
        before = await seen(base_url, account.key, paths)
        before_executor = await seen(base_url, account.key, executor_path, executor_headers)
    refused = {path: told for path, told in before.items() if told[0] not in (200, 410)}
    assert not refused
    assert taken.counts["runs"] == len(runs)

    result = await target.restore(url)
    assert result.placed[Placed.MADE] == sum(taken.counts.values())
    async with target.api() as base_url:
        assert await seen(base_url, account.key, paths) == before
        assert await seen(base_url, account.key, executor_path, executor_headers) == before_executor
        http = http_client(base_url, account.key)
        # Photos: the bytes are there under the address of the restored service.
        answer = (await http.get(f"/v1/runs/{done['run_id']}")).json()["answers"]["s-photo"]
        picture_url = answer["photos"][0]["url"].removeprefix("https://checklists.example")
        assert (await http.get(picture_url)).status_code == 200
        # The same request is still the same run; the quota of the month goes on.
        response = await http.post("/v1/runs", json={"template_id": other["id"]}, headers=again)
        assert (response.status_code, response.json()["run_id"]) == (201, keyed.json()["run_id"])
        used = (await http.get("/v1/usage")).json()["used"]
        statuses = [
            (await http.post("/v1/runs", json={"template_id": other["id"]})).status_code for _ in range(12 - used + 1)
        ]
        assert statuses == [201] * (12 - used) + [402]
        response = await http.patch(f"/v1/templates/{template['id']}", json={"name": "fourth"})
        assert (response.status_code, response.json()["v"]) == (200, 4)
        # An operator works on: the retry is sent at its time, with the same event, and an expiry happens.
        receiver.answer = lambda _: 204
        receiver.received.clear()
        operator = operator_of(target)
        await operator.start()
        try:

            async def went_on() -> bool:
                retried = [one for one in receiver.events(str(begun["run_id"])) if one["delivery_attempt"] == next_one]
                ended = [one for one in receiver.events(str(will_expire["run_id"])) if one["event"] == "run.expired"]
                return bool(retried) and bool(ended)

            await eventually(went_on)
            [retried] = receiver.events(str(begun["run_id"]))
            assert retried["event_id"] == waiting["spec"]["eventId"]
            # Nothing that was delivered is sent again.
            assert not receiver.events(str(done["run_id"])) and not receiver.events(str(cancelled["run_id"]))
        finally:
            await operator.stop()
        await http.aclose()


async def test_a_restored_cluster_makes_the_same_backup(source: Site, target: Site, url: str, tmp_path: Path) -> None:
    account, _ = await simple_source(source)
    await source.backup(url)
    await target.restore(url)
    mine, theirs = await source.objects(), await target.objects()
    assert mine.keys() == theirs.keys() and len(mine) > 6
    for key, body in mine.items():
        found = theirs[key]
        assert found.get("status", {}).keys() == body.get("status", {}).keys(), key
        if not key.startswith("organizations/"):
            assert found.get("status") == body.get("status"), key
        assert found["spec"] == body["spec"], key
    organization = theirs[f"organizations//{account.organization}"]["metadata"]
    assert not is_paused(organization)
    assert RESTORING_ANNOTATION not in organization["annotations"]
    second = await target.backup((tmp_path / "second").as_uri())
    assert second.counts == (await BackupStore.open(url).snapshot(None)).counts


async def test_every_kind_comes_back_with_its_status_and_sessions_do_not(source: Site, target: Site, url: str) -> None:
    """Also those whose status has defaults, and what has ended or was revoked."""
    account, runs = await simple_source(source)
    where = source.namespace
    await every_kind(source, account, str(runs[0]["run_id"]))
    await source.backup(url)
    await target.restore(url)
    mine, theirs = await source.objects(), await target.objects()
    del mine[f"dashboardsessions/{where}/session"]
    assert mine.keys() == theirs.keys()
    assert {key.partition("/")[0] for key in theirs} == {kind.plural for kind in KINDS}
    assert {key: body["spec"] for key, body in theirs.items()} == {key: body["spec"] for key, body in mine.items()}
    for key, body in mine.items():
        if not key.startswith("organizations/"):
            assert theirs[key].get("status") == body.get("status"), key
    # Somebody signs in: the restore that is finished does not mind, whatever has changed since.
    await target.kube.patch_status(LOCAL_ACCOUNT, "ada", {"lastSignInAt": "2026-11-23T07:18:22.123Z"}, where)
    before = await target.objects()
    await target.restore(url)
    assert await target.objects() == before


class Cut(KubeClient):
    """Is killed at its write number `at`: before it, or after it and before anybody hears of it."""

    at = 0
    afterwards = False
    writes = 0

    async def _call(self, method: str, path: str, **arguments: Any) -> JsonObject:
        if method == "GET":
            return await super()._call(method, path, **arguments)
        self.writes += 1
        if self.writes == self.at and not self.afterwards:
            raise asyncio.CancelledError
        answer = await super()._call(method, path, **arguments)
        if self.writes == self.at:
            raise asyncio.CancelledError
        return answer


@pytest.mark.parametrize("afterwards", [False, True])
async def test_a_restore_that_is_killed_at_any_write_goes_on_and_is_the_same(
    source: Site, target: Site, url: str, afterwards: bool
) -> None:
    await simple_source(source, runs=1)
    await source.backup(url)
    wanted = await source.objects()
    connection = await KubeConnection.load(str(target.plane.kubeconfig))
    killed = 0
    for at in range(1, 200):
        async with Cut(connection) as client:
            client.at, client.afterwards = at, afterwards
            restore = await target.restoring(url, parallel=1)
            restore._client = restore._placing._client = client
            try:
                await restore.run()
            except asyncio.CancelledError:
                killed += 1
                # Until all is there, nothing may act: the organization is paused, or not there at all.
                organizations = [body for key, body in (await target.objects()).items() if key.startswith("organ")]
                there = (await target.objects()).keys() == wanted.keys()
                assert there or all(is_paused(body["metadata"]) for body in organizations)
                await target.restore(url)
            else:
                break
        found = await target.objects()
        assert {key: body["spec"] for key, body in found.items()} == {k: b["spec"] for k, b in wanted.items()}
        assert {k: b.get("status") for k, b in found.items() if not k.startswith("organ")} == {
            k: b.get("status") for k, b in wanted.items() if not k.startswith("organ")
        }
        assert all(not is_paused(body["metadata"]) for body in found.values())
        await clear(target.kube)
    assert killed >= len(wanted)


async def test_nothing_is_written_over(source: Site, target: Site, url: str) -> None:
    account, runs = await simple_source(source)
    await source.backup(url)
    # An organization of that name that comes from elsewhere.
    foreign = {
        "apiVersion": ORGANIZATION.api_version,
        "kind": "Organization",
        "metadata": {"name": account.organization},
        "spec": {"displayName": "Somebody else"},
    }
    await target.kube.create(ORGANIZATION, foreign)
    with pytest.raises(InTheWay, match=account.organization):
        await target.restore(url)
    assert list(await target.objects()) == [f"organizations//{account.organization}"]
    await target.kube.delete(ORGANIZATION, account.organization)
    # A run of that name that belongs to another organization.
    name = str(runs[0]["run_id"])
    body = {
        "apiVersion": RUN.api_version,
        "kind": "Run",
        "metadata": {"name": name, "namespace": target.namespace},
        "spec": {"templateRef": {"name": "mine"}},
    }
    await target.kube.create(RUN, body, target.namespace)
    with pytest.raises(InTheWay, match=name):
        await target.restore(url)
    assert list(await target.objects()) == [f"runs/{target.namespace}/{name}"]


async def test_what_was_restored_and_worked_on_since_is_left_alone(source: Site, target: Site, url: str) -> None:
    account, runs = await simple_source(source)
    await source.backup(url)
    await target.restore(url)
    async with target.api() as base_url:
        await execute(base_url, runs[1], "PUT", "/answers/s-clean", json={"value": True})
    before = await target.objects()
    result = await target.restore(url)
    assert (result.were_finished, result.finished) == ([account.organization], [])
    assert await target.objects() == before


async def test_no_restore_beside_an_operator_that_leads(source: Site, target: Site, url: str) -> None:
    await simple_source(source)
    await source.backup(url)
    operator = operator_of(target)
    await operator.start()
    try:
        with pytest.raises(CommandFailed, match="an operator works on this cluster"):
            await target.restore(url)
        assert await target.objects() == {}
    finally:
        await operator.stop()
    await target.restore(url)  # it gave its lease back


async def test_an_api_beside_a_restore_shows_no_part_of_it_and_changes_nothing(
    source: Site, target: Site, url: str
) -> None:
    account, runs = await simple_source(source)
    run_id = str(runs[1]["run_id"])
    await source.backup(url)
    wanted = await source.objects()
    connection = await KubeConnection.load(str(target.plane.kubeconfig))
    owner = {"Authorization": f"Bearer {account.key}"}
    executor = {"Authorization": f"Executor {token_of(runs[1])}"}
    steps = 0
    async with target.api() as base_url, httpx.AsyncClient(base_url=base_url, trust_env=False, timeout=30) as caller:
        assert target.services is not None
        directory = target.services.organizations
        assert (await caller.get("/v1/runs", headers=owner)).status_code == 401  # nothing is there yet
        while True:
            async with Cut(connection) as client:
                # One write more each time; the first one finds the organization there already.
                client.at, client.afterwards = (2 if steps else 1), True
                restore = await target.restoring(url, parallel=1)
                restore._client = restore._placing._client = client
                with contextlib.suppress(asyncio.CancelledError):
                    await restore.run()
                    break
            steps += 1
            done = (
                RESTORING_ANNOTATION
                not in ((await target.kube.get(ORGANIZATION, account.organization))["metadata"]["annotations"])
            )
            await eventually(lambda done=done: _is(directory, account.organization, not done))
            answers = [
                await caller.get("/v1/runs", headers=owner),
                await caller.post("/v1/templates", headers=owner, json=definition()),
                await caller.get(f"/v1/runs/{run_id}/preview"),
                await caller.get(f"/r/{run_id}"),
                await caller.put(
                    f"/v1/executor/runs/{run_id}/answers/s-clean", headers=executor, json={"value": not done}
                ),
            ]
            statuses = [each.status_code for each in answers]
            assert statuses == ([200, 201, 200, 200, 200] if done else [503] * 5), (steps, statuses)
    assert steps >= len(wanted)
    answered = (await target.kube.get(RUN, run_id, target.namespace))["status"]["answers"]
    assert answered["s-clean"]["value"] == "false"  # as it was given when all was there


async def _is(directory: OrganizationDirectory, organization: str, restoring: bool) -> bool:
    return directory.is_restoring(organization) is restoring


async def test_into_another_namespace_with_what_is_sealed(
    source: Site, target: Site, url: str, receiver: Receiver
) -> None:
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template()
        hook = {"url": receiver.url, "secret": "a-secret-of-the-test", "events": ["*"]}
        run = await account.dispatch(template["id"], webhook=hook)
        await account.http.aclose()
    await source.backup(url)
    elsewhere = f"{target.namespace}-new"
    await make_namespace(target.kube, elsewhere)
    target.namespace = elsewhere
    await target.restore(url, namespaces={source.namespace: elsewhere})
    assert {key.split("/")[1] for key in await target.objects()} == {"", elsewhere}
    async with target.api() as base_url:
        await execute(base_url, run, "PUT", "/answers/s-clean", json={"value": True})
        operator = operator_of(target)
        await operator.start()
        try:
            await eventually(lambda: _has(receiver.events(str(run["run_id"]))))
        finally:
            await operator.stop()


async def _has(found: list[Any]) -> bool:
    return bool(found)


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
        await source.backup((tmp_path / "nothing").as_uri(), only=["nobody-knows"])


async def test_a_damaged_backup_is_refused_before_anything_is_written(
    source: Site, target: Site, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await simple_source(source)
    taken = await source.backup(url)
    folder = tmp_path / "backup"
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0
    for entry in taken.parts:
        file = folder / entry.key
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 1
        assert entry.key in capsys.readouterr().out
        file.write_bytes(whole)
    runs = next(entry for entry in taken.parts if entry.plural == "runs")
    (folder / runs.key).unlink()
    environment = os.environ.copy()
    try:
        os.environ.update(target.environment())
        assert await asyncio.to_thread(main, ["restore", "--from", url]) == 2
    finally:
        os.environ.clear()
        os.environ.update(environment)
    assert "is not there" in capsys.readouterr().err
    assert await target.objects() == {}
    (folder / f"snapshots/{taken.name}/manifest.json").unlink()
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 1


async def test_other_keys_are_noticed_before_anything_is_written(source: Site, target: Site, url: str) -> None:
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template()
        hook = {"url": "https://hooks.example.com/x", "secret": "a-secret-of-the-test", "events": ["*"]}
        await account.dispatch(template["id"], webhook=hook)
        await account.http.aclose()
    await source.backup(url)
    target.server_key = bytes(32)
    with pytest.raises(CommandFailed, match="server key is another one"):
        await target.restore(url)
    target.server_key = source.server_key
    target.sealing_keys = "k1:" + base64.b64encode(bytes(32)).decode()
    with pytest.raises(CommandFailed, match="do not open"):
        await target.restore(url)
    assert await target.objects() == {}


async def test_a_backup_of_a_busy_service_is_consistent(source: Site, target: Site, url: str) -> None:
    stop = asyncio.Event()
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template()

        async def busy() -> None:
            while not stop.is_set():
                run = await account.dispatch(template["id"])
                await execute(base_url, run, "PUT", "/answers/s-clean", json={"value": True})

        callers = [asyncio.create_task(busy()) for _ in range(4)]
        await asyncio.sleep(1)
        taken = []
        for _ in range(4):
            taken.append(await source.backup(url))
        stop.set()
        await asyncio.gather(*callers)
        await account.http.aclose()
    assert len({one.counts["runs"] for one in taken}) > 1
    store = BackupStore.open(url)
    from checklist_cli.backup.reading import objects_of

    for manifest in taken:
        runs = {b["metadata"]["name"] async for b in objects_of(store, manifest, RUN, None)}
        [organization] = [b async for b in objects_of(store, manifest, ORGANIZATION, None)]
        quota = organization["status"]["quota"]
        pending = {one["runId"] for one in quota.get("pending", [])}
        # Counted are exactly the runs that are there, and those that were about to be made.
        assert quota["used"] == len(runs | pending)
        revisions = {b["metadata"]["name"] async for b in objects_of(store, manifest, TEMPLATE_REVISION, None)}
        async for body in objects_of(store, manifest, RUN, None):
            assert body["spec"]["resolved"]["revisionRef"]["name"] in revisions


async def test_a_run_that_was_archived_while_the_backup_was_taken_comes_back_as_archived(
    source: Site, target: Site, url: str
) -> None:
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template()
        archived, changed, live = [str((await account.dispatch(template["id"]))["run_id"]) for _ in range(3)]
        for run_id in (archived, changed):
            await archive_run(source, account, run_id, stays=True)
        # What the archive has of this one is old: it was changed before it could be deleted.
        response = await account.http.post(f"/v1/runs/{changed}/cancel", json={})
        assert response.status_code == 200, response.text
        await account.http.aclose()
        await source.backup(url)
        paths = ["/v1/runs", *(f"/v1/runs/{run_id}" for run_id in (archived, changed, live))]
        before = await seen(base_url, account.key, paths)
    result = await target.restore(url)
    assert result.archived == 1
    there = {key.rpartition("/")[2] for key in await target.objects() if key.startswith("runs/")}
    assert there == {changed, live}
    async with target.api() as base_url:
        assert target.services is not None
        await target.services.archive.wait_until_loaded()
        assert await seen(base_url, account.key, paths) == before


async def test_it_goes_into_a_cluster_that_stores_another_version(source: Site, target: Site, url: str) -> None:
    await simple_source(source)
    await source.backup(url)
    names = [f"{kind.plural}.checklists.dev" for kind in KINDS]
    before = {name: await target.kube.get(CUSTOM_RESOURCE_DEFINITION, name) for name in names}

    async def write(name: str, versions: list[JsonObject]) -> None:
        await target.kube.patch(CUSTOM_RESOURCE_DEFINITION, name, {"spec": {"versions": versions}})

    for name, body in before.items():
        [ours] = body["spec"]["versions"]
        await write(name, [{**ours, "storage": False}, {**ours, "name": "v2", "storage": True}])
    try:
        await eventually(lambda: _serves(target, "v2"))
        await target.restore(url)
        mine, theirs = await source.objects(), await target.objects()
        assert {key: body["spec"] for key, body in theirs.items()} == {key: body["spec"] for key, body in mine.items()}
        assert all(body["apiVersion"] == "checklists.dev/v1" for body in theirs.values())
    finally:
        for name, body in before.items():
            [ours] = body["spec"]["versions"]
            await write(name, [ours, {**ours, "name": "v2", "storage": False}])


async def _serves(site: Site, version: str) -> bool:
    status, _ = await site.kube.raw_get(f"/apis/checklists.dev/{version}/runs")
    return status == 200


async def test_a_backup_that_is_killed_is_none_and_the_next_one_tidies_up_after_days(
    source: Site, url: str, tmp_path: Path
) -> None:
    await simple_source(source)
    whole = await source.backup(url)
    folder = tmp_path / "backup" / "snapshots"
    # As a backup that was killed leaves them: parts, and no manifest.
    for name in ("20200101T000000.000Z-00000001", "29990101T000000.000Z-00000001"):
        shutil.copytree(folder / whole.name, folder / name)
        (folder / name / "manifest.json").unlink()
    assert (await BackupStore.open(url).snapshot(None)).name == whole.name
    await source.backup(url)
    names = await BackupStore.open(url).names()
    assert "20200101T000000.000Z-00000001" not in names and "29990101T000000.000Z-00000001" in names


async def test_a_moment_that_the_cluster_forgets_is_begun_anew(source: Site, url: str) -> None:
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
        whole, source.kube = source.kube, client
        taken = await source.backup(url)
        client.times = TRIES
        with pytest.raises(CommandFailed, match="nearer to the cluster"):
            await source.backup(url)
        source.kube = whole
    # Of what was begun in vain nothing is left.
    assert await BackupStore.open(url).names() == [taken.name]


async def test_photos_are_copied_once_and_come_back_whole(source: Site, target: Site, url: str, tmp_path: Path) -> None:
    await simple_source(source)
    run = f"photos/r-{uuid.uuid4()}"
    for number in range(5):
        await source.stores.photos.put(f"{run}/{number}", os.urandom(1000))
    first = await source.backup(url)
    assert first.copies is not None and first.copies.photos == 5
    photo = tmp_path / "backup" / run / "0"
    made_at = photo.stat().st_mtime_ns
    await source.stores.photos.put(f"{run}/new", b"another")
    second = await source.backup(url)
    assert second.copies is not None and second.copies.photos == 6
    assert photo.stat().st_mtime_ns == made_at
    result = await target.restore(url)
    assert result.copies is not None and result.copies.copied == 6
    assert await target.stores.photos.get(f"{run}/3") == await source.stores.photos.get(f"{run}/3")
    photo.write_bytes(b"x" * 1000)
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 1
    assert await asyncio.to_thread(main, ["backup", "--verify", url, "--quick"]) == 0
    shutil.rmtree(tmp_path / "backup" / run)
    assert await asyncio.to_thread(main, ["backup", "--verify", url, "--quick"]) == 1


async def test_what_was_deleted_in_the_service_leaves_the_backups_when_they_are_pruned(
    source: Site, target: Site, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, runs = await simple_source(source)
    for run in (runs[1], runs[2]):
        await source.stores.photos.put(f"photos/{run['run_id']}/picture", str(run["run_id"]).encode())
    await source.backup(url)
    await source.kube.delete(RUN, str(runs[1]["run_id"]), source.namespace)
    await source.stores.photos.delete([f"photos/{runs[1]['run_id']}/picture"])
    second = await source.backup(url)
    kept = tmp_path / "backup" / "photos"
    assert {folder.name for folder in kept.iterdir()} == {runs[1]["run_id"], runs[2]["run_id"]}
    # What an earlier snapshot has copied is not believed when its list is damaged; it is read again.
    copies = tmp_path / "backup" / f"snapshots/{second.name}/copies.jsonl.zst"
    copies.write_bytes(b"x")
    third = await source.backup(url)
    assert await asyncio.to_thread(main, ["backup", "--prune", url, "--keep", "1"]) == 0
    assert "copies: 1 gone" in capsys.readouterr().out
    assert {folder.name for folder in kept.iterdir()} == {runs[2]["run_id"]}
    assert str(runs[1]["run_id"]).encode() not in _all_that_is_kept(tmp_path / "backup")
    assert await BackupStore.open(url).names() == [third.name]
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0
    await target.restore(url)
    assert (await target.objects()).keys() == (await source.objects()).keys()
    assert await target.stores.photos.get(f"photos/{runs[2]['run_id']}/picture") is not None


def _all_that_is_kept(folder: Path) -> bytes:
    """Names and contents, unpacked."""
    found = []
    for file in folder.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        if file.suffix == ".zst":
            content = zstandard.ZstdDecompressor().decompress(content)
        found.append(str(file).encode() + content)
    return b"".join(found)


async def test_webhook_secrets_are_named_or_kept_sealed(source: Site, target: Site, url: str, tmp_path: Path) -> None:
    await simple_source(source)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hook", "namespace": source.namespace},
        "data": {"secret": base64.b64encode(b"of the receiver").decode()},
    }
    await source.kube.create(SECRET, secret, source.namespace)
    run = {
        "apiVersion": RUN.api_version,
        "kind": "Run",
        "metadata": {"name": f"r-{uuid.uuid4()}", "namespace": source.namespace},
        "spec": {
            "templateRef": {"name": "any"},
            "webhook": {"url": "https://a.example/", "events": ["*"], "secretRef": {"name": "hook"}},
        },
    }
    await source.kube.create(RUN, run, source.namespace)
    taken = await source.backup(url)
    assert [(one.name, one.key) for one in taken.secrets_needed] == [("hook", "secret")]
    result = await target.restore(url)
    assert [one.name for one in result.secrets_missing] == ["hook"]
    with_secrets = await source.backup((tmp_path / "sealed").as_uri(), include_secrets=True)
    assert not with_secrets.secrets_needed
    kept = b"".join(file.read_bytes() for file in (tmp_path / "sealed").rglob("*secrets*"))
    assert kept and b"b2YgdGhlIHJlY2VpdmVy" not in kept
    await clear(target.kube)
    result = await target.restore((tmp_path / "sealed").as_uri())
    assert not result.secrets_missing
    assert (await target.kube.get(SECRET, "hook", target.namespace))["data"] == secret["data"]


async def test_who_applies_a_template_goes_on_managing_it(source: Site, target: Site, url: str) -> None:
    account, _ = await simple_source(source)
    manifest = {
        "apiVersion": TEMPLATE.api_version,
        "kind": "Template",
        "metadata": {"name": "opening-check", "namespace": source.namespace},
        "spec": {"organizationRef": {"name": account.organization}, **definition()},
    }
    file = source.folder / "template.json"
    file.write_text(json.dumps(manifest))
    source.plane.run_kubectl("apply", "--server-side", "--field-manager=gitops", "-f", str(file))
    paths = ["/v1/templates"]
    async with source.api() as base_url:
        before = await seen(base_url, account.key, paths)
    await source.backup(url)
    await target.restore(url)
    async with target.api() as base_url:
        assert await seen(base_url, account.key, paths) == before
    body = await target.kube.get(TEMPLATE, "opening-check", target.namespace)
    managers = {(one["manager"], one["operation"]) for one in body["metadata"]["managedFields"]}
    assert ("gitops", "Apply") in managers
    # What its owner takes out of it is gone: it is still theirs.
    del manifest["spec"]["settings"]
    file.write_text(json.dumps(manifest))
    target.plane.run_kubectl("apply", "--server-side", "--field-manager=gitops", "-f", str(file))
    body = await target.kube.get(TEMPLATE, "opening-check", target.namespace)
    assert "allow_skip" not in body["spec"].get("settings", {}) or body["spec"]["settings"]["allow_skip"] is False
