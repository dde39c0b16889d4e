"""One story in examples: a kitchen's opening check, dispatched, answered, told to its owner.

Every example of the OpenAPI document is made here; the contract tests hold each against its schema.
"""

from typing import Any, Final

TEMPLATE_ID: Final = "t-3f0c2a54-6f0e-4a5c-9d55-0c7a1f6f2b10"
RUN_ID: Final = "r-9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"
ORGANIZATION_ID: Final = "org-1c9e6679-7425-40de-944b-e07fc1f90ae7"
EVENT_ID: Final = "evt-6ba7b810-9dad-51d1-80b4-00c04fd430c8"
REPLAY_ID: Final = "rpl-1b671a64-40d5-491e-99b0-da01ff1f3341"
REQUEST_ID: Final = "req-5f2b7c0a9d3e4f1800a1b2c3"
PHOTO_ID: Final = "0f8fad5b-d9cb-5f9f-a165-70867728950e"
LINK: Final = f"https://checklists.example.com/r/{RUN_ID}#2ZkYp1hD3sXq0v7Jc5tL9bWmR8fNaGuE4oKiTyHxVrQ"

CREATED_AT: Final = "2026-11-21T06:30:00.000Z"
STARTED_AT: Final = "2026-11-21T07:02:11.480Z"
COMPLETED_AT: Final = "2026-11-21T07:05:43.120Z"
EXPIRES_AT: Final = "2026-11-22T06:30:00.000Z"

Json = dict[str, Any]

TEMPLATE_REQUEST: Final[Json] = {
    "name": "Kitchen opening check",
    "tags": ["kitchen", "daily"],
    "settings": {"allow_skip": True, "est_minutes": 5},
    "sections": [
        {
            "id": "g-cold",
            "title": "Cold storage",
            "steps": [
                {
                    "id": "s-fridge-ok",
                    "type": "boolean",
                    "label": "Is the fridge at 5 °C or below?",
                    "required": True,
                    "config": {"true_label": "Yes", "false_label": "No"},
                },
                {
                    "id": "s-fridge-temp",
                    "type": "number",
                    "label": "What does the thermometer say?",
                    "required": True,
                    "condition": {"when": {"step": "s-fridge-ok", "op": "eq", "value": False}},
                    "config": {"unit": "°C", "min": -30, "decimal": 1},
                },
                {"id": "s-note", "type": "text", "label": "Anything else?"},
            ],
        }
    ],
}

_STEP_DEFAULTS: Final[Json] = {
    "hint": None,
    "required": False,
    "photo": False,
    "geo": False,
    "geo_required": False,
    "config": {},
}

PROMPTS: Final[dict[str, Json]] = {
    "kitchen": {"prompt": "Restaurant opening"},
    "van": {
        "prompt": "Van before the trip: tyres ok, lights ok, mirrors clean. Tyre pressure in bar (2.2 to 2.6). Is "
        "there damage? If yes, two photos and a description. Signature of the driver."
    },
    "flat": {"prompt": "Wohnungsübergabe"},
}

USER_ID: Final = "u-6b7c8d9e-0f1a-4b2c-8d3e-4f5a6b7c8d9e"
TDL: Final[Json] = {
    "name": "Kitchen opening check",
    "description": "",
    "tags": ["kitchen", "daily"],
    "settings": {"allow_skip": True, "signature_on_complete": False, "est_minutes": 5},
    "sections": [
        {**section, "steps": [{**_STEP_DEFAULTS, **step} for step in section["steps"]]}
        for section in TEMPLATE_REQUEST["sections"]
    ],
    "execution": {"scope": "any", "identity_required": "none"},
}

TEMPLATE: Final[Json] = {
    "id": TEMPLATE_ID,
    "v": 1,
    "org_id": ORGANIZATION_ID,
    **TDL,
    "created_at": CREATED_AT,
    "updated_at": CREATED_AT,
}
PATCH_REQUEST: Final[Json] = {"name": "Kitchen opening check, winter", "settings": {"est_minutes": 6}}
PATCHED_TEMPLATE: Final[Json] = {
    **TEMPLATE,
    "v": 2,
    "name": PATCH_REQUEST["name"],
    "settings": {**TDL["settings"], "est_minutes": 6},
    "updated_at": STARTED_AT,
}
TEMPLATE_SUMMARY: Final[Json] = {
    key: TEMPLATE[key] for key in ("id", "v", "name", "description", "tags", "created_at", "updated_at")
}
PAGINATION: Final[Json] = {"total": 1, "page": 1, "per_page": 20, "next_page": None}

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

ANSWERS: Final[Json] = {
    "s-fridge-ok": {"value": False, "photos": [], "geo": None, "at": STARTED_AT, "by": None},
    "s-fridge-temp": {
        "value": 7.5,
        "photos": [],
        "geo": {"lat": 52.52, "lng": 13.405, "accuracy_m": 8.0},
        "at": "2026-11-21T07:03:20.000Z",
        "by": None,
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
TEMPLATE_VERSION: Final[Json] = {
    "v": 1,
    "name": "Kitchen opening check",
    "step_count": 3,
    "created_at": CREATED_AT,
    "current": True,
    "changed_by": {"kind": "api_key", "id": "key-5d41402abc4b2a76b9719d911017c592ae2f8c1b", "name": "Nightly import"},
}
QUOTA: Final[Json] = {"limit": 1000, "used": 412, "resets_at": "2026-12-01T00:00:00.000Z"}
USAGE: Final[Json] = {**QUOTA, "period": "2026-11", "plan": "team"}

EXECUTOR_RUN: Final[Json] = {
    "run_id": RUN_ID,
    "status": "in_progress",
    "template_id": TEMPLATE_ID,
    "template_v": 1,
    "template": TDL,
    "created_by_name": "Robin Baker",
    "created_at": CREATED_AT,
    "started_at": STARTED_AT,
    "completed_at": None,
    "cancelled_at": None,
    "cancel_reason": None,
    "expires_at": EXPIRES_AT,
    "assigned_to": None,
    "executor_identity": {"mode": "anonymous"},
    "signed_in_as": None,
    "answers": {"s-fridge-ok": ANSWERS["s-fridge-ok"]},
    "signature": None,
    "signature_drawing": None,
    "receipt": None,
    "progress": {"total": 3, "answered": 1, "skipped": 0},
    "applicable_steps": ["s-fridge-ok", "s-fridge-temp", "s-note"],
    "skipped_steps": [],
    "missing_steps": ["s-fridge-temp"],
}
EXECUTOR_MEMBER_RUN: Final[Json] = {
    **EXECUTOR_RUN,
    "template": {**TDL, "execution": {"scope": "member", "identity_required": "member"}},
    "assigned_to": USER_ID,
    "executor_identity": {"mode": "member", "user_id": USER_ID},
    "signed_in_as": {"user_id": USER_ID, "name": "Ada Lovelace", "email": "ada@example.com"},
    "answers": {"s-fridge-ok": {**ANSWERS["s-fridge-ok"], "by": USER_ID}},
}
SIGN_IN: Final[Json] = {
    "organization": "Bright Kitchens",
    "template_name": TDL["name"],
    "created_by_name": "Robin Baker",
    "sign_in": f"https://checklists.example.com/dashboard/sign-in?return_to=/r/{RUN_ID}",
}
OP_ID: Final = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
ANSWER_REQUEST: Final[Json] = {"value": 7.5, "geo": ANSWERS["s-fridge-temp"]["geo"], "op_id": OP_ID}
OPERATION_REQUEST: Final[Json] = {"op_id": OP_ID}
IDENTITY_REQUEST: Final[Json] = {"name": "Ada Lovelace", "email": "ada@example.com", "op_id": OP_ID}
SUBMIT_REQUEST: Final[Json] = {"signature": {"name": "Ada Lovelace"}, "op_id": OP_ID}
CANCEL_REQUEST: Final[Json] = {"reason": "The kitchen is closed today.", "op_id": OP_ID}
CHANGE: Final[Json] = {
    "run_id": RUN_ID,
    "status": "in_progress",
    "progress": {"total": 3, "answered": 1, "skipped": 0},
    "applicable_steps": ["s-fridge-ok", "s-fridge-temp", "s-note"],
    "skipped_steps": [],
    "signature_drawing": None,
    "receipt": None,
    "replayed": False,
}
SKIPPED: Final[Json] = {
    **CHANGE,
    "progress": {"total": 3, "answered": 2, "skipped": 1},
    "skipped_steps": ["s-note"],
}
ANSWERED: Final[Json] = {
    **CHANGE,
    "progress": {"total": 3, "answered": 2, "skipped": 0},
    "answer": ANSWERS["s-fridge-temp"],
}
SUBMITTED: Final[Json] = {**SKIPPED, "status": "completed", "receipt": RECEIPT}
CANCELLED: Final[Json] = {**CHANGE, "status": "cancelled"}
_SECOND_OP_ID: Final = "c3a1f0de-6a43-4e0f-9a58-30c1d0a4f8b7"
BATCH_REQUEST: Final[Json] = {
    "operations": [
        {"type": "answer", "step_id": "s-fridge-temp", **ANSWER_REQUEST},
        {"type": "skip", "step_id": "s-fridge-ok", "op_id": _SECOND_OP_ID},
    ]
}
BATCH_RESULT: Final[Json] = {
    **{name: value for name, value in CHANGE.items() if name != "replayed"},
    "progress": {"total": 3, "answered": 2, "skipped": 0},
    "results": [
        {"op_id": OP_ID, "status": 200, "replayed": False, "answer": ANSWERS["s-fridge-temp"]},
        {
            "op_id": _SECOND_OP_ID,
            "status": 422,
            "error": "answer_invalid",
            "message": "A required step cannot be skipped.",
            "details": [
                {
                    "path": "s-fridge-ok",
                    "code": "skip_not_allowed",
                    "message": "A required step cannot be skipped.",
                }
            ],
        },
    ],
}

_PHOTO_URL: Final = f"https://checklists.example.com/v1/photos/{RUN_ID}/{PHOTO_ID}"
_SIGNED: Final = f"o={ORGANIZATION_ID}&e=1795244600&s=2ZkYp1hD3sXq0v7Jc5tL9bWmR8fNaGuE4oKiTyHxVrQ"
PHOTO: Final[Json] = {
    "photo_index": 0,
    "url": f"{_PHOTO_URL}?{_SIGNED}",
    "thumbnail_url": f"{_PHOTO_URL}/thumbnail?{_SIGNED}",
    "content_type": "image/jpeg",
    "bytes": 1_482_337,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "width": 3024,
    "height": 4032,
    "captured_at": "2026-11-21T07:03:02.000Z",
    "captured_at_zone": "stated",
    "distance_m": 4,
}
PHOTO_ADDED: Final[Json] = {
    **ANSWERED,
    "answer": {**ANSWERS["s-fridge-temp"], "photos": [PHOTO]},
    "photo": PHOTO,
}
DRAWN: Final[Json] = {**CHANGE, "signature_drawing": PHOTO["url"]}


def event(kind: str, ts: str, seq: int, data: Json) -> Json:
    """An envelope at its first attempt."""
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
        "2026-11-21T07:03:20.000Z",
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

READY: dict[str, Any] = {
    "status": "ok",
    "reasons": [],
    "notes": [],
    "checks": [
        {"name": "runs", "ok": True, "reason": None},
        {"name": "kubernetes", "ok": True, "reason": None},
    ],
}
STARTING: dict[str, Any] = {
    "status": "not ready",
    "reasons": ["runs are not read yet"],
    "notes": [],
    "checks": [
        {"name": "runs", "ok": False, "reason": "runs are not read yet"},
        {"name": "kubernetes", "ok": True, "reason": None},
    ],
}
