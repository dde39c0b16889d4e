"""Commands on a run; `runs.lifecycle.decide` applies them.

The status of a run has a mark of each applied command with an `op_id`, which makes it safe to resend an offline queue
(contract section 6). A mark has 12 characters: 48 bits of the op_id, enough to distinguish the operations of one run,
and 24 bits of the request.
"""

import base64
import hashlib
import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from ..errors import IdempotencyKeyReused
from ..limits.organization_limits import Limits
from ..resources.run import MAX_OPERATIONS, Geo, PhotoRef

_MARK_CHARS: Final = 12
_OP_ID_CHARS: Final = 8
_MARKED_RUN_BYTES: Final = 4 * 1024**3
"""Earlier releases marked the organization's limit, usually this one. It is no part of the request."""


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


def is_repeated(operations: str, command: Command) -> bool:
    """Whether `command` was applied before.

    Raises IdempotencyKeyReused when its op_id was used for another request: treating that as a repetition would lose an
    answer that the executor believes to be stored.
    """
    mark = _mark(command)
    earlier = _mark(command, command.run_bytes) if isinstance(command, AddPhoto | DrawSignature) else mark
    for start in range(0, len(operations), _MARK_CHARS):
        known = operations[start : start + _MARK_CHARS]
        if known[:_OP_ID_CHARS] == mark[:_OP_ID_CHARS]:
            if known not in (mark, earlier):
                raise IdempotencyKeyReused("This op_id was used for another operation of this run.")
            return True
    return False


def with_operation(operations: str, command: Command) -> str:
    """Appends `command`; beyond MAX_OPERATIONS the oldest is dropped."""
    return (operations + _mark(command))[-_MARK_CHARS * MAX_OPERATIONS :]


def operation_of(op_id: str | None) -> str | None:
    """Returns the first part of an operation's mark, to find it by its op_id."""
    return None if op_id is None else _op_id_mark(op_id)


def _op_id_mark(op_id: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(op_id.encode()).digest()[:6]).decode()


def _mark(command: Command, run_bytes: int = _MARKED_RUN_BYTES) -> str:
    request = asdict(replace(command, op_id=None, by=None)) | {"command": type(command).__name__}
    # A repetition may lack it, for example after an update of the app.
    del request["given_at"]
    if request.get("note") is None:
        # As earlier releases marked it, so that they recognize each other's operations.
        request.pop("note", None)
    if isinstance(command, AddPhoto | DrawSignature):
        # Without the photo: a repetition is detected before its bytes are read.
        request |= {"photo": command.photo is not None, "run_bytes": run_bytes}
    if isinstance(command, AnswerStep) and command.geo is not None:
        request["geo"] = command.geo.to_kube()
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    asked = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:3]).decode()
    return _op_id_mark(command.op_id or "") + asked
