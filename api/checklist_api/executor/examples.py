"""Examples of the executor API."""

from typing import Final

from ..http.example_values import (
    CREATED_AT,
    EXPIRES_AT,
    ORGANIZATION_ID,
    PHOTO_ID,
    RUN_ID,
    STARTED_AT,
    TEMPLATE_ID,
    USER_ID,
    Json,
)
from ..runs.examples import ANSWERS, RECEIPT
from ..templates.examples import TDL

EXECUTOR_RUN: Final[Json] = {
    "run_id": RUN_ID,
    "status": "in_progress",
    "changes": 1,
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
OP_ID: Final = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
_GIVEN_AT: Final = ANSWERS["s-fridge-temp"]["at"]
ANSWER_REQUEST: Final[Json] = {
    "value": 7.5,
    "geo": ANSWERS["s-fridge-temp"]["geo"],
    "op_id": OP_ID,
    "given_at": _GIVEN_AT,
}
SKIP_REQUEST: Final[Json] = {"op_id": OP_ID, "given_at": _GIVEN_AT}
OPERATION_REQUEST: Final[Json] = {"op_id": OP_ID}
IDENTITY_REQUEST: Final[Json] = {"name": "Ada Lovelace", "email": "ada@example.com", "op_id": OP_ID}
SUBMIT_REQUEST: Final[Json] = {"signature": {"name": "Ada Lovelace"}, "op_id": OP_ID}
CANCEL_REQUEST: Final[Json] = {"reason": "The kitchen is closed today.", "op_id": OP_ID}
CHANGE: Final[Json] = {
    "run_id": RUN_ID,
    "status": "in_progress",
    "changes": 2,
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
CHANGE_COUNT: Final[Json] = {"run_id": RUN_ID, "changes": 2}
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
