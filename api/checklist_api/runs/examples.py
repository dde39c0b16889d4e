"""Examples of runs."""

from typing import Final

from ..http.example_values import COMPLETED_AT, CREATED_AT, EXPIRES_AT, QUOTA, RUN_ID, STARTED_AT, TEMPLATE_ID, Json

LINK: Final = f"https://checklists.example.com/r/{RUN_ID}#2ZkYp1hD3sXq0v7Jc5tL9bWmR8fNaGuE4oKiTyHxVrQ"
DISPATCH_REQUEST: Final[Json] = {
    "template_id": TEMPLATE_ID,
    "webhook": {
        "url": "https://hooks.example.com/checklists",
        "secret": "a-secret-of-at-least-16-characters",
        "events": ["*"],
    },
    "expires_in_hours": 24,
    "executor_ref": "kitchen 4, Saturday",
}
DISPATCHED: Final[Json] = {"run_id": RUN_ID, "link": LINK, "expires_at": EXPIRES_AT, "assigned_to": None}
EXECUTOR_LINK: Final[Json] = {"link": LINK, "expires_at": EXPIRES_AT}
ANSWERS: Final[Json] = {
    "s-fridge-ok": {"value": False, "photos": [], "geo": None, "at": STARTED_AT, "by": None, "received_at": STARTED_AT},
    "s-fridge-temp": {
        "value": 7.5,
        "photos": [],
        "geo": {"lat": 52.52, "lng": 13.405, "accuracy_m": 8.0},
        "at": "2026-11-21T07:03:20.000Z",
        "by": None,
        "received_at": "2026-11-21T07:04:58.000Z",
    },
}
RUN_SUMMARY: Final[Json] = {
    "run_id": RUN_ID,
    "status": "completed",
    "template_id": TEMPLATE_ID,
    "template_v": 1,
    "template_name": "Kitchen opening check",
    "executor_ref": DISPATCH_REQUEST["executor_ref"],
    "created_at": CREATED_AT,
    "started_at": STARTED_AT,
    "completed_at": COMPLETED_AT,
    "cancelled_at": None,
    "expires_at": EXPIRES_AT,
    "assigned_to": None,
    "executor_identity": {"mode": "anonymous"},
    "progress": {"total": 3, "answered": 2, "skipped": 1},
}
RECEIPT: Final[Json] = {
    "run_id": RUN_ID,
    "completed_at": COMPLETED_AT,
    "answers": 2,
    "photos": 0,
    "digest": "sha-256=n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg",
}
RUN: Final[Json] = {
    **RUN_SUMMARY,
    "cancel_reason": None,
    "answers": ANSWERS,
    "skipped_steps": ["s-note"],
    "signature": None,
    "receipt": RECEIPT,
}
CANCELLED_RUN: Final[Json] = {
    **RUN,
    "status": "cancelled",
    "started_at": None,
    "completed_at": None,
    "cancelled_at": STARTED_AT,
    "cancel_reason": "cancelled_by_owner",
    "progress": {"total": 2, "answered": 0, "skipped": 0},
    "answers": {},
    "skipped_steps": [],
    "receipt": None,
}
PREVIEW: Final[Json] = {
    "run_id": RUN_ID,
    "status": "pending",
    "template_name": "Kitchen opening check",
    "step_count": 3,
    "created_by_name": "Robin Baker",
    "expires_at": EXPIRES_AT,
}
USAGE: Final[Json] = {**QUOTA, "period": "2026-11", "plan": "team"}
