"""Runs as owners, and whoever has the link, see them (specification, "Run" and "Run preview")."""

from datetime import datetime
from typing import Any

from checklist_crds.events import answer_view, identity_view, progress_view, signature_view
from checklist_crds.photo_urls import PhotoUrl
from checklist_crds.receipt import receipt_view
from checklist_crds.run_types import Run
from checklist_crds.times import format_optional, format_timestamp

from ..organizations.directory import Organization


def run_view(run: Run, now: datetime, photo_url: PhotoUrl) -> dict[str, Any]:
    """The Run object of the specification for an admitted run."""
    return {
        **shared_view(run, now, photo_url),
        "template_name": run.admitted_as.template_name,
        "executor_ref": run.spec.executor_ref,
        "progress": progress_view(run.progress),
        "skipped_steps": list(run.status.skipped_steps),
        "receipt": receipt_view(run),
    }


def shared_view(run: Run, now: datetime, photo_url: PhotoUrl) -> dict[str, Any]:
    """What owner and executor see alike of an admitted run."""
    resolved, status = run.admitted_as, run.status
    return {
        "run_id": run.name,
        "status": run.phase_at(now).rest,
        "template_id": resolved.template_id,
        "template_v": resolved.template_version,
        "created_at": format_timestamp(run.created_at),
        "started_at": format_optional(status.started_at),
        "completed_at": format_optional(status.completed_at),
        "cancelled_at": format_optional(status.cancelled_at),
        "cancel_reason": status.cancel_reason,
        "expires_at": format_optional(run.expires_at),
        "assigned_to": status.assigned_to,
        "executor_identity": identity_view(run),
        "answers": {step_id: answer_view(answer, photo_url) for step_id, answer in status.answers.items()},
        "signature": signature_view(run, photo_url),
    }


def run_preview(run: Run, organization: Organization, now: datetime) -> dict[str, Any]:
    """The run preview: these six fields and no other, since anybody who knows the id may read it."""
    resolved = run.admitted_as
    return {
        "run_id": run.name,
        "status": run.phase_at(now).rest,
        "template_name": resolved.template_name,
        "step_count": resolved.step_count,
        "created_by_name": run.spec.created_by_name or organization.display_name,
        "expires_at": format_optional(run.expires_at),
    }
