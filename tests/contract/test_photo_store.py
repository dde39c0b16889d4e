"""The store of photos, in a folder and in S3: the same promises."""

from pathlib import Path

import pytest

from checklist_crds.photo_keys import PhotoFolder, photo_id, photo_key, thumbnail_key
from checklist_crds.photo_store import InvalidStore, PhotoStore, StoreUnavailable, default_url
from checklist_crds.times import utc_now
from checklist_dev.ports import free_ports

RUN = "r-00000000-0000-4000-8000-000000000001"
OTHER_RUN = "r-00000000-0000-4000-8000-000000000002"
ORGANIZATION = "org-00000000-0000-4000-8000-00000000000a"
HERE, BEFORE = PhotoFolder(ORGANIZATION, RUN), PhotoFolder("", RUN)
KEY = photo_key(ORGANIZATION, RUN, photo_id(RUN, "one", "ab"))


@pytest.fixture
def store(each_store: dict[str, str]) -> PhotoStore:
    return PhotoStore.open(each_store["CHECKLISTS_PHOTO_STORE"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.parametrize("size", [0, 1, 300_000, 11_000_000])
async def test_what_was_put_is_what_is_got_in_small_chunks(store: PhotoStore, file: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    file.write_bytes(content)
    await store.put(KEY, file, "image/jpeg")
    photo = await store.get(KEY)
    assert photo is not None
    assert photo.size == size
    chunks = [chunk async for chunk in photo.chunks()]
    assert b"".join(chunks) == content
    assert max([len(chunk) for chunk in chunks], default=0) <= 1024 * 1024, "serving needs little memory"


async def test_what_is_not_there_is_none_and_can_be_deleted_and_only_small_objects_are_read_whole(
    store: PhotoStore, file: Path
) -> None:
    assert await store.get(KEY) is None
    assert await store.read(KEY, at_most=10) is None
    await store.delete([KEY])
    assert (await store.folders(), await store.objects_of(HERE)) == ([], [])
    file.write_bytes(b"0123456789")
    await store.put(KEY, file, "image/jpeg")
    assert await store.read(KEY, at_most=10) == b"0123456789"
    assert await store.read(KEY, at_most=9) is None


async def test_a_listing_is_of_one_run_and_goes_with_its_objects(store: PhotoStore, file: Path) -> None:
    file.write_bytes(b"x")
    other = photo_key(ORGANIZATION, OTHER_RUN, photo_id(OTHER_RUN, "one", "ab"))
    of_the_version_before = BEFORE.key(photo_id(RUN, "one", "ab"))
    for key in (KEY, thumbnail_key(KEY), other, of_the_version_before):
        await store.put(key, file, "image/jpeg")
    assert await store.folders() == [BEFORE, HERE, PhotoFolder(ORGANIZATION, OTHER_RUN)]
    assert {found.key for found in await store.objects_of(HERE)} == {KEY, thumbnail_key(KEY)}
    assert [found.key for found in await store.objects_of(BEFORE)] == [of_the_version_before]
    assert len(await store.objects_of_run(ORGANIZATION, RUN)) == 3
    await store.delete([KEY, thumbnail_key(KEY), KEY, of_the_version_before])
    assert await store.folders() == [PhotoFolder(ORGANIZATION, OTHER_RUN)]
    assert await store.read(other, at_most=9) == b"x"


async def test_what_a_killed_process_left_half_written_is_listed_and_goes_with_the_rest(
    tmp_path: Path, file: Path
) -> None:
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


def test_an_address_that_is_no_store_is_refused_without_repeating_secrets() -> None:
    refused = ["", "photos", "http://example.com/photos", "memory:///", "file://elsewhere/photos", "file:photos"]
    refused += ["s3://user:secret@bucket/x", "s3://bucket/x?key=secret", "file:///proc/nothing/here"]
    for url in refused:
        with pytest.raises(InvalidStore) as caught:
            PhotoStore.open(url)
        assert "secret" not in str(caught.value)


async def test_a_store_that_is_away_is_told_apart_from_a_photo_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
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
