"""Image workers, files and folders for the images of one test, and what Linux says of their processes."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.photos.image_corpus import png
from tests.waiting import eventually

from checklist_api.photos.limits import RECOMMENDED_MEMORY_MIB
from checklist_api.photos.processing import ImageWorkers, PhotoRefused, ProcessedPhoto

Job = asyncio.Task[ProcessedPhoto]


class Lab:
    """Workers that are closed with `async with`."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        options = {"memory_mib": RECOMMENDED_MEMORY_MIB, "seconds": 15, "max_waiting": 8} | changes
        self.workers = ImageWorkers(folder=folder / "workers", **options)
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._count = 0

    async def __aenter__(self) -> "Lab":
        await self.workers.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.workers.close()

    def upload(self, content: bytes) -> tuple[Path, Path]:
        self._count += 1
        upload, into = self._folder / f"upload-{self._count}", self._folder / f"made-{self._count}"
        upload.write_bytes(content)
        into.mkdir()
        return upload, into

    def without_end(self) -> tuple[Path, Path]:
        """An upload that is never written: a process that opens it waits, and uses no processor time."""
        upload, into = self.upload(b"")
        upload.unlink()
        os.mkfifo(upload)
        return upload, into

    def processing(self, upload: tuple[Path, Path]) -> Job:
        return asyncio.create_task(self.workers.process(*upload))

    async def begin_endless(self) -> tuple[Job, int, Path]:
        """Starts a job that does not end by itself: the job, the id of its process and its folder."""
        before = self.images
        upload = self.without_end()
        job = self.processing(upload)
        [image] = await eventually(lambda: self.images - before)
        return job, image, upload[1]

    @property
    def images(self) -> set[int]:
        """Processes of the images under way."""
        return {child for pid in self.workers.pids for child in children_of(pid)}

    async def refusal(self, content: bytes) -> PhotoRefused:
        with pytest.raises(PhotoRefused) as caught:
            await self.workers.process(*self.upload(content))
        return caught.value

    async def usable(self) -> list[int]:
        """Processes an image, and returns the workers."""
        assert (await self.workers.process(*self.upload(png()))).content_type == "image/png"
        return self.workers.pids


def status_of(pid: int | str) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return status_of(pid)["State"][0] not in "ZX"
    except FileNotFoundError:
        return False
