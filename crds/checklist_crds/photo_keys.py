"""Where the store keeps a photo: `photos/<run id>/<photo id>`, and beside it its thumbnail.

The id of a photo is made of its run, the operation that brought it and its content. So an upload that is sent again
lands in the same place, and no bytes can ever take the place of others: what a signed digest speaks of stays.
"""

import re
import uuid
from typing import Final

from .ids import is_id

PREFIX: Final = "photos"
_THUMBNAIL: Final = ".thumbnail.jpg"
_NAMESPACE: Final = uuid.UUID("b0f4c1de-6f5f-5c0a-8b58-0b8f0e2d6c55")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def photo_id(run_id: str, op_id: str | None, sha256: str) -> str:
    """A lower-case UUID: the same for the same operation and bytes; a fresh one without an operation."""
    return str(uuid.uuid5(_NAMESPACE, "/".join((run_id, sha256, op_id)))) if op_id is not None else str(uuid.uuid4())


def photo_key(run_id: str, photo: str) -> str:
    return f"{run_folder(run_id)}/{photo}"


def thumbnail_key(key: str) -> str:
    """The key of the thumbnail of the photo at `key`."""
    return key + _THUMBNAIL


def run_folder(run_id: str) -> str:
    """What the keys of all photos of a run begin with, without the last slash."""
    return f"{PREFIX}/{run_id}"


def parts_of(key: str) -> tuple[str, str] | None:
    """(run id, photo id) of the key of a photo or of its thumbnail; None for any other text."""
    prefix, _, rest = key.removesuffix(_THUMBNAIL).partition("/")
    run_id, _, photo = rest.partition("/")
    return (run_id, photo) if prefix == PREFIX and is_id("r", run_id) and _UUID.fullmatch(photo) else None
