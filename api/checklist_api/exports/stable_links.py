"""Photo links that do not expire, for exported files.

`{base}/runs/{run_id}/photos/{photo_id}` authenticates the client and redirects to a signed URL. `base` is the REST API
for bearers of a key or the dashboard's API for members, so that a link in a spreadsheet works for signed-in members.
"""

from typing import Final

from aiohttp import web

from checklist_crds.errors import NotFound
from checklist_crds.photos.keys import parts_of
from checklist_crds.photos.urls import IN_ANSWERS, PhotoUrl, SignedUrls
from checklist_crds.resources.run import PhotoRef
from checklist_crds.runs.photos import photos_of

from ..auth.gate import Caller, Gate
from ..runs.access import RunAccess

PHOTO: Final = "/runs/{run_id}/photos/{photo_id}"
_NOT_FOUND: Final = "Photo not found."


def stable_links(base: str) -> PhotoUrl:
    """Return a function that creates links below `base`, for example `https://checklists.example/v1`."""

    def photo_url(photo: PhotoRef, *, thumbnail: bool = False) -> str:
        parts = parts_of(photo.key)
        if parts is None:
            raise ValueError(f"not a photo key: {photo.key!r}")
        folder, photo_id = parts
        return f"{base}/runs/{folder.run_id}/photos/{photo_id}{'/thumbnail' if thumbnail else ''}"

    return photo_url


class StablePhotoRoutes:
    """Redirects from stable links. Both handlers raise RunNotFound and NotFound."""

    def __init__(self, runs: RunAccess, photo_urls: SignedUrls) -> None:
        self._runs = runs
        self._photo_urls = photo_urls

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_get(f"/v1{PHOTO}", gate.owner(self.photo))
        router.add_get(f"/v1{PHOTO}/thumbnail", gate.owner(self.thumbnail))

    async def photo(self, request: web.Request, caller: Caller) -> web.Response:
        return await self._redirect(request, caller, thumbnail=False)

    async def thumbnail(self, request: web.Request, caller: Caller) -> web.Response:
        return await self._redirect(request, caller, thumbnail=True)

    async def _redirect(self, request: web.Request, caller: Caller, *, thumbnail: bool) -> web.Response:
        run_id, photo_id = request.match_info["run_id"], request.match_info["photo_id"]
        run = await self._runs.of_organization(run_id, caller.organization)
        key = next((photo.key for photo in photos_of(run.status) if _id_of(photo) == photo_id), None)
        if key is None:
            raise NotFound(_NOT_FOUND)
        location = self._photo_urls.url(key, IN_ANSWERS, thumbnail=thumbnail)
        return web.Response(status=302, headers={"Location": location, "Cache-Control": "no-store"})


def _id_of(photo: PhotoRef) -> str | None:
    parts = parts_of(photo.key)
    return None if parts is None else parts[1]
