"""Encodes and decodes parts: records as JSON lines in one zstd frame. Pure computation, for use in threads."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import zstandard

from .damage import Damaged
from .layout import Folder, PartPlace, part_name
from .manifest import Manifest, PartKind
from .record import Record, RemovedDeliveries

MAX_RUNS: Final = 500
MAX_BYTES: Final = 16 * 1024 * 1024
"""Uncompressed; a larger run gets its own part."""
_LEVEL: Final = 3
_LARGEST: Final = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """A part and its manifest, which is written after the part was read back."""

    content: bytes
    manifest: Manifest

    @property
    def place(self) -> PartPlace:
        return self.manifest.place


def encode_part(
    folder: Folder,
    records: Sequence[Record | RemovedDeliveries],
    *,
    written_at: datetime,
    written_by: str,
) -> EncodedPart:
    """Encodes at least one record, all of the folder's organization and month. The order of the records does not
    matter."""
    ordered = sorted(records, key=_order)
    has_runs = isinstance(ordered[0], Record)
    plain = b"".join(record.line() + b"\n" for record in ordered)
    content = _packed(plain)
    manifest = Manifest(
        kind=PartKind.RUNS if has_runs else PartKind.DELIVERIES,
        organization=folder.organization,
        month=folder.month,
        part=part_name(ordered[0].created_at, (one.contents() for one in ordered), has_runs=has_runs),
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        uncompressed_bytes=len(plain),
        runs=len(ordered),
        created_from=ordered[0].created_at,
        created_to=ordered[-1].created_at,
        written_at=written_at,
        written_by=written_by,
        run_ids=tuple(one.run_id for one in ordered),
        versions=tuple(one.version for one in ordered),
    )
    return EncodedPart(content, manifest)


def manifest_of(content: bytes, place: PartPlace, *, written_at: datetime, written_by: str) -> Manifest:
    """Builds the manifest of a part that was written without one. Raises Damaged."""
    plain = _plain(content, place.key)
    records = [_parse(line, has_runs=place.has_runs) for line in plain.splitlines()]
    if not records:
        raise Damaged(f"{place.key}: has no lines")
    made = encode_part(place.folder, records, written_at=written_at, written_by=written_by).manifest
    if made.part != place.name:
        raise Damaged(f"{place.key}: does not hold what its name says")
    sizes = {"size": len(content), "uncompressed_bytes": len(plain)}
    return made.model_copy(update={"sha256": hashlib.sha256(content).hexdigest(), **sizes})


def part_without(
    content: bytes, manifest: Manifest, run_ids: Collection[str], *, written_at: datetime, written_by: str
) -> EncodedPart | None:
    """Removes the lines of these runs and keeps all others byte for byte; None when none are left.

    The name is that of a part with the remaining records. Raises Damaged.
    """
    lines = lines_of(content, manifest)
    kept = [line for line, run_id in zip(lines, manifest.run_ids, strict=True) if run_id not in run_ids]
    if not kept:
        return None
    has_runs = manifest.kind is PartKind.RUNS
    made = encode_part(
        manifest.place.folder,
        [_parse(line, has_runs=has_runs) for line in kept],
        written_at=written_at,
        written_by=written_by,
    )
    plain = b"".join(line + b"\n" for line in kept)
    packed = _packed(plain)
    sizes = {"size": len(packed), "uncompressed_bytes": len(plain)}
    vouched = made.manifest.model_copy(update={"sha256": hashlib.sha256(packed).hexdigest(), **sizes})
    if set(vouched.run_ids) != set(manifest.run_ids) - set(run_ids):
        raise Damaged(f"{manifest.place.key}: its lines are not those of its manifest")
    return EncodedPart(packed, vouched)


def unvouched_lines(content: bytes, place: PartPlace) -> list[bytes]:
    """Returns the lines of a part without a manifest. Raises Damaged."""
    return _plain(content, place.key).splitlines()


def lines_of(content: bytes, manifest: Manifest) -> list[bytes]:
    """Returns the lines of the part described by the manifest. Raises Damaged.

    Checks the digest and the number of lines; `verified_records` checks each line.
    """
    key = manifest.place.key
    if len(content) != manifest.size:
        raise Damaged(f"{key}: has {len(content)} bytes, not {manifest.size}")
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        raise Damaged(f"{key}: its digest is not that of the manifest")
    plain = _plain(content, key, expected=manifest.uncompressed_bytes)
    lines = plain.split(b"\n")
    if lines.pop() != b"" or len(lines) != manifest.runs:
        raise Damaged(f"{key}: has {len(lines)} lines, not {manifest.runs}")
    return lines


def verified_records(content: bytes, manifest: Manifest) -> Iterator[Record | RemovedDeliveries]:
    """Yields all records after checking type, id and version. Raises Damaged."""
    key = manifest.place.key
    for number, line in enumerate(lines_of(content, manifest)):
        record = _parse(line, has_runs=manifest.kind is PartKind.RUNS)
        if (record.run_id, record.version) != (manifest.run_ids[number], manifest.versions[number]):
            raise Damaged(f"{key}: line {number + 1} is not the run that the manifest says")
        yield record


def _order(record: Record | RemovedDeliveries) -> tuple[datetime, str]:
    return record.created_at, record.run_id


def _parse(line: bytes, *, has_runs: bool) -> Record | RemovedDeliveries:
    return Record.parse(line) if has_runs else RemovedDeliveries.parse(line)


def _packed(plain: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=True).compress(plain)


def _plain(content: bytes, key: str, *, expected: int | None = None) -> bytes:
    try:
        size = zstandard.frame_content_size(content)
        if not 0 <= size <= _LARGEST or (expected is not None and size != expected):
            raise Damaged(f"{key}: says it has {size} bytes of lines")
        return zstandard.ZstdDecompressor().decompress(content)
    except zstandard.ZstdError as error:
        raise Damaged(f"{key}: {error}") from None
