"""Every image of the corpus gets its verdict, and what is served of those that are taken is nothing but pixels."""

import hashlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from PIL import Image
from tests.unit import image_corpus
from tests.unit.image_corpus import ODD, REFUSED, SECRET, Case
from tests.unit.served_images import assert_nothing_but_pixels

from checklist_api.photos.limits import RECOMMENDED_MEMORY_MIB, THUMBNAIL_BYTES, THUMBNAIL_EDGE
from checklist_api.photos.processing import ImageWorkers, PhotoRefused, ProcessedPhoto
from checklist_api.photos.refusals import RefusalCode

in_one_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ImageWorkers]:
    made = ImageWorkers(memory_mib=RECOMMENDED_MEMORY_MIB, seconds=15, folder=tmp_path_factory.mktemp("workers"))
    await made.start()
    yield made
    await made.close()


async def process(workers: ImageWorkers, folder: Path, content: bytes) -> ProcessedPhoto:
    upload, into = folder / "upload", folder / "made"
    upload.write_bytes(content)
    into.mkdir(exist_ok=True)
    return await workers.process(upload, into)


@in_one_loop
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
async def test_it_is_refused(case: Case, workers: ImageWorkers, tmp_path: Path) -> None:
    pids = workers.pids
    with pytest.raises(PhotoRefused) as caught:
        await process(workers, tmp_path, case.make())
    assert (caught.value.status, caught.value.code) == (422, "answer_invalid")
    [problem] = caught.value.as_body()["details"]
    assert (problem["path"], problem["message"][-1]) == ("photo", ".")
    assert problem["code"] in case.codes
    assert not any((tmp_path / "made").iterdir())
    assert not pids or workers.pids == pids, "an image brought down its worker"


@in_one_loop
@pytest.mark.parametrize("case", ODD, ids=lambda case: case.name)
async def test_it_is_taken_and_only_its_pixels_are_served(case: Case, workers: ImageWorkers, tmp_path: Path) -> None:
    photo = await process(workers, tmp_path, case.make())
    served = photo.image.read_bytes()
    assert photo.content_type == case.content_type
    assert (photo.width, photo.height) == case.size
    assert (photo.bytes, photo.sha256) == (len(served), hashlib.sha256(served).hexdigest())
    assert SECRET not in served + photo.thumbnail.read_bytes()
    assert_nothing_but_pixels(photo.image, photo.content_type)
    assert_nothing_but_pixels(photo.thumbnail, "image/jpeg")
    with Image.open(photo.image) as image:
        image.load()
        assert image.get_format_mimetype() == case.content_type
        assert image.size == case.size
        assert getattr(image, "n_frames", 1) == 1
    with Image.open(photo.thumbnail) as thumbnail:
        thumbnail.load()
        assert thumbnail.format == "JPEG"
        assert max(thumbnail.size) <= THUMBNAIL_EDGE
    assert photo.thumbnail.stat().st_size <= THUMBNAIL_BYTES


WHOLE = {
    "jpeg": image_corpus.jpeg,
    "progressive jpeg": lambda: image_corpus.jpeg(progressive=True),
    "png": image_corpus.png,
    "webp": image_corpus.webp,
    "heic": image_corpus.heic,
}


@in_one_loop
@pytest.mark.parametrize("name", WHOLE)
async def test_a_file_cut_anywhere_is_refused_unless_all_its_pixels_are_there(
    name: str, workers: ImageWorkers, tmp_path: Path
) -> None:
    whole = WHOLE[name]()
    complete = (await process(workers, tmp_path, whole)).sha256
    ends = {len(whole) * step // 24 for step in range(24)} | {len(whole) - back for back in (1, 2, 3, 8, 16)}
    refused = 0
    for end in sorted(ends):
        try:
            photo = await process(workers, tmp_path, whole[:end])
        except PhotoRefused as error:
            assert error.refusal in {RefusalCode.TRUNCATED, RefusalCode.DAMAGED, RefusalCode.NOT_AN_IMAGE}, end
            refused += 1
        else:
            assert photo.sha256 == complete, end
    assert refused >= 22


@in_one_loop
@pytest.mark.parametrize("name", WHOLE)
async def test_a_file_with_overwritten_bytes_is_taken_or_refused_and_nothing_else(
    name: str, workers: ImageWorkers, tmp_path: Path
) -> None:
    chance = random.Random(name)
    pids = workers.pids
    whole = WHOLE[name]()
    for _ in range(40):
        changed = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            photo = await process(workers, tmp_path, bytes(changed))
        except PhotoRefused:
            continue
        assert_nothing_but_pixels(photo.image, photo.content_type)
    assert workers.pids == pids
