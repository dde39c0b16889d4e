"""SIGKILL of the real commands, at moments that nobody has chosen; then the same command again."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from checklist_cli.backup.reading import objects_of, verify
from checklist_cli.backup.store import BackupStore
from checklist_crds.ids import new_id
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import ORGANIZATION, RUN, WEBHOOK_DELIVERY
from checklist_crds.pausing import is_paused
from checklist_crds.resource_types import ORGANIZATION_LABEL
from checklist_crds.times import format_timestamp, utc_now

from .lab import Site, simple_source

RUNS, PHOTOS, KILLS = 40, 60, 3


async def crowded(source: Site) -> None:
    """Runs, with a delivery each, and photos."""
    account, [first, *_] = await simple_source(source)
    example = await source.kube.get(RUN, str(first["run_id"]), source.namespace)
    labels = {ORGANIZATION_LABEL: account.organization}

    async def one() -> None:
        run, event_id = new_id("r"), new_id("evt")
        metadata = {"name": run, "namespace": source.namespace, "labels": labels}
        body = {"apiVersion": RUN.api_version, "kind": "Run", "metadata": metadata, "spec": example["spec"]}
        await source.kube.create(RUN, body, source.namespace)
        status = {name: value for name, value in example["status"].items() if name != "outbox"}
        await source.kube.patch_status(RUN, run, status, source.namespace)
        delivery = {
            "apiVersion": WEBHOOK_DELIVERY.api_version,
            "kind": "WebhookDelivery",
            "metadata": {"name": event_id, "namespace": source.namespace, "labels": labels},
            "spec": {
                "organizationRef": {"name": account.organization},
                "runRef": {"name": run},
                "eventId": event_id,
                "event": "step.completed",
                "seq": 1,
                "ts": format_timestamp(utc_now()),
                "url": "https://hooks.example.com/x",
                "payload": "{}",
            },
        }
        await source.kube.create(WEBHOOK_DELIVERY, delivery, source.namespace)
        waiting = {"attempt": 1, "nextAttemptAt": format_timestamp(utc_now())}
        await source.kube.patch_status(WEBHOOK_DELIVERY, event_id, waiting, source.namespace)

    await asyncio.gather(*(one() for _ in range(RUNS)))
    for number in range(PHOTOS):
        await source.stores.photos.put(f"photos/{first['run_id']}/{number}", os.urandom(500))


async def command(site: Site, *arguments: str) -> asyncio.subprocess.Process:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CHECKLISTS_")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "checklist_cli", *arguments),
        env={**environment, **site.environment()},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def to_its_end(site: Site, *arguments: str) -> str:
    process = await command(site, *arguments)
    printed, complained = await process.communicate()
    assert process.returncode == 0, complained.decode()
    return printed.decode()


async def killed(site: Site, done: Callable[[], Awaitable[int]], at: int, *arguments: str) -> bool:
    """Whether it was killed when it had done so much; False: it had ended before."""
    process = await command(site, *arguments)
    ending = asyncio.create_task(process.communicate())
    while not ending.done() and await done() < at:
        await asyncio.sleep(0)
    if process.returncode is None:
        process.send_signal(signal.SIGKILL)
    _, complained = await ending
    assert process.returncode in (0, -signal.SIGKILL), complained.decode()
    return process.returncode == -signal.SIGKILL


def files(folder: Path, below: str = "") -> dict[str, bytes]:
    root = folder / below
    found = [file for file in root.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in found if "#" not in file.name}


def _orphans(deliveries: list[JsonObject], runs: list[JsonObject]) -> set[str]:
    names = {body["metadata"]["name"] for body in runs}
    return {body["spec"]["runRef"]["name"] for body in deliveries} - names


async def test_a_backup_that_is_killed_at_any_moment_and_taken_again(source: Site, url: str, tmp_path: Path) -> None:
    await crowded(source)
    folder, store = tmp_path / "backup", BackupStore.open(url)
    folder.mkdir(exist_ok=True)
    seed = random.randrange(2**32)
    print("seed", seed)
    chance, ended_early = random.Random(seed), 0

    async def written() -> int:
        await asyncio.sleep(0.001)
        return sum(1 for file in folder.rglob("*") if file.is_file())

    for _ in range(KILLS):
        at = await written() + chance.randint(1, PHOTOS // 2)
        ended_early += not await killed(source, written, at, "backup", "--to", url)
        for name in await store.names():
            await _is_whole_or_none(store, name)
    assert ended_early < KILLS
    began = set(await store.names())
    printed = await to_its_end(source, "backup", "--to", url)
    [name] = set(await store.names()) - began
    assert name in printed and (await store.snapshot(None)).name == name
    manifest = await _is_whole_or_none(store, name)
    assert manifest
    found = {
        kind: [body async for body in objects_of(store, await store.snapshot(name), kind, None)]
        for kind in (RUN, WEBHOOK_DELIVERY)
    }
    for kind, bodies in found.items():
        names = [body["metadata"]["name"] for body in bodies]
        there = [body["metadata"]["name"] for body in (await source.kube.list_all(kind))[0]]
        assert sorted(names) == sorted(there)
    assert files(folder, "photos") == files(source.folder / "photos", "photos")


async def _is_whole_or_none(store: BackupStore, name: str) -> bool:
    """What has a manifest is whole, and has no delivery without its run."""
    from checklist_cli.backup import layout

    if await store.get(layout.manifest_key(name)) is None:
        return False
    manifest = await store.snapshot(name)
    assert (await verify(store, manifest, with_copies=True)).damages == []
    runs = [body async for body in objects_of(store, manifest, RUN, None)]
    deliveries = [body async for body in objects_of(store, manifest, WEBHOOK_DELIVERY, None)]
    assert deliveries and not _orphans(deliveries, runs)
    return True


async def test_a_restore_that_is_killed_at_any_moment_and_run_again(source: Site, target: Site, url: str) -> None:
    await crowded(source)
    taken = await source.backup(url)
    total = sum(taken.counts.values()) + PHOTOS
    seed = random.randrange(2**32)
    print("seed", seed)
    chance, at, kills = random.Random(seed), 0, 0

    async def there() -> int:
        return len(await target.objects()) + len(files(target.folder / "photos"))

    for number in range(KILLS):
        # Somewhere in the next part of what is left, so that each has something to do.
        at = chance.randint(at + 1, at + (total - at) // (KILLS + 1 - number) + 1)
        kills += await killed(target, there, at, "restore", "--from", url)
        deliveries, _ = await target.kube.list_all(WEBHOOK_DELIVERY)
        runs, _ = await target.kube.list_all(RUN)
        assert not _orphans(deliveries, runs)
        organizations, _ = await target.kube.list_all(ORGANIZATION)
        # Until the last object is there nobody may work on them.
        assert all(is_paused(body["metadata"]) for body in organizations) or await there() == total
        at = max(at, await there())
        if at >= total - 1:
            break
    assert kills
    await to_its_end(target, "restore", "--from", url)
    mine, theirs = await source.objects(), await target.objects()
    assert theirs.keys() == mine.keys()
    assert {key: body["spec"] for key, body in theirs.items()} == {key: body["spec"] for key, body in mine.items()}
    for key, body in mine.items():
        if not key.startswith("organizations/"):
            assert theirs[key].get("status") == body.get("status"), key
    assert files(target.folder / "photos") == files(source.folder / "photos")
    assert not any(is_paused(body["metadata"]) for body in theirs.values())
    again = await to_its_end(target, "restore", "--from", url)
    assert "objects: 0 made, 0 were there" in again and "restored before, and left alone" in again
    assert await target.objects() == theirs
