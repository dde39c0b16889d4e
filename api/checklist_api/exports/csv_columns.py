"""Columns of a run in both CSV exports, and values that both derive from an answer."""

from typing import Final

from checklist_crds.resources.run import Run
from checklist_crds.values.csv_cells import Cell

from ..runs.steps import StepResult
from .labelled import ExportContext, executor_of
from .run_source import ExportedRun

CSV_RUN_COLUMNS: Final = (
    "run_id",
    "status",
    "template_id",
    "template_version",
    "template",
    "reference",
    "dispatched_utc",
    "started_utc",
    "completed_utc",
    "cancelled_utc",
    "cancel_reason",
    "expires_utc",
    "executor",
    "executor_email",
    "steps",
    "answered",
    "skipped",
    "signed_by",
    "signed_utc",
    "signature_image",
)


def run_cells(exported: ExportedRun, context: ExportContext) -> tuple[Cell, ...]:
    """Return the cells of CSV_RUN_COLUMNS."""
    run: Run = exported.run
    resolved, status, executor = run.admitted_as, run.status, executor_of(exported, context)
    signature, progress = status.signature, run.progress
    return (
        run.id,
        run.phase_at(context.moment).rest,
        resolved.template_id,
        resolved.template_version,
        resolved.template_name,
        run.spec.executor_ref,
        run.created_at,
        status.started_at,
        status.completed_at,
        status.cancelled_at,
        status.cancel_reason,
        run.expires_at,
        executor.name,
        executor.email,
        progress.total,
        progress.answered,
        progress.skipped,
        signature.name if signature else None,
        signature.signed_at if signature else None,
        context.photo_url(signature.photo) if signature and signature.photo else None,
    )


def number_of(result: StepResult) -> int | float | None:
    """Return a numeric answer; None for others."""
    value = None if result.answer is None else result.answer.value
    is_number = result.step.type.rules.is_number and isinstance(value, int | float)
    return value if is_number and not isinstance(value, bool) else None  # type: ignore[return-value]


def photo_links(result: StepResult, context: ExportContext) -> list[str]:
    """Return the links of the answer's photos and drawing."""
    if result.answer is None:
        return []
    images = [*result.answer.photos, *([result.answer.drawing] if result.answer.drawing else [])]
    return [context.photo_url(photo) for photo in images]
