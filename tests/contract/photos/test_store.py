"""The store of photos, a folder and S3: by itself and behind the executor API."""

import asyncio
import hashlib
import logging
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from tests.contract.conftest import EACH_STORE, Api, StartApi, until_status
from tests.contract.executor_client import error_of, person_for, step
from tests.contract.pictures import drawing, photo_of_a_camera, picture
from tests.mounted_secret import MountedSecret

from checklist_crds.photos.keys import PhotoFolder, photo_id, photo_key, thumbnail_key
from checklist_crds.photos.store import InvalidStore, PhotoStore, StoreUnavailable, default_url
from checklist_crds.times import utc_now
from checklist_dev.programs.s3_server import S3Server
from checklist_dev.system.ports import free_ports

RUN = "r-00000000-0000-4000-8000-000000000001"
OTHER_RUN = "r-00000000-0000-4000-8000-000000000002"
ORGANIZATION = "org-00000000-0000-4000-8000-00000000000a"
HERE, BEFORE = PhotoFolder(ORGANIZATION, RUN), PhotoFolder("", RUN)
KEY = photo_key(ORGANIZATION, RUN, photo_id(RUN, "one", "ab"))


@pytest.fixture
def store(photo_settings: dict[str, str]) -> PhotoStore:
    return PhotoStore.open(photo_settings["CHECKLISTS_PHOTO_STORE"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@EACH_STORE
async def test_what_was_put_is_got_in_small_chunks_listed_by_its_run_and_goes(store: PhotoStore, file: Path) -> None:
    assert (await store.get(KEY), await store.read(KEY, at_most=10)) == (None, None)
    await store.delete([KEY])
    assert (await store.folders(), await store.objects_of(HERE)) == ([], [])
    for size in (0, 1, 11_000_000):
        content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        file.write_bytes(content)
        await store.put(KEY, file, "image/jpeg")
        photo = await store.get(KEY)
        assert photo is not None and photo.size == size
        chunks = [chunk async for chunk in photo.chunks()]
        assert b"".join(chunks) == content
        assert max([len(chunk) for chunk in chunks], default=0) <= 1024 * 1024, "serving needs little memory"
    file.write_bytes(b"0123456789")
    other = photo_key(ORGANIZATION, OTHER_RUN, photo_id(OTHER_RUN, "one", "ab"))
    of_the_version_before = BEFORE.key(photo_id(RUN, "one", "ab"))
    for key in (KEY, thumbnail_key(KEY), other, of_the_version_before):
        await store.put(key, file, "image/jpeg")
    assert await store.read(KEY, at_most=10) == b"0123456789"
    assert await store.read(KEY, at_most=9) is None
    assert await store.folders() == [BEFORE, HERE, PhotoFolder(ORGANIZATION, OTHER_RUN)]
    assert {found.key for found in await store.objects_of(HERE)} == {KEY, thumbnail_key(KEY)}
    assert len(await store.objects_of_run(ORGANIZATION, RUN)) == 3
    await store.delete([KEY, thumbnail_key(KEY), KEY, of_the_version_before])
    assert await store.folders() == [PhotoFolder(ORGANIZATION, OTHER_RUN)]
    assert await store.read(other, at_most=10) == b"0123456789"


async def test_half_written_objects_are_listed_and_deleted(tmp_path: Path, file: Path) -> None:
    store = PhotoStore.open((tmp_path / "my photos").as_uri())
    file.write_bytes(b"x")
    await store.put(KEY, file, "image/jpeg")
    half = tmp_path / "my photos" / f"{KEY}#1"
    half.write_bytes(b"half of")
    found = await store.objects_of(HERE)
    assert {(one.key, one.size) for one in found} == {(KEY, 1), (f"{KEY}#1", 7)}
    assert abs((max(one.modified_at for one in found) - utc_now()).total_seconds()) < 60
    await store.delete([f"{KEY}#1", f"{KEY}#1"])
    assert await store.read(KEY, at_most=9) == b"x"
    half.write_bytes(b"half of")
    await store.delete([one.key for one in await store.objects_of(HERE)])
    assert (await store.folders(), half.parent.exists()) == ([], False)


async def test_a_folder_can_be_listed_while_another_process_deletes_it(tmp_path: Path, file: Path) -> None:
    store, other = (PhotoStore.open(tmp_path.as_uri()) for _ in range(2))
    file.write_bytes(b"x")

    async def put_and_delete() -> None:
        for _ in range(300):
            await other.put(KEY, file, "image/jpeg")
            await other.delete([KEY])

    writer = asyncio.create_task(put_and_delete())
    while not writer.done():
        assert {one.key.partition("#")[0] for one in await store.objects_of(HERE)} <= {KEY}
        assert await store.folders() in ([], [HERE])
    await writer


def test_an_address_that_is_no_store_is_refused_without_repeating_secrets() -> None:
    refused = ["", "photos", "http://example.com/photos", "memory:///", "file://elsewhere/photos", "file:photos"]
    refused += ["s3://user:secret@bucket/x", "s3://bucket/x?key=secret", "file:///proc/nothing/here"]
    for url in refused:
        with pytest.raises(InvalidStore) as caught:
            PhotoStore.open(url)
        assert "secret" not in str(caught.value)


async def test_an_unavailable_store_is_no_missing_photo(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    away = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_ports(1)[0]}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
    }
    for name, value in away.items():
        monkeypatch.setenv(name, value)
    store = PhotoStore.open("s3://bucket/x")
    file.write_bytes(b"x")
    for call in (store.get(KEY), store.put(KEY, file, "image/jpeg"), store.folders(), store.delete([KEY])):
        with pytest.raises(StoreUnavailable):
            await call


def test_api_and_operator_of_one_user_find_the_same_folder() -> None:
    assert default_url({"HOME": "/home/ada"}) == "file:///home/ada/.local/share/checklist-dispatch/photos"
    assert default_url({}) == "file:///var/lib/checklist-dispatch/photos"
    assert default_url({"XDG_DATA_HOME": "/data", "HOME": "/x"}) == "file:///data/checklist-dispatch/photos"


# --- keys of a bucket in files: used by commands and by the API, and read again


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
    assert (await person.upload("a", picture())).status_code == 503
    files.change(secret=s3.secret_key)
    await until_status(201, lambda: person.upload("a", picture()), every_s=0.2)
    assert s3.secret_key not in caplog.text


@EACH_STORE
async def test_a_photo_is_kept_once_and_can_be_fetched(api: Api) -> None:
    person = await person_for(api, step("a", "photo", required=True), step("b", "photo"))
    response = await person.upload("a", picture(), op_id="one")
    assert response.status_code == 201, response.text
    change = response.json()
    photo = change["photo"]
    assert change["answer"]["photos"] == [photo]
    assert (change["status"], change["progress"]["answered"], change["replayed"]) == ("in_progress", 1, False)
    assert (photo["photo_index"], photo["content_type"]) == (0, "image/jpeg")
    assert (photo["width"], photo["height"], photo["captured_at"], photo["distance_m"]) == (640, 480, None, None)
    served = await person.fetch(photo["url"])
    assert (served.status_code, len(served.content)) == (200, photo["bytes"])
    assert hashlib.sha256(served.content).hexdigest() == photo["sha256"]
    assert Image.open(BytesIO(served.content)).size == (640, 480)
    thumbnail = await person.fetch(photo["thumbnail_url"])
    assert max(Image.open(BytesIO(thumbnail.content)).size) == 320
    assert await person.events() == ["step.completed"]
    again = await person.upload("a", picture(), op_id="one")
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    assert (again.json()["photo"]["photo_index"], again.json()["photo"]["sha256"]) == (0, photo["sha256"])
    assert error_of(await person.upload("b", picture(), op_id="one")) == (422, "idempotency_key_reused")
    assert len(await person.photo_objects()) == 2
    assert list(api.services.settings.upload_folder.glob("checklist-dispatch-uploads-*/*")) == []


@EACH_STORE
async def test_what_a_photo_says_of_itself_becomes_data_and_is_not_served(api: Api) -> None:
    person = await person_for(api, step("a", "photo", geo=True))
    await person.answer("a", None, geo={"lat": 52.501, "lng": 13.4, "accuracy_m": 5})
    photo = (await person.upload("a", photo_of_a_camera())).json()["photo"]
    seen = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["answers"]["s-a"]["photos"][0]
    for each in (photo, seen):
        assert (each["captured_at"], each["captured_at_zone"]) == ("2026-11-21T12:30:00.000Z", "stated")
        assert 105 <= each["distance_m"] <= 117
    assert (photo["width"], photo["height"]) == (480, 640)
    served = await person.fetch(photo["url"])
    assert not Image.open(BytesIO(served.content)).getexif()
    assert b"Camera Works" not in served.content


@EACH_STORE
async def test_a_photo_is_served_so_that_it_can_be_nothing_but_an_image(api: Api) -> None:
    person = await person_for(api, step("a", "photo"), step("c", "signature"))
    url = (await person.upload("a", picture())).json()["photo"]["url"]
    served = await person.fetch(url)
    assert served.headers["X-Content-Type-Options"] == "nosniff"
    assert served.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert served.headers["Content-Disposition"].startswith('inline; filename="')
    assert served.headers["Cache-Control"].startswith("private, max-age=3")
    assert "X-Request-Id" in served.headers
    head = await person.fetch(url, "HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(served.content))
    part = await person.fetch(url, headers={"Range": "bytes=0-9"})
    assert (part.status_code, part.headers["Accept-Ranges"], part.content) == (200, "none", served.content)
    again = await person.fetch(url, headers={"If-None-Match": served.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    drawn = (await person.upload("c", drawing(), "image/png")).json()
    assert (drawn["progress"]["answered"], drawn["answer"]["value"]) == (1, None)
    signed = (await person.answer("c", {"name": "Ada"})).json()["answer"]
    assert (signed["value"]["name"], signed["photos"]) == ("Ada", [])
    served = await person.fetch(signed["value"]["url"])
    assert (served.status_code, served.headers["Content-Type"]) == (200, "image/png")
