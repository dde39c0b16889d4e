"""Bodies of deliveries: envelopes of events as the bytes that are digested, signed and sent (contract section 9).

For retries, the envelope is stored as JSON text without the attempt's number and thumbnails, and with photos as keys
(`event_photos` replaces them by URLs).
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.delivery import MAX_PAYLOAD
from checklist_crds.resources.run import OutboxEntry, Run
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.events import envelope, event_data, for_attempt

THUMBNAILS_DROPPED: Final = "thumbnails_dropped"
"""Set to true in `data` when thumbnails were left out because of the size limit."""


def first_envelope(entry: OutboxEntry, run: Run, definition: Definition, photo_url: PhotoUrl) -> dict[str, Any]:
    """Builds the envelope of an event in the outbox. `run` is at least as new as the event."""
    return envelope(entry, run, event_data(entry, run, definition, photo_url))


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


def size_of(message: Mapping[str, Any]) -> int:
    """Size of the envelope in bytes as sent, apart from the attempt's number."""
    return len(_encode(message))


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
