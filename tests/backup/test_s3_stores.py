"""Photos, archive and the backup itself on a real S3 server."""

import asyncio

import pytest
from tests.contract.conftest import http_client
from tests.contract.pictures import picture

from checklist_cli.backup.store import BackupStore
from checklist_cli.program import main
from checklist_crds.kube.kinds import RUN
from checklist_dev.s3_server import S3Server

from .lab import Site, account_of, archive_run, execute


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
    step = {"id": "s-photo", "type": "photo", "label": "Picture", "config": {"min": 1, "max": 3}}
    sections = [{"id": "g-one", "title": "One", "steps": [step]}]
    image = {"Content-Type": "image/jpeg"}
    async with source.api() as base_url:
        account = await account_of(source, base_url)
        template = await account.create_template(sections=sections)
        runs = [await account.dispatch(template["id"]) for _ in range(3)]
        for run in runs:
            await execute(base_url, run, "POST", "/answers/s-photo/photos", content=picture(), headers=image)
        await account.http.aclose()
    kept, archived, erased = (str(run["run_id"]) for run in runs)
    await archive_run(source, account, archived)
    assert len(await source.stored()) == 8  # three pictures with their thumbnails, a part with its manifest

    await source.backup(url)
    await source.kube.delete(RUN, erased, source.namespace)
    store = source.stores.photos
    await store.delete([found.key async for found in store.listed(f"photos/{erased}")])
    second = await source.backup(url)
    assert second.copies is not None and (second.copies.photos, second.copies.archive) == (4, 2)
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0
    assert await asyncio.to_thread(main, ["backup", "--prune", url, "--keep", "1"]) == 0
    told = capsys.readouterr().out
    assert "copies: 2 gone" in told and "copies that stay: 6" in told
    assert len(await BackupStore.open(url).names()) == 1
    assert await asyncio.to_thread(main, ["backup", "--verify", url]) == 0

    result = await target.restore(url)
    assert result.copies is not None and result.copies.copied == 6
    assert await target.stored() == await source.stored()
    assert (await target.objects()).keys() == (await source.objects()).keys()
    async with (
        target.api() as base_url,
        http_client(base_url, account.key) as client,
    ):
        for run_id in (kept, archived):
            view = await client.get(f"/v1/runs/{run_id}")
            [photo] = view.json()["answers"]["s-photo"]["photos"]
            content = await client.get(photo["url"].removeprefix("https://checklists.example"))
            assert (content.status_code, content.headers["content-type"]) == (200, "image/jpeg")
