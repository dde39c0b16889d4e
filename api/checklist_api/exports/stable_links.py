"""Photo links that do not expire, for files that are kept.

`{base}/runs/{run_id}/photos/{photo_id}` asks whoever follows it who they are, and then leads to an address that is
signed at that moment. `base` is the REST API for the bearer of a key, the dashboard's API for a member: a link in a
spreadsheet opens where its reader is signed in.
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
_NOT_FOUND: Final = "There is no such photo in this run."


def stable_links(base: str) -> PhotoUrl:
    """A maker of such addresses below `base`, for example `https://checklists.example/v1`."""

    def photo_url(photo: PhotoRef, *, thumbnail: bool = False) -> str:
        parts = parts_of(photo.key)
        if parts is None:
            raise ValueError(f"no key of a photo: {photo.key!r}")
        folder, photo_id = parts
        return f"{base}/runs/{folder.run_id}/photos/{photo_id}{'/thumbnail' if thumbnail else ''}"

    return photo_url


class StablePhotoRoutes:
    """Where such an address leads. Both raise RunNotFound, and NotFound for a photo that is not in the run."""

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
