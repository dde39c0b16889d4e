"""Shared values of the OpenAPI examples. Contract tests validate each example against its schema."""

from typing import Any, Final

TEMPLATE_ID: Final = "t-3f0c2a54-6f0e-4a5c-9d55-0c7a1f6f2b10"
RUN_ID: Final = "r-9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"
ORGANIZATION_ID: Final = "org-1c9e6679-7425-40de-944b-e07fc1f90ae7"
EVENT_ID: Final = "evt-6ba7b810-9dad-51d1-80b4-00c04fd430c8"
REPLAY_ID: Final = "rpl-1b671a64-40d5-491e-99b0-da01ff1f3341"
REQUEST_ID: Final = "req-5f2b7c0a9d3e4f1800a1b2c3"
PHOTO_ID: Final = "0f8fad5b-d9cb-5f9f-a165-70867728950e"
CREATED_AT: Final = "2026-11-21T06:30:00.000Z"
STARTED_AT: Final = "2026-11-21T07:02:11.480Z"
COMPLETED_AT: Final = "2026-11-21T07:05:43.120Z"
EXPIRES_AT: Final = "2026-11-22T06:30:00.000Z"
Json = dict[str, Any]
USER_ID: Final = "u-6b7c8d9e-0f1a-4b2c-8d3e-4f5a6b7c8d9e"
PAGINATION: Final[Json] = {"total": 1, "page": 1, "per_page": 20, "next_page": None}
QUOTA: Final[Json] = {"limit": 1000, "used": 412, "resets_at": "2026-12-01T00:00:00.000Z"}
SIGN_IN: Final[Json] = {
    "organization": "Bright Kitchens",
    "template_name": "Kitchen opening check",
    "created_by_name": "Robin Baker",
    "sign_in": f"https://checklists.example.com/dashboard/sign-in?return_to=/r/{RUN_ID}",
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
