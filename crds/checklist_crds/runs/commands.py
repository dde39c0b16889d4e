"""What can be asked of a run; `runs.lifecycle.decide` says what becomes of it."""

from dataclasses import dataclass

from pydantic import JsonValue

from ..limits.caps import Limits
from ..resources.run import Geo, PhotoRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Something that shall happen to a run. `op_id` makes it idempotent; `by` is the member who acts, if one does."""

    op_id: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Open(Command):
    """The link was opened. Changes no status; a member becomes the one it is assigned to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveIdentity(Command):
    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStep(Command):
    step_id: str
    value: JsonValue
    geo: Geo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearAnswer(Command):
    step_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPhoto(Command):
    """A photo that the store has. The index is given by `decide`. Of a signature step it is the drawing."""

    step_id: str
    photo: PhotoRef
    run_bytes: int = Limits().run_bytes
    """The cap on what was ever stored for the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePhotos(Command):
    """Takes one photo of a step back, or all of them (and a drawing)."""

    step_id: str
    photo_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawSignature(Command):
    """The drawing that goes with the signature on completion; None takes it back."""

    photo: PhotoRef | None
    run_bytes: int = Limits().run_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipStep(Command):
    step_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(Command):
    signature_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel(Command):
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire(Command):
    """The operator's word that time is up; does nothing before `expires_at`."""
