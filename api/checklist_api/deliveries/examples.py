"""Examples of events and deliveries: an endpoint outage, and the replay afterwards."""

from typing import Final

from ..http.example_values import COMPLETED_AT, EVENT_ID, EXPIRES_AT, REPLAY_ID, RUN_ID, STARTED_AT, TEMPLATE_ID, Json
from ..runs.examples import ANSWERS, DISPATCH_REQUEST


def event(kind: str, ts: str, seq: int, data: Json) -> Json:
    """Return an envelope of the first attempt."""
    return {
        "event_id": EVENT_ID,
        "delivery_attempt": 1,
        "event": kind,
        "run_id": RUN_ID,
        "template_id": TEMPLATE_ID,
        "template_v": 1,
        "ts": ts,
        "identity": {"mode": "anonymous"},
        "data": data,
        "seq": seq,
        "executor_ref": DISPATCH_REQUEST["executor_ref"],
    }


EVENTS: Final[dict[str, Json]] = {
    "step.completed": event(
        "step.completed",
        ANSWERS["s-fridge-temp"]["received_at"],
        2,
        {
            "step_id": "s-fridge-temp",
            "section_id": "g-cold",
            "type": "number",
            "label": "What does the thermometer say?",
            "value": 7.5,
            "display": "7.5 °C",
            "photos": [],
            "geo": ANSWERS["s-fridge-temp"]["geo"],
            "at": "2026-11-21T07:03:20.000Z",
            "by": None,
            "revision": 1,
            "received_at": ANSWERS["s-fridge-temp"]["received_at"],
            "progress": {"total": 3, "answered": 2, "skipped": 0},
        },
    ),
    "step.skipped": event(
        "step.skipped",
        "2026-11-21T07:05:01.000Z",
        3,
        {
            "step_id": "s-note",
            "section_id": "g-cold",
            "label": "Anything else?",
            "at": "2026-11-21T07:05:01.000Z",
            "by": None,
            "received_at": "2026-11-21T07:05:01.000Z",
            "progress": {"total": 3, "answered": 2, "skipped": 1},
        },
    ),
    "run.completed": event(
        "run.completed",
        COMPLETED_AT,
        4,
        {
            "completed_at": COMPLETED_AT,
            "started_at": STARTED_AT,
            "duration_seconds": 211.64,
            "answers": ANSWERS,
            "photos": [],
            "skipped_steps": ["s-note"],
            "signature": None,
            "progress": {"total": 3, "answered": 2, "skipped": 1},
        },
    ),
    "run.cancelled": event(
        "run.cancelled",
        COMPLETED_AT,
        2,
        {
            "cancelled_at": COMPLETED_AT,
            "reason": "The kitchen is closed today.",
            "last_step_id": "s-fridge-ok",
            "answers": {"s-fridge-ok": ANSWERS["s-fridge-ok"]},
            "progress": {"total": 3, "answered": 1, "skipped": 0},
        },
    ),
    "run.expired": event(
        "run.expired",
        EXPIRES_AT,
        1,
        {"expires_at": EXPIRES_AT, "progress": {"total": 2, "answered": 0, "skipped": 0}},
    ),
}


def _attempt(number: int, started_at: str, next_attempt_at: str | None) -> Json:
    return {
        "number": number,
        "started_at": started_at,
        "duration_ms": 52,
        "outcome": "http_5xx",
        "http_status": 503,
        "manual": False,
        "next_attempt_at": next_attempt_at,
        "detail": None,
    }


_STARTS: Final = (
    "2026-11-21T07:05:43.180Z",
    "2026-11-21T07:06:13.240Z",
    "2026-11-21T07:08:13.300Z",
    "2026-11-21T07:18:13.360Z",
    "2026-11-21T08:18:13.420Z",
)
FAILED: Final[Json] = {
    "event_id": EVENT_ID,
    "run_id": RUN_ID,
    "event": "run.completed",
    "seq": 4,
    "ts": COMPLETED_AT,
    "status": "failed",
    "host": "hooks.example.com",
    "attempts_made": 5,
    "attempts": [
        _attempt(number, start, due)
        for number, (start, due) in enumerate(zip(_STARTS, (*_STARTS[1:], None), strict=True), 1)
    ],
    "next_attempt_at": None,
    "finished_at": "2026-11-21T08:18:13.472Z",
    "replayable": True,
    "replay_refusal": None,
    "last_replay": None,
}
REPLAYING: Final[Json] = {**FAILED, "replayable": False, "replay_refusal": "replay_under_way"}
REPLAYED: Final[Json] = {
    **FAILED,
    "status": "delivered",
    "attempts": [
        *FAILED["attempts"],
        {
            "number": 5,
            "started_at": "2026-11-21T09:00:00.250Z",
            "duration_ms": 38,
            "outcome": "success",
            "http_status": 204,
            "manual": True,
            "next_attempt_at": None,
            "detail": None,
        },
    ],
    "finished_at": "2026-11-21T09:00:00.288Z",
    "last_replay": {
        "requested_at": "2026-11-21T09:00:00.000Z",
        "requested_by": "Robin Baker",
        "attempted_at": "2026-11-21T09:00:00.250Z",
        "outcome": "success",
        "http_status": 204,
    },
}
REPLAY_REQUEST: Final[Json] = {
    "filter": {"host": "hooks.example.com", "outcome": "http_5xx", "finished_after": "2026-11-21T07:00:00Z"}
}
REPLAY_OF_ONE_RUN: Final[Json] = {"filter": {"run_id": RUN_ID}, "dry_run": True}
REPLAY: Final[Json] = {
    "replay_id": REPLAY_ID,
    "status": "pending",
    "filter": {
        "status": None,
        "run_id": None,
        "event_ids": [],
        "event": None,
        "host": "hooks.example.com",
        "outcome": "http_5xx",
        "finished_after": "2026-11-21T07:00:00.000Z",
        "finished_before": None,
    },
    "dry_run": False,
    "requested_by": "Robin Baker",
    "requested_at": "2026-11-21T09:00:00.000Z",
    "total": None,
    "done": 0,
    "delivered": 0,
    "failed": 0,
    "refused": 0,
    "refusals": [],
    "started_at": None,
    "finished_at": None,
}
COMPLETED_REPLAY: Final[Json] = {
    **REPLAY,
    "status": "completed",
    "total": 212,
    "done": 212,
    "delivered": 210,
    "failed": 1,
    "refused": 1,
    "refusals": [{"reason": "run_deleted", "count": 1}],
    "started_at": "2026-11-21T09:00:00.310Z",
    "finished_at": "2026-11-21T09:00:04.870Z",
}
ENDPOINT: Final[Json] = {
    "host": "hooks.example.com",
    "deliveries": 412,
    "attempts": 1272,
    "success_rate": 0.3223,
    "latency_p50_ms": 45,
    "latency_p95_ms": 210,
    "last_success_at": "2026-11-21T09:00:04.830Z",
    "last_error": {"at": "2026-11-21T09:00:03.100Z", "outcome": "timeout", "http_status": None},
    "pending": 1,
    "failed": 1,
}
