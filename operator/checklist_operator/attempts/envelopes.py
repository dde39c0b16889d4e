"""The body of a delivery: the event's envelope as the bytes that are digested, signed and sent (contract section 9).

What is stored for retries is the envelope without the number of the attempt and without thumbnails, as JSON text, and
with photos named by their keys (`event_photos` makes addresses of them).
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
"""Set to true in `data` when the thumbnails made the envelope too large and were left out."""


def first_envelope(entry: OutboxEntry, run: Run, definition: Definition, photo_url: PhotoUrl) -> dict[str, Any]:
    """The envelope of an event in the outbox. `run` is at least as new as the event."""
    return envelope(entry, run, event_data(entry, run, definition, photo_url))


def body_of(message: Mapping[str, Any], attempt: int) -> bytes:
    """The body of one attempt: UTF-8, at most 1 MiB as long as leaving out thumbnails achieves that."""
    body = _encode(for_attempt(message, attempt))
    if len(body) > MAX_PAYLOAD:
        body = _encode(for_attempt(_without_thumbnails(message), attempt))
    return body


def payload_of(message: Mapping[str, Any]) -> str:
    """What a WebhookDelivery keeps of the envelope."""
    return _encode(_without_thumbnails(message, mark=False)).decode()


def kept_message(payload: str) -> dict[str, Any]:
    """The envelope that a WebhookDelivery has kept, for a later attempt."""
    message: dict[str, Any] = json.loads(payload)
    return message


def size_of(message: Mapping[str, Any]) -> int:
    """Bytes of the envelope as it is sent, give or take the number of the attempt."""
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
