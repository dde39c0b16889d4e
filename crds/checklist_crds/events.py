"""The five events: their names, and the envelope and data that receivers get (contract section 9)."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from .times import format_timestamp

if TYPE_CHECKING:
    from .run_types import Answer, OutboxEntry, PhotoRef, Progress, Run
    from .template_types import Definition, Section, Step


class EventName(StrEnum):
    STEP_COMPLETED = "step.completed"
    STEP_SKIPPED = "step.skipped"
    RUN_COMPLETED = "run.completed"
    RUN_CANCELLED = "run.cancelled"
    RUN_EXPIRED = "run.expired"


EVENT_NAMES: Final = tuple(event.value for event in EventName)
ALL_EVENTS: Final = "*"

PhotoUrl = Callable[["PhotoRef"], str]
"""Makes a signed address for a photo; made anew at every read and every attempt."""


def event_name_problem(events: object) -> str | None:
    """Why `events` is no subscription (contract section 10), or None when it is one."""
    if not isinstance(events, list) or not events:
        return "must be a non-empty list of event names"
    if events == [ALL_EVENTS]:
        return None
    unknown = [event for event in events if not isinstance(event, str) or event not in EVENT_NAMES]
    if unknown:
        return f"must name events out of {', '.join(EVENT_NAMES)}, or be exactly ['*']; not {unknown[0]!r}"
    if len(set(events)) != len(events):
        return "names an event twice"
    return None


def progress_view(progress: "Progress") -> dict[str, int]:
    return {"total": progress.total, "answered": progress.answered, "skipped": progress.skipped}


def geo_view(answer: "Answer") -> dict[str, float | None] | None:
    geo = answer.geo
    return None if geo is None else {"lat": geo.lat, "lng": geo.lng, "accuracy_m": geo.accuracy_m}


def photo_view(photo: "PhotoRef", index: int, photo_url: PhotoUrl) -> dict[str, Any]:
    return {
        "photo_index": index,
        "url": photo_url(photo),
        "content_type": photo.content_type,
        "bytes": photo.bytes,
        "sha256": photo.sha256,
        "width": photo.width,
        "height": photo.height,
        "captured_at": format_timestamp(photo.captured_at) if photo.captured_at else None,
    }


def answer_view(answer: "Answer", photo_url: PhotoUrl) -> dict[str, Any]:
    """The Answer object of the specification."""
    return {
        "value": answer.value,
        "photos": [photo_view(photo, index, photo_url) for index, photo in enumerate(answer.photos)],
        "geo": geo_view(answer),
        "at": format_timestamp(answer.at),
        "by": answer.by,
    }


def identity_view(run: "Run") -> dict[str, Any]:
    """The executor identity of the specification; fields are null before the executor gave them."""
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


def signature_view(run: "Run", photo_url: PhotoUrl) -> dict[str, Any] | None:
    signature = run.status.signature
    if signature is None:
        return None
    return {
        "url": photo_url(signature.photo) if signature.photo else None,
        "name": signature.name,
        "signed_at": format_timestamp(signature.signed_at),
    }


def event_data(entry: "OutboxEntry", run: "Run", definition: "Definition", photo_url: PhotoUrl) -> dict[str, Any]:
    """The `data` of an event. Step events were frozen when they happened; a final run speaks for itself."""
    match entry.event:
        case EventName.STEP_COMPLETED | EventName.STEP_SKIPPED:
            return _step_data(entry, definition, photo_url)
        case EventName.RUN_COMPLETED:
            return _completed_data(run, photo_url)
        case EventName.RUN_CANCELLED:
            return _cancelled_data(run, photo_url)
        case EventName.RUN_EXPIRED:
            expires_at = run.expires_at or entry.ts
            return {"expires_at": format_timestamp(expires_at), "progress": progress_view(run.progress)}


def _find_step(definition: "Definition", step_id: str) -> "tuple[Section, Step]":
    return next((section, step) for section, step in definition.steps() if step.id == step_id)


def _step_data(entry: "OutboxEntry", definition: "Definition", photo_url: PhotoUrl) -> dict[str, Any]:
    from .answers import display_value
    from .run_types import PhotoRef

    frozen = entry.frozen
    section, step = _find_step(definition, frozen["step_id"])
    data: dict[str, Any] = {"step_id": step.id, "section_id": section.id}
    if entry.event is EventName.STEP_COMPLETED:
        photos = [PhotoRef.model_validate(photo) for photo in frozen.get("photos", [])]
        data |= {
            "type": step.type.value,
            "label": step.label,
            "value": frozen["value"],
            "display": display_value(step, frozen["value"]),
            "photos": [
                {"photo_index": index, "url": photo_url(photo), "thumbnail": None} for index, photo in enumerate(photos)
            ],
            "geo": frozen["geo"],
            "at": frozen["at"],
            "by": frozen["by"],
            "revision": frozen["revision"],
        }
    else:
        data |= {"label": step.label, "at": frozen["at"], "by": frozen["by"]}
    data["progress"] = frozen["progress"]
    return data


def _completed_data(run: "Run", photo_url: PhotoUrl) -> dict[str, Any]:
    status = run.status
    completed_at = status.completed_at or run.created_at
    started_at = status.started_at or completed_at
    return {
        "completed_at": format_timestamp(completed_at),
        "started_at": format_timestamp(started_at),
        "duration_seconds": (completed_at - started_at).total_seconds(),
        "answers": {step_id: answer_view(answer, photo_url) for step_id, answer in status.answers.items()},
        "photos": [
            {"step_id": step_id, "photo_index": index, "url": photo_url(photo)}
            for step_id, answer in status.answers.items()
            for index, photo in enumerate(answer.photos)
        ],
        "skipped_steps": list(status.skipped_steps),
        "signature": signature_view(run, photo_url),
        "progress": progress_view(run.progress),
    }


def _cancelled_data(run: "Run", photo_url: PhotoUrl) -> dict[str, Any]:
    status = run.status
    return {
        "cancelled_at": format_timestamp(status.cancelled_at or run.created_at),
        "reason": status.cancel_reason,
        "last_step_id": status.last_step_id,
        "answers": {step_id: answer_view(answer, photo_url) for step_id, answer in status.answers.items()},
        "progress": progress_view(run.progress),
    }


def envelope(entry: "OutboxEntry", run: "Run", data: Mapping[str, Any]) -> dict[str, Any]:
    """The envelope without `delivery_attempt`: what stays the same from attempt to attempt."""
    resolved = run.resolved
    if resolved is None:
        raise ValueError(f"run {run.name} was never admitted and can have no events")
    return {
        "event_id": entry.event_id,
        "event": entry.event.value,
        "run_id": run.name,
        "template_id": resolved.template_id,
        "template_v": resolved.template_version,
        "ts": format_timestamp(entry.ts),
        "identity": identity_view(run),
        "data": dict(data),
        "seq": entry.seq,
        "executor_ref": run.spec.executor_ref,
    }


def for_attempt(envelope: Mapping[str, Any], attempt: int) -> dict[str, Any]:
    """The envelope of one attempt, in the specification's order of fields."""
    return {"event_id": envelope["event_id"], "delivery_attempt": attempt, **envelope}


def wanted(events: Iterable[str]) -> frozenset[EventName]:
    """The subscribed events of a webhook's list."""
    names = set(events)
    return frozenset(EventName) if ALL_EVENTS in names else frozenset(EventName(name) for name in names)
