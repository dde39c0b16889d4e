"""Keys of a bucket in files: used by commands and by the API, and read again."""

import logging
from pathlib import Path

import pytest
from tests.mounted_secret import MountedSecret
from tests.waiting import eventually

from checklist_crds.object_store import StoreUnavailable
from checklist_crds.photo_store import PhotoStore
from checklist_dev.s3_server import S3Server

from .conftest import StartApi
from .executor_client import person_for, step
from .pictures import picture

KEY = "photos/r-1/one"


@pytest.fixture
def settings(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Those of a bucket, without its keys; also in the environment of the process, where the client looks."""
    settings = s3.settings(tmp_path.name)
    del settings["AWS_ACCESS_KEY_ID"], settings["AWS_SECRET_ACCESS_KEY"]
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return settings


def named(files: MountedSecret) -> dict[str, str]:
    return {
        "CHECKLISTS_S3_ACCESS_KEY_ID_FILE": str(files.path("id")),
        "CHECKLISTS_S3_SECRET_ACCESS_KEY_FILE": str(files.path("secret")),
    }


async def test_commands_find_them_by_the_same_names(
    s3: S3Server, tmp_path: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `kubectl exec` has them in a pod."""
    files = MountedSecret(tmp_path / "mounted", id=f"{s3.access_key}\n", secret=f"{s3.secret_key}\n")
    (file := tmp_path / "photo").write_bytes(b"bytes of a photo")
    with monkeypatch.context() as patch:
        for name, value in named(files).items():
            patch.setenv(name, value)
        store = PhotoStore.open(settings["CHECKLISTS_PHOTO_STORE"])
        await store.put(KEY, file, "image/jpeg")
        assert await store.read(KEY, at_most=99) == b"bytes of a photo"
    with pytest.raises(StoreUnavailable):
        await PhotoStore.open(settings["CHECKLISTS_PHOTO_STORE"]).read(KEY, at_most=99)


async def test_a_running_api_takes_the_keys_that_a_secret_holds_now(
    start_api: StartApi, s3: S3Server, tmp_path: Path, settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    files = MountedSecret(tmp_path / "mounted", id=s3.access_key, secret="secret-of-yesterday")
    api = await start_api(**settings, **named(files))
    person = await person_for(api, step("a", "photo"))

    async def is_taken() -> bool:
        return (await person.upload("a", picture(size=(64, 48)))).status_code in (200, 201)

    assert (await person.upload("a", picture(size=(64, 48)))).status_code == 503
    files.change(secret=s3.secret_key)
    await eventually(is_taken, every_s=0.2)
    assert s3.secret_key not in caplog.text
