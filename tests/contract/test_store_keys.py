"""Keys of a bucket in files: used, read again, and refused where they make no sense."""

import asyncio
import base64
from pathlib import Path

import pytest
from tests.contract.pictures import picture
from tests.mounted_secret import MountedSecret
from tests.replicas.api_processes import api_processes

from checklist_crds.object_store import S3Keys, StoreUnavailable
from checklist_crds.photo_store import PhotoStore
from checklist_crds.settings.held import SecretText
from checklist_dev.controlplane import ControlPlane
from checklist_dev.s3_server import S3Server

from .conftest import Api, http_client

STEPS = [{"id": "s-a", "type": "photo", "label": "Take a photo"}]


def without_keys(s3: S3Server, prefix: str) -> dict[str, str]:
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    return {name: value for name, value in s3.settings(prefix).items() if name not in keys}


async def test_keys_hold_from_the_next_request_on(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = without_keys(s3, tmp_path.name)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (file := tmp_path / "photo").write_bytes(b"bytes of a photo")
    secret_key = SecretText(s3.secret_key)
    keys = S3Keys(SecretText(s3.access_key), secret_key)
    store = PhotoStore.open(settings["CHECKLISTS_PHOTO_STORE"], keys)
    await store.put("photos/r-1/one", file, "image/jpeg")
    for secret, holds in (("another, which is not good", False), (s3.secret_key, True)):
        secret_key.renew(secret)
        async with asyncio.timeout(30):
            while await _is_refused(store) is holds:
                await asyncio.sleep(0.05)
    assert await store.read("photos/r-1/one", at_most=99) == b"bytes of a photo"


async def test_commands_find_them_by_the_same_names(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `kubectl exec` has them in a pod."""
    files = MountedSecret(tmp_path / "mounted", id=f"{s3.access_key}\n", secret=f"{s3.secret_key}\n")
    named = {
        "CHECKLISTS_S3_ACCESS_KEY_ID_FILE": str(files.path("id")),
        "CHECKLISTS_S3_SECRET_ACCESS_KEY_FILE": str(files.path("secret")),
    }
    settings = without_keys(s3, tmp_path.name) | named
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (file := tmp_path / "photo").write_bytes(b"bytes of a photo")
    store = PhotoStore.open(settings["CHECKLISTS_PHOTO_STORE"])
    await store.put("photos/r-1/one", file, "image/jpeg")
    assert not await _is_refused(store)
    for name in named:
        monkeypatch.delenv(name)
    with pytest.raises(StoreUnavailable):
        await PhotoStore.open(settings["CHECKLISTS_PHOTO_STORE"]).read("photos/r-1/one", at_most=99)


async def _is_refused(store: PhotoStore) -> bool:
    try:
        await store.read("photos/r-1/one", at_most=99)
    except StoreUnavailable:
        return True
    return False


async def test_a_running_api_takes_the_keys_that_a_secret_holds_now(
    api: Api, s3: S3Server, control_plane: ControlPlane, tmp_path: Path, server_key: bytes
) -> None:
    template = await api.account.create_template(sections=[{"id": "g-1", "title": "All", "steps": STEPS}])
    link = (await api.account.dispatch(template["id"]))["link"]
    files = MountedSecret(tmp_path / "mounted", id=s3.access_key, secret="secret-of-yesterday")
    settings = without_keys(s3, tmp_path.name) | {
        "CHECKLISTS_SERVER_KEY": base64.b64encode(server_key).decode(),
        "CHECKLISTS_S3_ACCESS_KEY_ID_FILE": str(files.path("id")),
        "CHECKLISTS_S3_SECRET_ACCESS_KEY_FILE": str(files.path("secret")),
    }
    run_id, _, token = link.rpartition("/")[2].partition("#")
    headers = {"Authorization": f"Executor {token}", "Content-Type": "image/jpeg"}
    async with (
        api_processes(1, tmp_path, control_plane.kubeconfig, api.namespace, **settings) as [program],
        http_client(program.url) as http,
    ):

        async def uploaded() -> int:
            path = f"/v1/executor/runs/{run_id}/answers/s-a/photos"
            return (await http.post(path, content=picture(size=(64, 48)), headers=headers)).status_code

        assert await uploaded() == 503
        files.change(secret=s3.secret_key)
        async with asyncio.timeout(60):
            while await uploaded() not in (200, 201):
                await asyncio.sleep(0.2)
        assert program.child.running
        assert s3.secret_key not in program.child.output()
