"""What the executor reads: the whole checklist with its state, and the short answer to a write (contract section 6)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from checklist_crds.conditions import applicable_step_ids, missing_required
from checklist_crds.events import answer_view, progress_view
from checklist_crds.photo_urls import PhotoUrl
from checklist_crds.receipt import receipt_view
from checklist_crds.run_types import Run
from checklist_crds.template_types import Definition

from ..auth.members import Member
from ..runs.view import shared_view


def executor_run_view(
    run: Run,
    definition: Definition,
    created_by_name: str,
    now: datetime,
    photo_url: PhotoUrl,
    *,
    signed_in: Member | None = None,
) -> dict[str, Any]:
    """The run as its executor sees it. Nothing of the owner is in it but the name that the preview shows: no
    executor_ref, no organization, no webhook. `signed_in`: who looks at a run for members."""
    status = run.status
    return {
        **shared_view(run, now, photo_url),
        "template": definition.to_tdl(),
        "created_by_name": created_by_name,
        "signed_in_as": None if signed_in is None else _member_view(signed_in),
        **_state(run, definition, photo_url),
        "missing_steps": [step.id for step in missing_required(definition, status.answers, status.skipped_steps)],
    }


def change_view(
    run: Run, definition: Definition, now: datetime, photo_url: PhotoUrl, *, replayed: bool
) -> dict[str, Any]:
    """What became of the run by a write."""
    return {**state_view(run, definition, now, photo_url), "replayed": replayed}


def state_view(run: Run, definition: Definition, now: datetime, photo_url: PhotoUrl) -> dict[str, Any]:
    """The run's state without its answers."""
    return {"run_id": run.name, "status": run.phase_at(now).rest, **_state(run, definition, photo_url)}


def answered_view(change: Mapping[str, Any], run: Run, step_id: str, photo_url: PhotoUrl) -> dict[str, Any]:
    """A change with the answer as it is kept now."""
    return {**change, "answer": answer_kept(run, step_id, photo_url)}


def answer_kept(run: Run, step_id: str, photo_url: PhotoUrl) -> dict[str, Any] | None:
    """None when a later operation took it away."""
    answer = run.status.answers.get(step_id)
    return None if answer is None else answer_view(answer, photo_url)


def _state(run: Run, definition: Definition, photo_url: PhotoUrl) -> dict[str, Any]:
    status = run.status
    applicable = applicable_step_ids(definition, status.answers, status.skipped_steps)
    return {
        "progress": progress_view(run.progress),
        "applicable_steps": [step.id for step in definition.all_steps if step.id in applicable],
        "skipped_steps": list(status.skipped_steps),
        "signature_drawing": None if status.drawing is None else photo_url(status.drawing),
        "receipt": receipt_view(run),
    }


def _member_view(member: Member) -> dict[str, str]:
    return {"user_id": member.id, "name": member.display_name, "email": member.email}
