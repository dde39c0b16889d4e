"""Keys of the archive's objects.

    archive/{organization id}/{YYYY-MM}/{part}.jsonl.zst        lines
    archive/{organization id}/{YYYY-MM}/{part}.manifest.json    makes the part valid
    archive-unfinished/{organization id}/{YYYY-MM}/{part}.json  the part is being written, or its content deleted
    erasures/{organization id}/{erasure}.json                   erased runs of a person, by id

The month is that of the runs' creation, in UTC. A part's name consists of its first run's creation and a digest of its
objects and their versions, so the same content always has the same key.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self

from ..ids import is_id

PREFIX: Final = "archive"
UNFINISHED: Final = "archive-unfinished"
ERASURES: Final = "erasures"
PART: Final = ".jsonl.zst"
MANIFEST: Final = ".manifest.json"
_MARK: Final = ".json"
_MONTH: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_NAME: Final = re.compile(r"(deliveries-)?\d{8}T\d{6}Z-[0-9a-f]{32}")


def month_of(moment: datetime) -> str:
    """`2026-11`, in UTC."""
    return moment.astimezone(UTC).isoformat()[:7]


@dataclass(frozen=True, slots=True, order=True)
class Folder:
    """The parts of an organization and a month."""

    organization: str
    """The public id, org-<uuid>."""
    month: str

    @property
    def key(self) -> str:
        return f"{PREFIX}/{self.organization}/{self.month}"


@dataclass(frozen=True, slots=True, order=True)
class PartPlace:
    """The keys of a part."""

    folder: Folder
    name: str

    @property
    def key(self) -> str:
        return f"{self.folder.key}/{self.name}{PART}"

    @property
    def manifest_key(self) -> str:
        return f"{self.folder.key}/{self.name}{MANIFEST}"

    @property
    def mark_key(self) -> str:
        return f"{UNFINISHED}/{self.folder.organization}/{self.folder.month}/{self.name}{_MARK}"

    @property
    def has_runs(self) -> bool:
        """False: it contains deliveries that were removed before their runs."""
        return not self.name.startswith("deliveries-")

    @classmethod
    def of_key(cls, key: str) -> Self | None:
        """Parses any of its keys; None for another key."""
        parts = key.split("/")
        if len(parts) != 4 or not is_id("org", parts[1]) or not _MONTH.fullmatch(parts[2]):
            return None
        endings = {PREFIX: (PART, MANIFEST), UNFINISHED: (_MARK,)}.get(parts[0], ())
        for ending in endings:
            name = parts[3].removesuffix(ending)
            if name != parts[3] and _NAME.fullmatch(name):
                return cls(Folder(parts[1], parts[2]), name)
        return None


def part_name(first_created_at: datetime, contents: Iterable[str], *, has_runs: bool) -> str:
    """`contents`: objects and versions, in the order of the lines."""
    digest = hashlib.sha256("\n".join(contents).encode()).hexdigest()[:32]
    made = re.sub("[-:]", "", first_created_at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")) + "Z"
    return f"{'' if has_runs else 'deliveries-'}{made}-{digest}"
