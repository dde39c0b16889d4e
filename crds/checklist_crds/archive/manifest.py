"""The manifest of a part: written after the part was verified, it makes the part valid."""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..times import Timestamp
from .damage import Damaged
from .layout import Folder, PartPlace
from .record import FORMAT


class PartKind(StrEnum):
    """Type of a part's lines."""

    RUNS = "runs"
    DELIVERIES = "deliveries"


class Manifest(BaseModel):
    """Manifest of one part. `run_ids` and `versions` are in the order of the lines."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, validate_by_name=True, validate_by_alias=True, hide_input_in_errors=True
    )

    format: int = Field(default=FORMAT, ge=FORMAT, le=FORMAT)
    kind: PartKind = PartKind.RUNS
    organization: str
    """The public id, org-<uuid>."""
    month: str
    part: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Of the stored bytes."""
    size: int = Field(alias="bytes", ge=0)
    uncompressed_bytes: int = Field(ge=0)
    runs: int = Field(ge=0)
    created_from: Timestamp
    created_to: Timestamp
    """Creation times of the first and the last run."""
    written_at: Timestamp
    written_by: str
    run_ids: tuple[str, ...]
    versions: tuple[int, ...]
    """`version` of each record."""

    @model_validator(mode="after")
    def _counts(self) -> Self:
        if not self.runs == len(self.run_ids) == len(self.versions) == len(set(self.run_ids)):
            raise ValueError("runs, run_ids and versions are not of the same number, or an id is there twice")
        return self

    @property
    def place(self) -> PartPlace:
        return PartPlace(Folder(self.organization, self.month), self.part)

    def encoded(self) -> bytes:
        """Encodes it as indented JSON."""
        return self.model_dump_json(indent=1, by_alias=True).encode() + b"\n"

    @classmethod
    def parse(cls, text: bytes, place: PartPlace) -> Self:
        """Parses the manifest at `place`. Raises Damaged."""
        try:
            manifest = cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            raise Damaged(f"{place.manifest_key}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if manifest.place != place or (manifest.kind is PartKind.RUNS) != place.has_runs:
            raise Damaged(f"{place.manifest_key}: describes another part, {manifest.place.key}")
        return manifest
