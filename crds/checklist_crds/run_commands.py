"""What can be asked of a run; `run_lifecycle.decide` says what becomes of it."""

from dataclasses import dataclass

from pydantic import JsonValue

from .run_types import Geo


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
