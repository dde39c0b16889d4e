"""The list entry of a run as a flat row, for display and filters, built without models for speed.

The API's index of live runs and the archive store it, so that a list shows both in the same way. Times are milliseconds
since 1970.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ..resources.base import ORGANIZATION_LABEL
from ..resources.run import RunPhase
from ..resources.run_expiry import expires_at_of
from ..resources.run_id import resolved_of, run_id_of
from ..times import parse_timestamp

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
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def row_of_run(body: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Returns the values of RUN_COLUMNS, or None for a run that is not admitted.

    Raises KeyError, TypeError, ValueError or AttributeError for an invalid object.
    """
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    resolved = resolved_of(body)
    if resolved is None:
        return None
    expires_at = expires_at_of(body)
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
        _instant(spec.get("createdAt") or metadata["creationTimestamp"]),
        _instant(status.get("startedAt")),
        _instant(status.get("completedAt")),
        _instant(status.get("cancelledAt")),
        # Rounded up: the list must not show a run as expired before it is.
        None if expires_at is None else -((_EPOCH - expires_at) // _MILLISECOND),
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
