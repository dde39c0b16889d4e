"""Photos of answers: limits per step and run, and indexes that are never reused (contract section 4).

Pure functions, used by `runs.lifecycle.decide`. A signature step takes one drawing in addition to its value; a new one
replaces it. Every other step takes photos within its bounds.
"""

from collections.abc import Iterator

from ..errors import AnswerInvalid, Problem
from ..limits.organization_limits import LimitName, limit_reached
from ..resources.run import MAX_PHOTOS, MAX_PHOTOS_EVER, MAX_RUN_PHOTO_BYTES, Answer, PhotoRef, RunStatus
from ..resources.template_definition import Step
from .commands import AddPhoto, RemovePhotos, operation_of


def photo_of_operation(answer: Answer | None, op_id: str | None) -> PhotoRef | None:
    """Returns the photo or drawing added by the operation, if the answer still has it."""
    mark = operation_of(op_id)
    if answer is None or mark is None:
        return None
    return next((photo for photo in _of_answer(answer) if photo.operation == mark), None)


def with_photo(status: RunStatus, step: Step, answer: Answer, command: AddPhoto) -> Answer:
    """Adds the photo of `command` to `answer`. Raises AnswerInvalid when the step or the run has no room for it."""
    index = status.photo_counts.get(step.id, 0)
    photo = command.photo.model_copy(update={"index": index, "operation": operation_of(command.op_id)})
    if step.type.rules.takes_drawing(step):
        require_room(status, photo, run_bytes=command.run_bytes, instead_of=answer.drawing)
        return answer.model_copy(update={"drawing": photo})
    if not step.most_photos:
        raise _refused("photos_not_taken", "This step takes no photos.")
    if len(answer.photos) >= step.most_photos:
        raise _refused("too_many", f"This step takes at most {step.most_photos} photos.")
    require_room(status, photo, run_bytes=command.run_bytes)
    return answer.model_copy(update={"photos": [*answer.photos, photo]})


def without_photos(answer: Answer, command: RemovePhotos) -> Answer:
    """Removes the photo with that index, or all; without one, the answer is unchanged."""
    if command.photo_index is None:
        return answer.model_copy(update={"photos": [], "drawing": None})
    kept = [photo for photo in answer.photos if photo.index != command.photo_index]
    drawing = answer.drawing
    if drawing is not None and drawing.index == command.photo_index:
        drawing = None
    return answer.model_copy(update={"photos": kept, "drawing": drawing})


def is_empty(answer: Answer) -> bool:
    """Whether the answer is empty."""
    parts = (answer.value, answer.geo, answer.drawing, answer.note)
    return not answer.photos and all(part is None for part in parts)


def bytes_ever(status: RunStatus) -> int:
    """Returns the bytes of all images ever stored. Older releases did not count a run's first ones."""
    return max(status.stored_bytes, sum(photo.bytes for photo in photos_of(status)))


def require_room(status: RunStatus, photo: PhotoRef, *, run_bytes: int, instead_of: PhotoRef | None = None) -> None:
    """Raises AnswerInvalid when the run has the maximum number or size of photos; LimitReached when `run_bytes` bytes
    were ever stored for it. Drawings count as photos."""
    others = [kept for kept in photos_of(status) if instead_of is None or kept.key != instead_of.key]
    if len(others) >= MAX_PHOTOS:
        raise _refused("too_many", f"A run takes at most {MAX_PHOTOS} photos.")
    if sum(kept.bytes for kept in others) + photo.bytes > MAX_RUN_PHOTO_BYTES:
        raise _refused("too_large", f"All photos of a run together may have {MAX_RUN_PHOTO_BYTES // 1024**3} GiB.")
    if sum(status.photo_counts.values()) + status.drawing_count >= MAX_PHOTOS_EVER:
        raise _refused("too_many", f"A run takes at most {MAX_PHOTOS_EVER} photos, with those that were taken back.")
    used = bytes_ever(status)
    if used + photo.bytes > run_bytes:
        raise limit_reached(LimitName.RUN_BYTES, limit=run_bytes, used=used)


def photos_of(status: RunStatus) -> Iterator[PhotoRef]:
    """Yields all images of the run: photos and drawings of answers, and the signature on completion."""
    for answer in status.answers.values():
        yield from _of_answer(answer)
    if status.drawing is not None:
        yield status.drawing
    if status.signature is not None and status.signature.photo is not None:
        yield status.signature.photo


def keys_in_use(status: RunStatus) -> frozenset[str]:
    """Returns the keys that the store must keep: of the run, and of events that are still to be sent."""
    keys = {photo.key for photo in photos_of(status)}
    for entry in status.outbox:
        frozen = entry.frozen
        keys |= {str(photo["key"]) for photo in frozen.get("photos") or ()}
        if frozen.get("drawing"):
            keys.add(str(frozen["drawing"]["key"]))
    return frozenset(keys)


def _of_answer(answer: Answer) -> Iterator[PhotoRef]:
    yield from answer.photos
    if answer.drawing is not None:
        yield answer.drawing


def _refused(code: str, text: str) -> AnswerInvalid:
    return AnswerInvalid(text, details=[Problem("photo", code, text)])
