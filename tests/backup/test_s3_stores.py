"""Photos, archive and the backup itself on a real S3 server."""

import asyncio

import pytest

from checklist_cli.backup.store import BackupStore
from checklist_cli.program import main
from checklist_crds.resources.kinds import RUN
from checklist_dev.programs.s3_server import S3Server

from .lab import Site, archive_run, simple_source


async def test_backup_verify_restore_and_prune(  # noqa: PLR0917 - fixtures
    source: Site,
    target: Site,
    home: str,
    s3: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in s3.settings(home).items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)  # clouds' credentials are looked for in the environment
    below = s3.settings(home)["CHECKLISTS_PHOTO_STORE"]
    source.elsewhere, target.elsewhere, url = f"{below}/source", f"{below}/target", f"{below}/backup"
    account, runs = await simple_source(source)
    kept, archived, erased = (str(run["run_id"]) for run in runs)
    for run_id in (kept, archived, erased):
        await source.stores.photos.put(f"photos/{run_id}/picture", run_id.encode() * 100)
    await archive_run(source, account, archived)
    assert len(await source.stored()) == 5  # three pictures, a part with its manifest

    await source.backup(url)
    await source.kube.delete(RUN, erased, source.namespace)
    store = source.stores.photos
    await store.delete([found.key async for found in store.listed(f"photos/{erased}")])
    second = await source.backup(url)
    assert second.copies is not None and (second.copies.photos, second.copies.archive) == (2, 2)
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0
    assert await asyncio.to_thread(main, ["backup", "--prune", url, "--keep", "1"]) == 0
    printed = capsys.readouterr().out
    assert "copies: 1 removed" in printed and "copies kept: 4" in printed
    assert len(await BackupStore.open(url).names()) == 1
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0

    result = await target.restore(url)
    assert result.copies is not None and result.copies.copied == 4
    assert await target.stored() == await source.stored()
    assert (await target.objects()).keys() == (await source.objects()).keys()
