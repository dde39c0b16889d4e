"""The list entry of a run as a flat row, for display and filters, built without models for speed.

The API's index of live runs and the archive store it, so that a list shows both in the same way. Times are milliseconds
since 1970.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ..resources.base import ORGANIZATION_LABEL
from ..resources.run import RunPhase
from ..resources.run_id import resolved_of, run_id_of
from ..times import LAST_MOMENT, parse_timestamp

RUN_COLUMNS: Final = (
    "run_id",
    "namespace",
    "organization",
    "phase",
    "template_id",
    "template_v",
    "template_name",
    "executor_ref",
    "created_at",
    "started_at",
    "completed_at",
    "cancelled_at",
    "expires_at",
    "assigned_to",
    "identity_mode",
    "identity_name",
    "identity_email",
    "identity_user_id",
    "total",
    "answered",
    "skipped",
    "flagged",
)
ADDED_COLUMNS: Final[Mapping[str, Any]] = {"flagged": 0}
"""Columns that archives of earlier releases lack, with their values there."""


def row_of_run(body: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Returns the values of RUN_COLUMNS, or None for a run that is not admitted.

    Raises KeyError, TypeError, ValueError or AttributeError for an invalid object.
    """
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    resolved = resolved_of(body)
    if resolved is None:
        return None
    created_at = _instant(spec.get("createdAt") or metadata["creationTimestamp"])
    expires_at = _instant(spec.get("expiresAt"))
    if expires_at is None and created_at is not None and spec.get("expiresInHours") is not None:
        expires_at = min(created_at + math.ceil(spec["expiresInHours"] * 3_600_000), milliseconds(LAST_MOMENT))
    identity = status.get("identity") or {}
    progress = status.get("progress") or {"total": resolved["applicableSteps"], "answered": 0, "skipped": 0}
    return (
        run_id_of(body),
        metadata["namespace"],
        resolved.get("organization") or (metadata.get("labels") or {}).get(ORGANIZATION_LABEL),
        RunPhase(status.get("phase") or RunPhase.PENDING).rest,
        resolved["templateId"],
        resolved["templateVersion"],
        resolved["templateName"],
        spec.get("executorRef"),
        created_at,
        _instant(status.get("startedAt")),
        _instant(status.get("completedAt")),
        _instant(status.get("cancelledAt")),
        expires_at,
        status.get("assignedTo"),
        resolved["identityMode"],
        identity.get("name"),
        identity.get("email"),
        identity.get("userId"),
        progress["total"],
        progress["answered"],
        progress["skipped"],
        status.get("flagged") or 0,
    )


def milliseconds(moment: datetime) -> int:
    """Converts to milliseconds since 1970."""
    return round(moment.timestamp() * 1000)


def _instant(text: str | None) -> int | None:
    return None if text is None else milliseconds(parse_timestamp(text))
