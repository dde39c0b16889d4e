"""The life cycle of a run as one pure function: `decide(run, definition, command, now) -> Decision`.

All changes of runs go through it: from the executor's API, the owner, and the operator at expiry. The caller reads the
run, decides, and writes `Decision.after` as a JSON Patch with tests (`kube.run_writes`); after a concurrent write it
starts again. A state change and its event are in the same patch, so an event exists exactly when its change does
(contract section 5; architecture section 3).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from ..errors import (
    AnswerInvalid,
    AssignedToAnother,
    NotFound,
    Problem,
    RequiredStepsMissing,
    RunClosed,
    RunExpired,
    ServiceUnavailable,
    ValidationFailed,
)
from ..ids import derived_id
from ..resources.base import to_json_text
from ..resources.event_names import EventName
from ..resources.run import (
    MAX_ANSWERS_BYTES,
    MAX_OUTBOX_BYTES,
    MAX_OUTBOX_ENTRIES,
    Answer,
    ExecutorIdentity,
    Geo,
    IdentityMode,
    OutboxEntry,
    Progress,
    Run,
    RunPhase,
    RunStatus,
    Signature,
    new_answer,
)
from ..resources.template_definition import Definition, Step
from ..templates.answers import is_flagged, validate_value
from ..templates.conditions import applicable_step_ids, flag_gap, flagged_steps, is_answered, missing_required
from ..templates.conditions import progress as count_progress
from ..times import format_timestamp
from ..values.json_text import stored_size
from .answer_times import answer_times
from .commands import (
    AddPhoto,
    AnswerStep,
    Cancel,
    ClearAnswer,
    Command,
    DrawSignature,
    Expire,
    GiveIdentity,
    Open,
    RemovePhotos,
    SkipStep,
    Submit,
    is_repeated,
    operation_of,
    with_operation,
)
from .end_conditions import with_end
from .events import geo_view, progress_view
from .photos import bytes_ever, is_empty, photo_of_operation, require_room, with_photo, without_photos

CANCELLED_BY_OWNER: Final = "cancelled_by_owner"
_MAX_BYTES_PER_CHARACTER: Final = 6
_MAX_BYTES_PER_ANSWER: Final = 2_000
_MAX_BYTES_PER_PHOTO: Final = 2_000
"""As escaped JSON: one character; an answer with a drawing, without its texts and photos; one photo."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The new status. `repeated` (`replayed` in REST): the operation was applied before, nothing is written."""

    before: RunStatus
    after: RunStatus
    repeated: bool = False

    @property
    def changes_anything(self) -> bool:
        """Whether there is anything to write."""
        return self.after is not self.before and self.after != self.before


def decide(run: Run, definition: Definition, command: Command, now: datetime) -> Decision:
    """Returns the next status of `run`, which is not modified.

    Raises RunClosed, RunExpired, AnswerInvalid, ValidationFailed, RequiredStepsMissing, NotFound (an unknown step),
    IdempotencyKeyReused, AssignedToAnother, ServiceUnavailable (the outbox is full).
    """
    before = run.status
    # First, because even a repeated command must not reveal anything to others.
    require_assignee(run, command.by)
    if command.op_id and is_repeated(before.operations, command):
        return Decision(before, before, repeated=True)

    phase = run.phase_at(now)
    if isinstance(command, Expire):
        after = _expire(run, now) if phase is RunPhase.EXPIRED and not before.phase.is_final else before
        return Decision(before, after)
    if isinstance(command, Open) and phase.is_final:
        return Decision(before, before)
    if phase is RunPhase.EXPIRED:
        raise RunExpired()
    if phase.is_final:
        raise RunClosed(f"The run is {phase.rest}; it takes no more changes.")

    after = _Change(run, definition, now, given_at=command.given_at).apply(command)
    if command.op_id and not isinstance(command, Open):
        # Even if nothing changed: the repetition of a clear that found no answer must not remove one given since.
        after = after.model_copy(update={"operations": with_operation(before.operations, command)})
    return Decision(before, after)


def require_assignee(run: Run, by: str | None) -> None:
    """Checks that a run for members is used by its assignee only, even after its end. `by` None: the owner or expiry.

    Raises AssignedToAnother.
    """
    assigned_to = run.status.assigned_to
    if by is not None and _mode(run) is IdentityMode.MEMBER and assigned_to not in (None, by):
        raise AssignedToAnother()


def _mode(run: Run) -> IdentityMode:
    return run.resolved.identity_mode if run.resolved else IdentityMode.ANONYMOUS


def is_settled(status: RunStatus) -> bool:
    """Whether `settled` may be set: the run is final, has nothing left to send, and no Secret contains its link."""
    retrying = any(not record.phase.is_final for record in status.delivery_records)
    return status.phase.is_final and not status.outbox and not retrying and status.link_secret_uid is None


def _expire(run: Run, now: datetime) -> RunStatus:
    expires_at = run.expires_at or now
    return _close(run, run.status.model_copy(), RunPhase.EXPIRED, EventName.RUN_EXPIRED, at=expires_at, now=now)


def _close(run: Run, status: RunStatus, phase: RunPhase, event: EventName, *, at: datetime, now: datetime) -> RunStatus:
    """Returns the final status: phase, event, conditions, and `settled` if nothing is left to send."""
    conditions = with_end(status.conditions, phase, now=now, generation=run.generation)
    closed = status.model_copy(
        update={"phase": phase, "conditions": conditions, "progress": status.progress or run.progress}
    )
    closed = _with_outbox_entry(run, closed, event, at=at, frozen=None)
    return closed.model_copy(update={"settled": True}) if is_settled(closed) else closed


def _with_outbox_entry(
    run: Run, status: RunStatus, event: EventName, *, at: datetime, frozen: dict[str, Any] | None
) -> RunStatus:
    """Appends an event to the outbox if the webhook subscribes to it.

    `frozen`: its data that later answers may change; None for the end of the run, whose event is never refused.
    """
    webhook = run.spec.webhook
    if webhook is None or not webhook.wants(event):
        return status
    encoded = None if frozen is None else to_json_text(frozen)
    if encoded is not None and status.outbox:
        waiting = [encoded, *(entry.encoded or "" for entry in status.outbox)]
        at_most = sum(_MAX_BYTES_PER_CHARACTER * (len(data) + 1) for data in waiting)  # as for answers
        is_large = at_most > MAX_OUTBOX_BYTES and sum(map(stored_size, waiting)) > MAX_OUTBOX_BYTES
        if len(status.outbox) >= MAX_OUTBOX_ENTRIES or is_large:
            raise ServiceUnavailable("Too many events of this run wait for delivery. Try again.", retry_after_s=5)
    seq = status.seq + 1
    entry = OutboxEntry(
        seq=seq,
        event=event,
        event_id=derived_id("evt", run.uid, str(seq)),
        ts=at,
        encoded=encoded,
    )
    return status.model_copy(update={"seq": seq, "outbox": [*status.outbox, entry]})


class _Change:
    """Applies one command to an open run. `given_at`: when the person acted, if the client gave it."""

    def __init__(self, run: Run, definition: Definition, now: datetime, *, given_at: datetime | None) -> None:
        self.run = run
        self.status = run.status
        self.definition = definition
        self.now = now
        self.times = answer_times(given_at, dispatched_at=run.created_at, now=now)

    def apply(self, command: Command) -> RunStatus:
        self.status = self._assigned(command)
        match command:
            case Open():
                return self.status
            case GiveIdentity():
                return self._give_identity(command)
            case AnswerStep():
                self._require_identity(command)
                return self._answer(command)
            case ClearAnswer():
                return self._clear(command)
            case AddPhoto():
                self._require_identity(command)
                return self._add_photo(command)
            case RemovePhotos():
                return self._remove_photos(command)
            case DrawSignature():
                self._require_identity(command)
                return self._draw_signature(command)
            case SkipStep():
                self._require_identity(command)
                return self._skip(command)
            case Submit():
                self._require_identity(command)
                return self._submit(command)
            case Cancel():
                return self._cancel(command)
            case _:
                raise TypeError(f"unknown command {type(command).__name__}")

    def _assigned(self, command: Command) -> RunStatus:
        """Assigns the run to the acting member if it has no assignee yet.

        A write without opening assigns too; otherwise two members could answer a run that neither has opened.
        """
        if command.by is None or _mode(self.run) is not IdentityMode.MEMBER or self.status.assigned_to is not None:
            return self.status
        identity = ExecutorIdentity(user_id=command.by)
        return self.status.model_copy(update={"assigned_to": command.by, "identity": identity})

    def _require_identity(self, command: Command) -> None:
        identity = self.status.identity
        if _mode(self.run) is IdentityMode.EXTERNAL and (identity is None or identity.email is None):
            problem = Problem("identity", "identity_required", "Name and e-mail address are needed before answering.")
            raise ValidationFailed("This checklist asks who you are first.", details=[problem])
        if _mode(self.run) is IdentityMode.MEMBER and command.by is None:
            problem = Problem("identity", "identity_required", "Only a signed-in member may answer.")
            raise ValidationFailed("This checklist is for members of the organization.", details=[problem])

    def _step(self, step_id: str) -> Step:
        step = next((step for step in self.definition.all_steps if step.id == step_id), None)
        if step is None or not step.type.rules.takes_answer:
            raise NotFound("There is no such step to answer in this run.")
        return step

    def _give_identity(self, command: GiveIdentity) -> RunStatus:
        if _mode(self.run) is not IdentityMode.EXTERNAL:
            problem = Problem(
                "identity", "identity_not_asked", f"This run takes no identity (mode {_mode(self.run).value})."
            )
            raise ValidationFailed(details=[problem])
        identity = ExecutorIdentity(name=command.name, email=command.email)
        return self.status.model_copy(update={"identity": identity})

    def _answer(self, command: AnswerStep) -> RunStatus:
        step = self._step(command.step_id)
        self._require_applicable(step)
        value = step.type.rules.stamped(validate_value(step, command.value), self.times.at)
        if step.geo_required and command.geo is None:
            raise AnswerInvalid(details=[Problem("geo", "geo_required", "This step needs the location.")])
        flagged = is_flagged(step, value, self.times.today)
        answer = self._new_answer(value, command, geo=command.geo, flagged=flagged, note=command.note)
        before = self.status.answers.get(step.id)
        if before is not None:
            answer = answer.model_copy(update={"photos": before.photos, "drawing": before.drawing})
        return self._keep(step, answer)

    def _new_answer(
        self,
        value: JsonValue,
        command: Command,
        *,
        geo: Geo | None = None,
        flagged: bool = False,
        note: str | None = None,
    ) -> Answer:
        return new_answer(
            value,
            geo=geo,
            at=self.times.at,
            received_at=self.times.received_at,
            by=command.by,
            revision=1,
            flagged=flagged,
            note=note,
        )

    def _changed_now(self, answer: Answer, command: Command) -> Answer:
        """Returns the answer after a change of its photos."""
        times = self.times
        return answer.model_copy(update={"at": times.at, "received_at": times.received_at, "by": command.by})

    def _add_photo(self, command: AddPhoto) -> RunStatus:
        step = self._step(command.step_id)
        self._require_applicable(step)
        before = self.status.answers.get(step.id)
        if photo_of_operation(before, command.op_id) is not None:
            return self.status  # so old that the list of operations no longer contains it
        answer = before or self._new_answer(None, command)
        answer = with_photo(self.status, step, answer, command)
        counts = {**self.status.photo_counts, step.id: self.status.photo_counts.get(step.id, 0) + 1}
        status = self._keep(step, self._changed_now(answer, command))
        stored = bytes_ever(self.status) + command.photo.bytes
        return status.model_copy(update={"photo_counts": counts, "stored_bytes": stored})

    def _remove_photos(self, command: RemovePhotos) -> RunStatus:
        step = self._step(command.step_id)
        before = self.status.answers.get(step.id)
        if before is None:
            return self.status
        answer = without_photos(before, command)
        if answer == before:
            return self.status
        if is_empty(answer):
            return self._clear(ClearAnswer(step_id=step.id))
        return self._keep(step, self._changed_now(answer, command))

    def _draw_signature(self, command: DrawSignature) -> RunStatus:
        if not self.definition.settings.signature_on_complete:
            text = "This checklist asks for no signature on completion."
            raise AnswerInvalid(text, details=[Problem("signature", "signature_not_asked", text)])
        photo = command.photo
        if photo is None:
            return self.status.model_copy(update={"drawing": None, "stored_bytes": bytes_ever(self.status)})
        require_room(self.status, photo, run_bytes=command.run_bytes, instead_of=self.status.drawing)
        changes = {
            "drawing": photo.model_copy(update={"operation": operation_of(command.op_id)}),
            "drawing_count": self.status.drawing_count + 1,
            "stored_bytes": bytes_ever(self.status) + photo.bytes,
        }
        return self.status.model_copy(update=changes)

    def _keep(self, step: Step, answer: Answer) -> RunStatus:
        """Returns the status with a new answer to `step`, and its event if the answer is complete.

        The revision counts complete answers: one assembled photo by photo starts with 1.
        """
        before = self.status.answers.get(step.id)
        if before is None:
            revision = 1 + self.status.revisions.get(step.id, 0)
        else:
            revision = before.revision + is_answered(step, before)
        answer = answer.model_copy(update={"revision": revision})
        answers = {**self.status.answers, step.id: answer}
        self._require_room(answers)
        skipped = [step_id for step_id in self.status.skipped_steps if step_id != step.id]
        status, progress = self._touched(step, answers, skipped)
        if not is_answered(step, answer):
            return status
        frozen = {
            "step_id": step.id,
            "value": answer.value,
            "photos": [photo.to_kube() for photo in answer.photos],
            "geo": geo_view(answer),
            **self._frozen_times(),
            "by": answer.by,
            "revision": revision,
            "progress": progress_view(progress),
            **({"flagged": True} if answer.flagged else {}),
            **({"note": answer.note} if answer.note is not None else {}),
        }
        if answer.drawing is not None:
            frozen["drawing"] = answer.drawing.to_kube()
        return _with_outbox_entry(self.run, status, EventName.STEP_COMPLETED, at=self.now, frozen=frozen)

    def _frozen_times(self) -> dict[str, str]:
        """Returns `at`, and `received_at` if it is another time."""
        times = {"at": self.times.at, "received_at": self.times.received_at}
        return {name: format_timestamp(moment) for name, moment in times.items() if moment is not None}

    def _clear(self, command: ClearAnswer) -> RunStatus:
        step = self._step(command.step_id)
        before = self.status.answers.get(step.id)
        if before is None and step.id not in self.status.skipped_steps:
            return self.status
        answers = {step_id: answer for step_id, answer in self.status.answers.items() if step_id != step.id}
        skipped = [step_id for step_id in self.status.skipped_steps if step_id != step.id]
        status, _ = self._touched(step, answers, skipped)
        return status.model_copy(update={"revisions": self._revisions_without(step)})

    def _revisions_without(self, step: Step) -> dict[str, int]:
        """Returns the revisions to keep after the answer to `step` is removed."""
        before = self.status.answers.get(step.id)
        sufficed = 0 if before is None else before.revision - (not is_answered(step, before))
        return {**self.status.revisions, step.id: sufficed} if sufficed > 0 else self.status.revisions

    def _skip(self, command: SkipStep) -> RunStatus:
        step = self._step(command.step_id)
        self._require_applicable(step)
        if step.required or not self.definition.settings.allow_skip:
            text = "A required step cannot be skipped." if step.required else "This checklist allows no skipping."
            raise AnswerInvalid(text, details=[Problem(step.id, "skip_not_allowed", text)])
        if step.id in self.status.skipped_steps:
            return self.status
        answers = {step_id: answer for step_id, answer in self.status.answers.items() if step_id != step.id}
        skipped = [*self.status.skipped_steps, step.id]
        status, progress = self._touched(step, answers, skipped)
        status = status.model_copy(update={"revisions": self._revisions_without(step)})
        frozen = {
            "step_id": step.id,
            **self._frozen_times(),
            "by": command.by,
            "progress": progress_view(progress),
        }
        return _with_outbox_entry(self.run, status, EventName.STEP_SKIPPED, at=self.now, frozen=frozen)

    def _submit(self, command: Submit) -> RunStatus:
        answers, skipped = self.status.answers, self.status.skipped_steps
        gaps = [self._gap(step) for step in missing_required(self.definition, answers, skipped)]
        if self.definition.settings.signature_on_complete and not command.signature_name:
            gaps.append(Problem("signature", "required", "A signature is needed to complete."))
        if gaps:
            raise RequiredStepsMissing(details=gaps)
        applicable = applicable_step_ids(self.definition, answers, skipped)
        answers = {step_id: answer for step_id, answer in answers.items() if step_id in applicable}
        skipped = [step_id for step_id in skipped if step_id in applicable]
        signature = None
        if command.signature_name:
            signature = Signature(name=command.signature_name, signed_at=self.now, photo=self.status.drawing)
        status = self.status.model_copy(
            update={
                "answers": answers,
                "skipped_steps": skipped,
                "revisions": {},
                "photo_counts": {},
                "drawing": None,
                "drawing_count": 0,
                "progress": self._progress(answers, skipped),
                "flagged": self._flagged(answers, skipped),
                "signature": signature,
                "started_at": self.status.started_at or self.now,
                "completed_at": self.now,
            }
        )
        return _close(self.run, status, RunPhase.COMPLETED, EventName.RUN_COMPLETED, at=self.now, now=self.now)

    def _gap(self, step: Step) -> Problem:
        """Returns why a step prevents completion."""
        asked, answer = step.on_flag, self.status.answers.get(step.id)
        match None if step.id in self.status.skipped_steps else flag_gap(step, answer):
            case "note":
                text = f"The answer to {step.label!r} is outside what is expected; it needs a note."
                return Problem(step.id, "note_required", text)
            case "photos" if asked is not None:
                wanted = f"{asked.fewest_photos} photo{'' if asked.fewest_photos == 1 else 's'}"
                text = f"The answer to {step.label!r} is outside what is expected; it needs {wanted}."
                return Problem(step.id, "photos_required", text)
        return Problem(step.id, "required", f"{step.label!r} needs an answer.")

    def _cancel(self, command: Cancel) -> RunStatus:
        status = self.status.model_copy(update={"cancelled_at": self.now, "cancel_reason": command.reason})
        return _close(self.run, status, RunPhase.CANCELLED, EventName.RUN_CANCELLED, at=self.now, now=self.now)

    def _touched(self, step: Step, answers: Mapping[str, Answer], skipped: list[str]) -> tuple[RunStatus, Progress]:
        """Returns the status with these answers, and its progress."""
        progress = self._progress(answers, skipped)
        status = self.status.model_copy(
            update={
                "phase": RunPhase.IN_PROGRESS,
                # Answers of another device may have been given earlier, and arrive later.
                "started_at": min(self.status.started_at or self.times.at, self.times.at),
                "answers": dict(answers),
                "skipped_steps": skipped,
                "progress": progress,
                "flagged": self._flagged(answers, skipped),
                "last_step_id": step.id,
            }
        )
        return status, progress

    def _progress(self, answers: Mapping[str, Answer], skipped: list[str]) -> Progress:
        counted = count_progress(self.definition, answers, skipped)
        return Progress(total=counted.total, answered=counted.answered, skipped=counted.skipped)

    def _flagged(self, answers: Mapping[str, Answer], skipped: list[str]) -> int | None:
        return len(flagged_steps(self.definition, answers, skipped)) or None

    def _require_applicable(self, step: Step) -> None:
        applicable = applicable_step_ids(self.definition, self.status.answers, self.status.skipped_steps)
        if step.id not in applicable:
            problem = Problem(step.id, "not_applicable", "The step's condition does not hold now.")
            raise AnswerInvalid("This step does not apply now.", details=[problem])

    def _require_room(self, answers: Mapping[str, Answer]) -> None:
        # Computed exactly only when the estimate is too large, which is rare.
        at_most = sum(
            _MAX_BYTES_PER_CHARACTER * (len(answer.encoded) + len(answer.note or "")) for answer in answers.values()
        )
        at_most += sum(_MAX_BYTES_PER_ANSWER + _MAX_BYTES_PER_PHOTO * len(answer.photos) for answer in answers.values())
        if at_most <= MAX_ANSWERS_BYTES:
            return
        size = stored_size({step_id: answer.to_kube() for step_id, answer in answers.items()})
        if size > MAX_ANSWERS_BYTES:
            raise AnswerInvalid(
                details=[Problem("value", "too_large", f"All answers together may have {MAX_ANSWERS_BYTES} bytes.")]
            )
