"""Commands on a run; `runs.lifecycle.decide` applies them."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from ..limits.organization_limits import Limits
from ..resources.run import Geo, PhotoRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Base of commands. `op_id` makes it idempotent; `by` is the acting member, if any.

    `given_at`: when the person acted, by the client; used for answers, photos and skips.
    """

    op_id: str | None = None
    by: str | None = None
    given_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Open(Command):
    """The link was opened. Changes no status, except that it assigns the run to a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveIdentity(Command):
    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStep(Command):
    step_id: str
    value: JsonValue
    geo: Geo | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearAnswer(Command):
    step_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPhoto(Command):
    """A photo in the store; `decide` assigns its index. For a signature step, the drawing."""

    step_id: str
    photo: PhotoRef
    run_bytes: int = Limits().run_bytes
    """The limit on all bytes ever stored for the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePhotos(Command):
    """Removes one photo of a step, or all of them (and a drawing)."""

    step_id: str
    photo_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawSignature(Command):
    """Sets the drawing of the signature on completion; None removes it."""

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
    """Expires the run; does nothing before `expires_at`."""
