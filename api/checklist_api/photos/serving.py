"""/v1/photos: serves photos at signed URLs (contract section 4).

Only the signature is checked, so this works while the cluster is down. Images were written by our workers; the headers
additionally ensure that browsers treat them as images only.
"""

from typing import Final

from aiohttp import web

from checklist_crds.errors import NotFound, ServiceUnavailable
from checklist_crds.photos.keys import PhotoFolder, thumbnail_key
from checklist_crds.photos.store import PhotoStore, StoredPhoto, StoreUnavailable
from checklist_crds.photos.urls import SignedUrls

from ..auth.gate import Gate
from ..http.middleware import frame_headers

PHOTO: Final = "/v1/photos/{run_id}/{photo_id}"
_NOT_FOUND: Final = "Photo not found, or its URL has expired."
_KINDS: Final = (
    (b"\xff\xd8\xff", "image/jpeg", ".jpg"),
    (b"\x89PNG\r\n\x1a\n", "image/png", ".png"),
    (b"RIFF", "image/webp", ".webp"),
)
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Referrer-Policy": "no-referrer",
    # The URL is the permission, so other sites may embed the photo.
    "Cross-Origin-Resource-Policy": "cross-origin",
}


class PhotoServing:
    def __init__(self, urls: SignedUrls, store: PhotoStore) -> None:
        self._urls = urls
        self._store = store

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_get(PHOTO, gate.public(self.photo))
        router.add_get(f"{PHOTO}/thumbnail", gate.public(self.thumbnail))

    async def photo(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, thumbnail=False)

    async def thumbnail(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, thumbnail=True)

    async def _serve(self, request: web.Request, *, thumbnail: bool) -> web.StreamResponse:
        folder = PhotoFolder(request.query.get("o", ""), request.match_info["run_id"])
        photo_id, expires, signature = (
            request.match_info["photo_id"],
            request.query.get("e", ""),
            request.query.get("s", ""),
        )
        left = self._urls.seconds_left(folder, photo_id, expires, signature, thumbnail=thumbnail)
        if left is None:
            raise NotFound(_NOT_FOUND)
        # Content never changes under a key.
        tag = f'"{photo_id}"'
        headers = {**_HEADERS, "Cache-Control": f"private, max-age={left}, immutable", "ETag": tag}
        if tag in (part.strip() for part in request.headers.get("If-None-Match", "").split(",")):
            return web.Response(status=304, headers=headers)
        key = folder.key(photo_id)
        try:
            photo = await self._store.get(thumbnail_key(key) if thumbnail else key)
        except StoreUnavailable:
            raise ServiceUnavailable("Photos are temporarily unavailable. Try again.") from None
        if photo is None:
            raise NotFound(_NOT_FOUND)
        return await _send(request, photo, photo_id, headers)


async def _send(request: web.Request, photo: StoredPhoto, name: str, headers: dict[str, str]) -> web.StreamResponse:
    kind, suffix = next(
        ((kind, suffix) for magic, kind, suffix in _KINDS if photo.head.startswith(magic)),
        ("application/octet-stream", ""),
    )
    response = web.StreamResponse(
        headers={
            **headers,
            "Content-Type": kind,
            "Content-Length": str(photo.size),
            "Accept-Ranges": "none",
            "Content-Disposition": f'inline; filename="{name}{suffix}"',
        }
    )
    frame_headers(request, response)
    await response.prepare(request)
    if request.method != "HEAD":
        try:
            async for chunk in photo.chunks():
                await response.write(chunk)
        except StoreUnavailable:
            # Content-Length was sent, so abort the connection to signal the truncation.
            if request.transport is not None:
                request.transport.abort()
            return response
    await response.write_eof()
    return response
