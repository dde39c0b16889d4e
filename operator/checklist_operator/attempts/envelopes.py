"""Bodies of deliveries: envelopes of events as the bytes that are digested, signed and sent (contract section 9).

For retries, the envelope is stored as JSON text without the attempt's number and thumbnails, and with photos as keys.
`EventPhotos` replaces the keys by URLs that are valid for seven days from the attempt, and adds thumbnails within the
size limit. An event never waits for the photo store: thumbnails that do not load in time are left out, and the event
says so.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Container, Mapping
from typing import Any, Final

from checklist_crds.photos.keys import PhotoFolder, parts_of, thumbnail_key
from checklist_crds.photos.store import PhotoStore, StoreUnavailable
from checklist_crds.photos.urls import IN_EVENTS, SignedUrls
from checklist_crds.resources.delivery import MAX_PAYLOAD
from checklist_crds.resources.run import OutboxEntry, PhotoRef, Run
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.events import envelope, event_data, final_data, for_attempt
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

ENVELOPE_AIM: Final = 256 * 1024
_THUMBNAIL_BYTES: Final = 32 * 1024
_THUMBNAILS_WITHIN_S: Final = 3.0
_ADDRESSES: Final = frozenset({"url", "thumbnail_url"})
THUMBNAILS_DROPPED: Final = "thumbnails_dropped"
"""Set to true in `data` when thumbnails were left out because of the size limit."""


def first_envelope(entry: OutboxEntry, run: Run, definition: Definition) -> dict[str, Any]:
    """Builds the envelope of an event in the outbox. `run` is at least as new as the event."""
    return envelope(entry, run, event_data(entry, run, definition, _photo_key))


def final_envelope(entry: OutboxEntry, run: Run) -> dict[str, Any]:
    """Builds the envelope of a run's last event again, from the final run. Raises ValueError for another event."""
    return envelope(entry, run, final_data(entry.event, run, entry.ts, _photo_key))


def body_of(message: Mapping[str, Any], attempt: int) -> bytes:
    """Encodes the body of one attempt: UTF-8, at most 1 MiB if leaving out thumbnails achieves that."""
    body = _encode(for_attempt(message, attempt))
    if len(body) > MAX_PAYLOAD:
        body = _encode(for_attempt(_without_thumbnails(message), attempt))
    return body


def payload_of(message: Mapping[str, Any]) -> str:
    """Encodes the envelope for a WebhookDelivery."""
    return _encode(_without_thumbnails(message, mark=False)).decode()


def kept_message(payload: str) -> dict[str, Any]:
    """Decodes the envelope of a WebhookDelivery."""
    message: dict[str, Any] = json.loads(payload)
    return message


def _size_of(message: Mapping[str, Any]) -> int:
    """Size of the envelope in bytes as sent, apart from the attempt's number."""
    return len(_encode(message))


class EventPhotos:
    """Converts a stored envelope into one that can be sent."""

    def __init__(self, store: PhotoStore, urls: SignedUrls) -> None:
        self._store = store
        self._urls = urls

    async def with_photo_urls(self, message: Mapping[str, Any], folders: Container[PhotoFolder]) -> dict[str, Any]:
        """Returns the envelope with URLs and thumbnails of photos in `folders`, those of the run; other keys stay."""
        data = message["data"]
        keys = [photo["url"] for photo in data.get("photos") or () if "thumbnail" in photo]
        data = self._addressed(data, folders)
        if keys:
            own = [key if _is_in(folders, key) else None for key in keys]
            data = await self._with_thumbnails({**message, "data": data}, own)
        return {**message, "data": data}

    def _addressed(self, node: Any, folders: Container[PhotoFolder], name: str = "") -> Any:
        if isinstance(node, dict):
            return {key: self._addressed(value, folders, key) for key, value in node.items()}
        if isinstance(node, list):
            return [self._addressed(item, folders) for item in node]
        if name in _ADDRESSES and _is_in(folders, node):
            return self._address(node, thumbnail=name == "thumbnail_url")
        return node

    def _address(self, key: str, *, thumbnail: bool) -> str:
        return self._urls.url(key.removesuffix(".thumbnail.jpg"), IN_EVENTS, thumbnail=thumbnail)

    async def _with_thumbnails(self, message: Mapping[str, Any], keys: list[str | None]) -> dict[str, Any]:
        """Returns the data with the first thumbnails that fit into the size limit."""
        room = ENVELOPE_AIM - _size_of(message)
        photos, dropped = [], False
        for photo, thumbnail in zip(message["data"]["photos"], await self._thumbnails(keys), strict=True):
            room -= len(thumbnail or "")
            fits = thumbnail is not None and room >= 0
            dropped |= not fits
            photos.append({**photo, "thumbnail": thumbnail if fits else None})
        return {**message["data"], "photos": photos} | ({THUMBNAILS_DROPPED: True} if dropped else {})

    async def _thumbnails(self, keys: list[str | None]) -> list[str | None]:
        try:
            async with asyncio.timeout(_THUMBNAILS_WITHIN_S):
                return list(await asyncio.gather(*map(self._thumbnail, keys)))
        except TimeoutError:
            logger.warning("thumbnail.left_out", extra=about(reason="the photo store does not answer in time"))
            return [None] * len(keys)

    async def _thumbnail(self, key: str | None) -> str | None:
        """Returns the thumbnail in Base64."""
        if key is None:
            return None
        try:
            image = await self._store.read(thumbnail_key(key), at_most=_THUMBNAIL_BYTES)
        except StoreUnavailable as error:
            logger.warning("thumbnail.left_out", extra=about(reason=str(error)))
            return None
        return None if image is None else base64.b64encode(image).decode()


def _is_in(folders: Container[PhotoFolder], key: Any) -> bool:
    """Whether it is the key of a photo in one of the folders. A delivery made by hand may have any text there."""
    parts = parts_of(key) if isinstance(key, str) else None
    return parts is not None and parts[0] in folders


def _photo_key(photo: PhotoRef, *, thumbnail: bool = False) -> str:
    """Takes the place of a URL in a stored event."""
    return thumbnail_key(photo.key) if thumbnail else photo.key


def _encode(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _without_thumbnails(message: Mapping[str, Any], *, mark: bool = True) -> dict[str, Any]:
    data = dict(message["data"])
    photos = data.get("photos")
    if not photos or not any(photo.get("thumbnail") for photo in photos):
        return dict(message)
    data["photos"] = [{**photo, "thumbnail": None} if "thumbnail" in photo else photo for photo in photos]
    if mark:
        data[THUMBNAILS_DROPPED] = True
    return {**message, "data": data}
