"""Keys of photos in the store: `photos/<organization id>/<run id>/<photo id>`, with the thumbnail next to it.

A photo's id is derived from its run, operation and content. So a repeated upload gets the same key, and no key is ever
used for other bytes: signed digests stay valid.

Versions before 0.1.0 used `photos/<run id>/<photo id>`; their photos stay where they are.
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
    """The folder of a run's photos. `organization`: a public id, or empty for versions before 0.1.0."""

    organization: str
    run_id: str

    @property
    def path(self) -> str:
        """Returns the prefix of all keys in it, without the trailing slash."""
        return "/".join(filter(None, (PREFIX, self.organization, self.run_id)))

    def key(self, photo: str) -> str:
        return f"{self.path}/{photo}"


def photo_id(run_id: str, op_id: str | None, sha256: str) -> str:
    """Returns a lower-case UUID: the same for the same operation and bytes; random without an operation."""
    return str(uuid.uuid5(_NAMESPACE, "/".join((run_id, sha256, op_id)))) if op_id is not None else str(uuid.uuid4())


def photo_key(organization: str, run_id: str, photo: str) -> str:
    """`organization`: the public id of the run's organization."""
    return PhotoFolder(organization, run_id).key(photo)


def thumbnail_key(key: str) -> str:
    return key + _THUMBNAIL


def parts_of(key: str) -> tuple[PhotoFolder, str] | None:
    """Splits the key of a photo or thumbnail into (folder, photo id); None for other text."""
    parts = key.removesuffix(_THUMBNAIL).split("/")
    if len(parts) == 3:
        parts.insert(1, "")
    if len(parts) != 4:
        return None
    prefix, organization, run_id, photo = parts
    is_folder = is_id("r", run_id) and (not organization or is_id("org", organization))
    fits = prefix == PREFIX and is_folder and _UUID.fullmatch(photo)
    return (PhotoFolder(organization, run_id), photo) if fits else None
