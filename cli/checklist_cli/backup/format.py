"""Format of a snapshot: parts of JSON lines compressed with zstd, and a manifest with their digests."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

import zstandard
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from checklist_crds.times import Timestamp
from checklist_crds.values.json_text import from_json, to_json

from . import layout

FORMAT: Final = 1
MAX_PART_BYTES: Final = 16 * 1024 * 1024
"""Uncompressed; a larger object gets a part of its own."""
_LEVEL: Final = 3
_LARGEST: Final = 2 * 1024**3


class DamagedBackup(Exception):
    """A snapshot is damaged or is not a snapshot. The text says what is wrong, and where."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class PartEntry(_Model):
    """A part's entry in the manifest."""

    folder: str
    """Public id of the organization, or `nobody`."""
    plural: str
    """`runs`, `templates`...; `copies` for the list of copies, `secrets` for webhook secrets."""
    key: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    uncompressed: int = Field(ge=0, le=_LARGEST)
    lines: int = Field(ge=0)


class OrganizationEntry(_Model):
    """An organization that is in the snapshot."""

    name: str
    """metadata.name."""
    id: str
    namespace: str | None = None
    """The organization's own namespace, if it has one."""


class CopiesEntry(_Model):
    """The copies of photos and archive; absent when they were left out."""

    photos: int = 0
    archive: int = 0
    bytes: int = 0
    vanished: int = 0
    """Objects that were listed, but deleted before they were copied."""


class SecretNeed(_Model):
    """A webhook secret that runs reference by secretRef and that is not in the snapshot."""

    namespace: str
    name: str
    key: str


class BackupManifest(_Model):
    """The commit point of a snapshot."""

    format: int = Field(default=FORMAT, ge=FORMAT, le=FORMAT)
    name: str
    started_at: Timestamp
    finished_at: Timestamp
    written_by: str
    cluster_version: str
    """The resource version at which all objects were read."""
    crd_version: int
    """The highest version of the definitions in the cluster."""
    organizations: tuple[OrganizationEntry, ...]
    namespaces: tuple[str, ...]
    """All namespaces with objects."""
    is_partial: bool = False
    """Contains only some organizations."""
    counts: dict[str, int]
    """Objects by kind."""
    parts: tuple[PartEntry, ...]
    copies: CopiesEntry | None = None
    server_key: tuple[str, ...] = ()
    """Fingerprints of the server keys, the signing one first; empty if no key was known."""
    sealing_keys: tuple[str, ...] = ()
    """Ids of the keys that something in the snapshot is sealed with."""
    secrets_needed: tuple[SecretNeed, ...] = ()
    seals_expire: bool = False
    """Written by a version that accepts a run's seal only if the run was created when it was sealed."""

    def encoded(self) -> bytes:
        return self.model_dump_json(indent=1).encode() + b"\n"

    @classmethod
    def parse(cls, text: bytes, name: str) -> Self:
        """Raises DamagedBackup."""
        try:
            manifest = cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DamagedBackup(f"{layout.manifest_key(name)}: {where}: {first['msg']}") from None
        if manifest.name != name:
            raise DamagedBackup(f"{layout.manifest_key(name)}: belongs to another snapshot, {manifest.name}")
        for part in manifest.parts:
            if not part.key.startswith(f"{layout.PREFIX}/{name}/") or ".." in part.key:
                raise DamagedBackup(f"{layout.manifest_key(name)}: {part.key} is not one of its parts")
        return manifest


@dataclass(frozen=True, slots=True)
class EncodedLines:
    """A part's bytes and its entry for the manifest."""

    content: bytes
    entry: PartEntry


def encode(key: str, folder: str, plural: str, lines: Iterable[bytes]) -> EncodedLines:
    """Compress `lines`, given without line ends."""
    held = list(lines)
    plain = b"".join(line + b"\n" for line in held)
    content = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=True).compress(plain)
    digest = hashlib.sha256(content).hexdigest()
    entry = PartEntry(
        folder=folder,
        plural=plural,
        key=key,
        sha256=digest,
        size=len(content),
        uncompressed=len(plain),
        lines=len(held),
    )
    return EncodedLines(content, entry)


def decode(content: bytes | None, entry: PartEntry) -> list[bytes]:
    """The lines of a part, verified against its entry. Raises DamagedBackup."""
    if content is None:
        raise DamagedBackup(f"{entry.key}: missing, but listed in the manifest")
    if len(content) != entry.size:
        raise DamagedBackup(f"{entry.key}: has {len(content)} bytes, not {entry.size}")
    if hashlib.sha256(content).hexdigest() != entry.sha256:
        raise DamagedBackup(f"{entry.key}: the digest does not match the manifest")
    try:
        if zstandard.frame_content_size(content) != entry.uncompressed:
            raise DamagedBackup(f"{entry.key}: the uncompressed size does not match the manifest")
        plain = zstandard.ZstdDecompressor().decompress(content)
    except zstandard.ZstdError as error:
        raise DamagedBackup(f"{entry.key}: {error}") from None
    lines = plain.split(b"\n")
    if lines.pop() != b"" or len(lines) != entry.lines:
        raise DamagedBackup(f"{entry.key}: has {len(lines)} lines, not {entry.lines}")
    return lines


def to_line(document: object) -> bytes:
    return to_json(document)


def from_line(line: bytes, key: str) -> dict[str, object]:
    """Raises DamagedBackup."""
    try:
        document = from_json(line)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise DamagedBackup(f"{key}: a line is not a JSON object")
    return document
