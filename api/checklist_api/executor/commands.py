"""Parses commands from executor requests.

The models check what does not depend on the run: types, lengths, e-mail addresses. `runs.lifecycle.decide` checks
everything else. All functions raise MissingField and ValidationFailed.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from checklist_crds.errors import AnswerInvalid, Problem, ValidationFailed
from checklist_crds.resources.run import Geo
from checklist_crds.runs.commands import (
    AnswerStep,
    Cancel,
    ClearAnswer,
    DrawSignature,
    GiveIdentity,
    Open,
    RemovePhotos,
    SkipStep,
    Submit,
)

from .models import (
    AnswerRequest,
    CancelRequest,
    IdentityRequest,
    Operation,
    RemovePhotosRequest,
    SubmitRequest,
    TimedOperation,
)

Body = Mapping[str, Any]


def answer_step(step_id: str, body: Body, op_id: str | None) -> AnswerStep:
    """Raises AnswerInvalid if only the location is invalid."""
    try:
        asked = AnswerRequest.read(body, op_id=op_id)
    except ValidationFailed as error:
        problems = [problem for problem in error.details or () if isinstance(problem, Problem)]
        if all(problem.path.partition(".")[0] == "geo" for problem in problems):
            raise AnswerInvalid("The location is not valid.", details=problems) from None
        raise
    geo = None if asked.geo is None else Geo(lat=asked.geo.lat, lng=asked.geo.lng, accuracyM=asked.geo.accuracy_m)
    return AnswerStep(
        step_id=step_id,
        value=asked.value,
        geo=geo,
        note=asked.note or None,
        op_id=asked.op_id or op_id,
        given_at=asked.given_at,
    )


def clear_answer(step_id: str, body: Body, op_id: str | None) -> ClearAnswer:
    return ClearAnswer(step_id=step_id, op_id=_op_id(body, op_id))


def skip_step(step_id: str, body: Body, op_id: str | None) -> SkipStep:
    asked = TimedOperation.read(body, op_id=op_id)
    return SkipStep(step_id=step_id, op_id=asked.op_id or op_id, given_at=asked.given_at)


def remove_photos(
    step_id: str, photo_index: int | None, body: Body, op_id: str | None, given_at: datetime | None = None
) -> RemovePhotos:
    """`photo_index` and `given_at`: from the query."""
    asked = RemovePhotosRequest.read(body, op_id=op_id, photo_index=photo_index)
    index = photo_index if asked.photo_index is None else asked.photo_index
    return RemovePhotos(step_id=step_id, photo_index=index, op_id=asked.op_id or op_id, given_at=given_at)


def remove_drawing(body: Body, op_id: str | None) -> DrawSignature:
    return DrawSignature(photo=None, op_id=_op_id(body, op_id))


def open_run(body: Body, op_id: str | None) -> Open:
    return Open(op_id=_op_id(body, op_id))


def give_identity(body: Body, op_id: str | None) -> GiveIdentity:
    asked = IdentityRequest.read(body, op_id=op_id)
    return GiveIdentity(name=asked.name, email=asked.email, op_id=asked.op_id or op_id)


def submit(body: Body, op_id: str | None) -> Submit:
    asked = SubmitRequest.read(body, op_id=op_id)
    name = None if asked.signature is None else asked.signature.name
    return Submit(signature_name=name, op_id=asked.op_id or op_id)


def cancel(body: Body, op_id: str | None) -> Cancel:
    asked = CancelRequest.read(body, op_id=op_id)
    return Cancel(reason=asked.reason or None, op_id=asked.op_id or op_id)


def _op_id(body: Body, given: str | None) -> str | None:
    return Operation.read(body, op_id=given).op_id or given
