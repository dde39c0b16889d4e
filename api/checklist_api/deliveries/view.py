"""Deliveries and endpoints as REST shows them. Of an endpoint's address only the host is shown: path and query may be
as secret as a password, and the caller who configured them knows them.
"""

from datetime import UTC, datetime
from typing import Any

from checklist_crds.times import format_timestamp

from ..index.delivery_history import Attempt, Delivery, Replay
from ..index.endpoint_figures import Endpoint


def delivery_view(delivery: Delivery) -> dict[str, Any]:
    """The Delivery object."""
    event = delivery.event
    return {
        "event_id": event.event_id,
        "run_id": event.run_id,
        "event": event.event,
        "seq": event.seq,
        "ts": _moment(delivery.happened_at),
        "status": delivery.status,
        "host": event.host,
        "attempts_made": delivery.attempts_made,
        "attempts": [_attempt_view(attempt) for attempt in delivery.attempts],
        "next_attempt_at": _moment(delivery.next_attempt_at),
        "finished_at": _moment(delivery.finished_at),
        "replayable": delivery.refusal is None,
        "replay_refusal": None if delivery.refusal is None else delivery.refusal.value,
        "last_replay": _replay_view(delivery.last_replay),
    }


def endpoint_view(endpoint: Endpoint) -> dict[str, Any]:
    """The Endpoint object."""
    error = endpoint.last_error
    return {
        "host": endpoint.host,
        "deliveries": endpoint.deliveries,
        "attempts": endpoint.attempts,
        "success_rate": endpoint.success_rate,
        "latency_p50_ms": endpoint.latency_ms(50),
        "latency_p95_ms": endpoint.latency_ms(95),
        "last_success_at": _moment(endpoint.last_success_at),
        "last_error": None
        if error is None
        else {"at": _moment(error.started_at), "outcome": error.outcome, "http_status": error.http_status},
        "pending": endpoint.pending,
        "failed": endpoint.failed,
    }


def _attempt_view(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "started_at": _moment(attempt.started_at),
        "duration_ms": attempt.duration_ms,
        "outcome": attempt.outcome,
        "http_status": attempt.http_status,
        "manual": attempt.manual,
        "next_attempt_at": _moment(attempt.next_attempt_at),
        "detail": attempt.detail,
    }


def _replay_view(replay: Replay | None) -> dict[str, Any] | None:
    if replay is None:
        return None
    return {
        "requested_at": _moment(replay.requested_at),
        "requested_by": replay.requested_by,
        "attempted_at": _moment(replay.attempted_at),
        "outcome": replay.outcome,
        "http_status": replay.http_status,
    }


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return format_timestamp(
        datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
    )
