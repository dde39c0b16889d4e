"""Builds the five events: envelope and data, and the parts shared with REST (contract section 9)."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Protocol

from pydantic import JsonValue

from ..photos.urls import PhotoUrl
from ..resources.event_names import ALL_EVENTS, EVENT_NAMES, EventName, event_name_problem
from ..resources.run import Answer, Geo, OutboxEntry, PhotoRef, Progress, Run
from ..resources.template_definition import Definition, Section, Step
from ..templates.answers import display_value
from ..times import format_optional, format_timestamp

__all__ = [
    "ALL_EVENTS",
    "EVENT_NAMES",
    "EventName",
    "PhotoUrl",
    "answer_view",
    "envelope",
    "event_data",
    "event_name_problem",
    "final_data",
    "for_attempt",
    "geo_view",
    "identity_view",
    "photo_view",
    "progress_view",
    "signature_view",
]


def progress_view(progress: Progress) -> dict[str, int]:
    return {"total": progress.total, "answered": progress.answered, "skipped": progress.skipped}


def geo_view(answer: Answer) -> dict[str, float | None] | None:
    geo = answer.geo
    return None if geo is None else {"lat": geo.lat, "lng": geo.lng, "accuracy_m": geo.accuracy_m}


def photo_view(photo: PhotoRef, geo: Geo | None, photo_url: PhotoUrl) -> dict[str, Any]:
    """Returns a photo for REST and events; `distance_m` is from where it was taken to where the answer was given."""
    return {
        "photo_index": photo.index,
        "url": photo_url(photo),
        "thumbnail_url": photo_url(photo, thumbnail=True),
        "content_type": photo.content_type,
        "bytes": photo.bytes,
        "sha256": photo.sha256,
        "width": photo.width,
        "height": photo.height,
        "captured_at": format_optional(photo.captured_at),
        "captured_at_zone": _captured_at_zone(photo),
        "distance_m": distance_m(photo.taken_at, geo) if photo.taken_at is not None and geo is not None else None,
    }


def _captured_at_zone(photo: PhotoRef) -> str | None:
    if photo.captured_at is None:
        return None
    return "assumed" if photo.captured_at_assumed else "stated"


def answer_view(answer: Answer, photo_url: PhotoUrl) -> dict[str, Any]:
    """Returns the Answer object of the specification, with `received_at`."""
    return {
        "value": _with_drawing(answer.value, answer.drawing, photo_url),
        "photos": [photo_view(photo, answer.geo, photo_url) for photo in answer.photos],
        "geo": geo_view(answer),
        "at": format_timestamp(answer.at),
        "by": answer.by,
        "received_at": format_timestamp(answer.received_at or answer.at),
    }


def recorded(view: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an `answer_view` for what must not change between releases: events, and exports with a digest.

    `received_at` is left out where it equals `at`, because releases that do not know it have no other answers.
    """
    return {name: value for name, value in view.items() if name != "received_at" or value != view["at"]}


def recorded_answer_view(answer: Answer, photo_url: PhotoUrl) -> dict[str, Any]:
    """Returns `answer_view`, as `recorded` has it."""
    return recorded(answer_view(answer, photo_url))


def _with_drawing(value: JsonValue, drawing: PhotoRef | None, photo_url: PhotoUrl) -> JsonValue:
    """Adds the URL of its drawing to a signature's value; without a name it is not a signature."""
    if drawing is None or not isinstance(value, dict):
        return value
    return {**value, "url": photo_url(drawing)}


def identity_view(run: Run) -> dict[str, Any]:
    """Returns the executor identity of the specification; fields are null until they are given."""
    identity = run.status.identity
    mode = run.resolved.identity_mode.value if run.resolved else "anonymous"
    if mode == "external":
        return {
            "mode": mode,
            "name": identity.name if identity else None,
            "email": identity.email if identity else None,
        }
    if mode == "member":
        return {"mode": mode, "user_id": identity.user_id if identity else None}
    return {"mode": mode}


def signature_view(run: Run, photo_url: PhotoUrl) -> dict[str, Any] | None:
    signature = run.status.signature
    if signature is None:
        return None
    return {
        "url": photo_url(signature.photo) if signature.photo else None,
        "name": signature.name,
        "signed_at": format_timestamp(signature.signed_at),
    }


def event_data(entry: OutboxEntry, run: Run, definition: Definition, photo_url: PhotoUrl) -> dict[str, Any]:
    """Returns the `data` of an event: stored for step events, computed for a final run."""
    match entry.event:
        case EventName.STEP_COMPLETED | EventName.STEP_SKIPPED:
            return _step_data(entry, definition, photo_url)
        case _:
            return final_data(entry.event, run, entry.ts, photo_url)


def final_data(event: EventName, run: Run, ts: datetime, photo_url: PhotoUrl) -> dict[str, Any]:
    """Returns the `data` of a run's final event at `ts`, the same at any time. Raises ValueError for other events."""
    match event:
        case EventName.RUN_COMPLETED:
            return _completed_data(run, photo_url)
        case EventName.RUN_CANCELLED:
            return _cancelled_data(run, photo_url)
        case EventName.RUN_EXPIRED:
            return {"expires_at": format_timestamp(run.expires_at or ts), "progress": progress_view(run.progress)}
        case _:
            raise ValueError(f"{event.value} is not a final event of a run")


def _find_step(definition: Definition, step_id: str) -> tuple[Section, Step]:
    return next((section, step) for section, step in definition.steps() if step.id == step_id)


def _step_data(entry: OutboxEntry, definition: Definition, photo_url: PhotoUrl) -> dict[str, Any]:
    frozen = entry.frozen
    section, step = _find_step(definition, frozen["step_id"])
    data: dict[str, Any] = {"step_id": step.id, "section_id": section.id}
    if entry.event is EventName.STEP_COMPLETED:
        photos = [PhotoRef.model_validate(photo) for photo in frozen.get("photos", [])]
        drawing = PhotoRef.model_validate(frozen["drawing"]) if frozen.get("drawing") else None
        data |= {
            "type": step.type.value,
            "label": step.label,
            "value": _with_drawing(frozen["value"], drawing, photo_url),
            "display": display_value(step, frozen["value"]),
            "photos": [{"photo_index": photo.index, "url": photo_url(photo), "thumbnail": None} for photo in photos],
            "geo": frozen["geo"],
            "at": frozen["at"],
            "by": frozen["by"],
            "revision": frozen["revision"],
        }
    else:
        data |= {"label": step.label, "at": frozen["at"], "by": frozen["by"]}
    if "received_at" in frozen:  # and another time than `at`
        data["received_at"] = frozen["received_at"]
    data["progress"] = frozen["progress"]
    return data


def _completed_data(run: Run, photo_url: PhotoUrl) -> dict[str, Any]:
    status = run.status
    completed_at = status.completed_at or run.created_at
    started_at = status.started_at or completed_at
    return {
        "completed_at": format_timestamp(completed_at),
        "started_at": format_timestamp(started_at),
        "duration_seconds": (completed_at - started_at).total_seconds(),
        "answers": {step_id: recorded_answer_view(answer, photo_url) for step_id, answer in status.answers.items()},
        "photos": [
            {"step_id": step_id, "photo_index": photo.index, "url": photo_url(photo)}
            for step_id, answer in status.answers.items()
            for photo in answer.photos
        ],
        "skipped_steps": list(status.skipped_steps),
        "signature": signature_view(run, photo_url),
        "progress": progress_view(run.progress),
    }


def _cancelled_data(run: Run, photo_url: PhotoUrl) -> dict[str, Any]:
    status = run.status
    return {
        "cancelled_at": format_timestamp(status.cancelled_at or run.created_at),
        "reason": status.cancel_reason,
        "last_step_id": status.last_step_id,
        "answers": {step_id: recorded_answer_view(answer, photo_url) for step_id, answer in status.answers.items()},
        "progress": progress_view(run.progress),
    }


def envelope(entry: OutboxEntry, run: Run, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the envelope without `delivery_attempt`, the same for all attempts."""
    resolved = run.resolved
    if resolved is None:
        raise ValueError(f"run {run.name} was never admitted and can have no events")
    return {
        "event_id": entry.event_id,
        "event": entry.event.value,
        "run_id": run.id,
        "template_id": resolved.template_id,
        "template_v": resolved.template_version,
        "ts": format_timestamp(entry.ts),
        "identity": identity_view(run),
        "data": dict(data),
        "seq": entry.seq,
        "executor_ref": run.spec.executor_ref,
    }


def for_attempt(envelope: Mapping[str, Any], attempt: int) -> dict[str, Any]:
    """Returns the envelope of one attempt, in the specification's order of fields."""
    return {"event_id": envelope["event_id"], "delivery_attempt": attempt, **envelope}


_EARTH_RADIUS_M: Final = 6_371_008.8


class Point(Protocol):
    """Degrees, WGS 84."""

    @property
    def lat(self) -> float: ...
    @property
    def lng(self) -> float: ...


def distance_m(one: Point, other: Point) -> int:
    """Returns the great-circle distance in whole metres (haversine on a sphere: error of at most half a percent)."""
    lat, other_lat = math.radians(one.lat), math.radians(other.lat)
    half = math.sin((other_lat - lat) / 2) ** 2
    half += math.cos(lat) * math.cos(other_lat) * math.sin(math.radians(other.lng - one.lng) / 2) ** 2
    return round(2 * _EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, half))))
