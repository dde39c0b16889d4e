"""Photos for the tests of the operator: in the store, and in runs, as the API puts them there."""

import asyncio
import hashlib
import os
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.cluster.operator_lab import BASE_URL, SERVER_KEY, Lab

from checklist_crds.ids import object_id
from checklist_crds.photos.keys import PhotoFolder, photo_id, photo_key, thumbnail_key
from checklist_crds.photos.store import PhotoStore
from checklist_crds.photos.urls import SignedUrls
from checklist_crds.platform.object_store import StoredObject
from checklist_crds.resources.kinds import TEMPLATE
from checklist_crds.resources.run import PhotoRef
from checklist_crds.runs.commands import AddPhoto
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import utc_now

STEPS: list[dict[str, Any]] = [
    {"id": "s-0", "type": "photo", "label": "Take photos"},
    {"id": "s-1", "type": "number", "label": "How many?"},
]


class PhotoLab:
    """A lab whose template asks for photos, and a store."""

    def __init__(self, lab: Lab, store: PhotoStore, folder: Path) -> None:
        self.lab = lab
        self.store = store
        self._folder = folder
        self._urls = SignedUrls(ServerKeys(SERVER_KEY), BASE_URL, utc_now)

    async def prepare(self) -> None:
        sections = [{"id": "g-1", "title": "Kitchen", "steps": STEPS}]
        name = self.lab.template["metadata"]["name"]
        self.lab.template = await self.lab.client.patch(
            TEMPLATE, name, {"spec": {"sections": sections}}, self.lab.namespace
        )

    async def put(self, run: str, *, thumbnail: bytes = b"a small picture") -> PhotoRef:
        """Bytes in the store that belong to no answer yet."""
        content = os.urandom(64)
        sha256 = hashlib.sha256(content).hexdigest()
        key = photo_key(object_id("org", self.lab.organization), run, photo_id(run, None, sha256))
        for where, what in ((key, content), (thumbnail_key(key), thumbnail)):
            file = self._folder / uuid.uuid4().hex
            file.write_bytes(what)
            await self.store.put(where, file, "image/jpeg")
            await asyncio.to_thread(file.unlink)
        return PhotoRef(key=key, content_type="image/jpeg", bytes=64, sha256=sha256, width=4, height=3)

    async def add(self, run: str, **content: bytes) -> PhotoRef:
        """A photo of the first step."""
        photo = await self.put(run, **content)
        await self.lab.store.change(self.lab.namespace, run, AddPhoto(step_id="s-0", photo=photo))
        return photo

    async def objects(self, run: str) -> list[StoredObject]:
        return await self.store.objects_of_run(object_id("org", self.lab.organization), run)

    async def keys(self, run: str) -> set[str]:
        """Of which photos the store has something: the image, or its thumbnail."""
        return {stored.key.removesuffix(".thumbnail.jpg") for stored in await self.objects(run)}

    def seconds_left(self, url: str) -> int | None:
        """How long the address holds; None when the service would not take it."""
        assert url.startswith(BASE_URL + "/v1/photos/"), url
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        run, photo, *rest = parts.path.removeprefix("/v1/photos/").split("/")
        folder = PhotoFolder(query["o"][0], run)
        return self._urls.seconds_left(folder, photo, query["e"][0], query["s"][0], thumbnail=rest == ["thumbnail"])
