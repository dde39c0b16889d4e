"""List rows of runs (`checklist_crds.runs.row`), live and archived."""

from typing import Any, Final

from checklist_crds.resources.run import RunPhase
from checklist_crds.runs.row import RUN_COLUMNS
from checklist_crds.times import format_optional_milliseconds

UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError)
"""Errors of `row_of_run` for malformed objects."""
FINAL: Final = frozenset(phase.rest for phase in RunPhase if phase.is_final)
"""Final phases, as in rows."""


def column(name: str) -> int:
    """Return the position of a column in a row."""
    return RUN_COLUMNS.index(name)


def summary_of(row: tuple[Any, ...], status: str) -> dict[str, Any]:
    """Render a run for lists; `status` is its current status."""
    run = dict(zip(RUN_COLUMNS, row, strict=True))
    return {
        "run_id": run["run_id"],
        "status": status,
        "template_id": run["template_id"],
        "template_v": run["template_v"],
        "template_name": run["template_name"],
        "executor_ref": run["executor_ref"],
        "created_at": format_optional_milliseconds(run["created_at"]),
        "started_at": format_optional_milliseconds(run["started_at"]),
        "completed_at": format_optional_milliseconds(run["completed_at"]),
        "cancelled_at": format_optional_milliseconds(run["cancelled_at"]),
        "expires_at": format_optional_milliseconds(run["expires_at"]),
        "assigned_to": run["assigned_to"],
        "executor_identity": _identity(run),
        "progress": {"total": run["total"], "answered": run["answered"], "skipped": run["skipped"]},
        "flagged": run["flagged"],
    }


def _identity(run: dict[str, Any]) -> dict[str, Any]:
    match run["identity_mode"]:
        case "external":
            return {"mode": "external", "name": run["identity_name"], "email": run["identity_email"]}
        case "member":
            return {"mode": "member", "user_id": run["identity_user_id"]}
        case mode:
            return {"mode": mode}
