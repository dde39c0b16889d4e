"""The content of a run's PDF for its owner, in English; times are in UTC."""

import hashlib
from datetime import datetime
from typing import Final

from checklist_crds.resources.run import Answer, Geo, PhotoRef, Run
from checklist_crds.runs.receipt import receipt_view
from checklist_crds.templates.answers import expected_text
from checklist_crds.values.canonical_json import canonical_json

from ...runs.steps import StepResult, StepState, step_results
from ..labelled import ExportContext, executor_of, labelled_view
from ..run_source import ExportedRun
from .content import Entry, Group, Image, ImageBudget, PdfContent, position

_STATUS: Final = {
    "pending": "Dispatched, not answered yet",
    "in_progress": "Being answered",
    "completed": "Completed",
    "cancelled": "Cancelled",
    "expired": "Expired",
}
_EXPLAINED: Final = (
    "The document digest is the SHA-256 of GET /v1/runs/{run_id}/export?format=json. If you fetch it again and get the "
    "same digest, it is the run printed here. The receipt digest was shown to the person who answered; docs/rest.md "
    "describes how it is computed."
)


def document_of(exported: ExportedRun, context: ExportContext) -> bytes:
    """Return the run as canonical JSON (RFC 8785), the input of the digest."""
    return canonical_json(labelled_view(exported, context))


def content_of(exported: ExportedRun, context: ExportContext, organization: str) -> PdfContent:
    """`organization`: its display name. `context.photo_url` must create REST API links, which are in the digest."""
    run, left = exported.run, ImageBudget()
    receipt = receipt_view(run)
    digest = hashlib.sha256(document_of(exported, context)).hexdigest()
    groups: list[Group] = []
    results = list(step_results(run, exported.definition))
    for section in exported.definition.sections:
        entries = [_entry(one, context, left) for one in results if one.section is section]
        if entries:
            groups.append(Group(section.title, entries))
    if (signed := _signature(run, left)) is not None:
        groups.append(Group("Signature", [signed]))
    return PdfContent(
        run_id=run.id,
        title=run.admitted_as.template_name,
        sender=organization,
        status=_STATUS[run.phase_at(context.moment).rest],
        facts=_facts(exported, context),
        groups=groups,
        digests=[
            ["Document digest", f"SHA-256 {digest}"],
            *([["Receipt digest", receipt["digest"]]] if receipt is not None else []),
        ],
        explained=_EXPLAINED,
        last_changed=_last_change(run, context.moment).isoformat(),
    )


def _facts(exported: ExportedRun, context: ExportContext) -> list[list[str]]:
    run, executor = exported.run, executor_of(exported, context)
    status, progress = run.status, run.progress
    who = ", ".join(part for part in (executor.name, executor.email) if part)
    facts = [
        ("Run", run.id),
        ("Template", f"{run.admitted_as.template_id}, version {run.admitted_as.template_version}"),
        ("Reference", run.spec.executor_ref or ""),
        ("Dispatched by", run.spec.created_by_name or ""),
        ("Dispatched", _time(run.created_at)),
        ("First answer", _time(status.started_at)),
        ("Completed", _time(status.completed_at)),
        ("Cancelled", _time(status.cancelled_at)),
        ("Reason", status.cancel_reason or ""),
        ("Expires", _time(run.expires_at)),
        ("Executor", who or f"not named ({run.admitted_as.identity_mode.value})"),
        ("Steps", f"{progress.answered} answered, {progress.skipped} skipped, of {progress.total}"),
        ("Not as expected", f"{run.flagged} answer{'' if run.flagged == 1 else 's'}" if run.flagged else ""),
    ]
    return [[name, value] for name, value in facts if value]


def _entry(result: StepResult, context: ExportContext, left: ImageBudget) -> Entry:
    label, answer = result.step.label, result.answer
    match result.state:
        case StepState.INSTRUCTION:
            return Entry(label, value=result.step.hint or "")
        case StepState.NOT_APPLICABLE:
            return Entry(label, quiet="Does not apply")
        case StepState.SKIPPED:
            return Entry(label, quiet="Skipped")
        case StepState.OPEN:
            return Entry(label, quiet="Not answered (required)" if result.step.required else "Not answered")
    assert answer is not None  # noqa: S101 - implied by the state
    images = _images(answer)
    drawn = left.take(images)
    notes = [_given(answer) + (f", by {context.name_of(answer.by)}" if answer.by else "")]
    if len(drawn) < len(images):
        notes.append(f"{len(images) - len(drawn)} more images are not printed.")
    return Entry(
        label,
        value=result.display or "",
        flag=_flag(result),
        note=f"Note: {answer.note}" if answer.note else "",
        notes=notes,
        place=_place(answer.geo) if answer.geo else "",
        map_link=_map_link(answer.geo) if answer.geo else "",
        images=drawn,
    )


def _flag(result: StepResult) -> str:
    if result.answer is None or not result.answer.flagged:
        return ""
    expected = expected_text(result.step)
    return f"Not as expected (expected: {expected})" if expected else "Not as expected"


def _signature(run: Run, left: ImageBudget) -> Entry | None:
    signature = run.status.signature
    if signature is None:
        return None
    drawn = left.take([Image(signature.photo.key, "")] if signature.photo is not None else [])
    return Entry("Signed by", value=signature.name, notes=[_time(signature.signed_at)], images=drawn)


def _images(answer: Answer) -> list[Image]:
    photos = [Image(photo.key, _caption(photo, number, answer)) for number, photo in enumerate(answer.photos, 1)]
    return photos + ([Image(answer.drawing.key, "")] if answer.drawing is not None else [])


def _caption(photo: PhotoRef, number: int, answer: Answer) -> str:
    taken = f", taken {_time(photo.captured_at)}" if photo.captured_at else ""
    zone = " (zone of the camera not known)" if photo.captured_at_assumed else ""
    return f"Photo {number} of {len(answer.photos)}{taken}{zone}"


def _place(geo: Geo) -> str:
    return position(geo) + (f", within {geo.accuracy_m:.0f} m" if geo.accuracy_m is not None else "")


def _map_link(geo: Geo) -> str:
    return f"https://www.openstreetmap.org/?mlat={geo.lat:.6f}&mlon={geo.lng:.6f}#map=17/{geo.lat:.6f}/{geo.lng:.6f}"


def _given(answer: Answer) -> str:
    received = "" if answer.received_at is None else f", received {_time(answer.received_at)}"
    return _time(answer.at) + received


def _time(moment: datetime | None) -> str:
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _last_change(run: Run, moment: datetime) -> datetime:
    status = run.status
    ends = [status.started_at, status.completed_at, status.cancelled_at, run.created_at]
    ends += [answer.received_at or answer.at for answer in status.answers.values()]
    if run.expires_at is not None and run.expires_at <= moment:
        ends.append(run.expires_at)
    return max(end for end in ends if end is not None)
