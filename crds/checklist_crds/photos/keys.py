"""Where the store keeps a photo: `photos/<organization id>/<run id>/<photo id>`, and beside it its thumbnail.

The id of a photo is made of its run, the operation that brought it and its content. So an upload that is sent again
lands in the same place, and no bytes can ever take the place of others: what a signed digest speaks of stays.

Versions before 0.1.0 left the organization out (`photos/<run id>/<photo id>`). What they have stored stays where it is.
"""

import re
import uuid
from dataclasses import dataclass
from typing import Final

from ..ids import is_id

PREFIX: Final = "photos"
_THUMBNAIL: Final = ".thumbnail.jpg"
_NAMESPACE: Final = uuid.UUID("b0f4c1de-6f5f-5c0a-8b58-0b8f0e2d6c55")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, order=True)
class PhotoFolder:
    """Where the photos of a run are. `organization`: a public id, or empty in a folder of versions before 0.1.0."""

    organization: str
    run_id: str

    @property
    def path(self) -> str:
        """What the keys of all photos in it begin with, without the last slash."""
        return "/".join(filter(None, (PREFIX, self.organization, self.run_id)))

    def key(self, photo: str) -> str:
        """The key of the photo with that id."""
        return f"{self.path}/{photo}"


def photo_id(run_id: str, op_id: str | None, sha256: str) -> str:
    """A lower-case UUID: the same for the same operation and bytes; a fresh one without an operation."""
    return str(uuid.uuid5(_NAMESPACE, "/".join((run_id, sha256, op_id)))) if op_id is not None else str(uuid.uuid4())


def photo_key(organization: str, run_id: str, photo: str) -> str:
    """`organization`: the public id of the one that the run belongs to."""
    return PhotoFolder(organization, run_id).key(photo)


def thumbnail_key(key: str) -> str:
    """The key of the thumbnail of the photo at `key`."""
    return key + _THUMBNAIL


def parts_of(key: str) -> tuple[PhotoFolder, str] | None:
    """(folder, photo id) of the key of a photo or of its thumbnail; None for any other text."""
    parts = key.removesuffix(_THUMBNAIL).split("/")
    if len(parts) == 3:
        parts.insert(1, "")
    if len(parts) != 4:
        return None
    prefix, organization, run_id, photo = parts
    is_folder = is_id("r", run_id) and (not organization or is_id("org", organization))
    fits = prefix == PREFIX and is_folder and _UUID.fullmatch(photo)
    return (PhotoFolder(organization, run_id), photo) if fits else None
