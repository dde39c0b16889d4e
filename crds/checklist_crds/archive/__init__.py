"""The archive: settled runs past their retention in the cluster (docs/data.md).

It consists of parts (JSON lines in zstd) with a manifest each, in one folder per organization and month. The operator
writes, the API reads and the command line verifies them with this package.
"""

from .damage import Damaged
from .layout import Folder, PartPlace, month_of
from .manifest import Manifest, PartKind
from .part import EncodedPart, encode_part, lines_of
from .reading import ArchiveReader
from .record import Record, RemovedDeliveries
from .store import ArchiveStore

__all__ = [
    "ArchiveReader",
    "ArchiveStore",
    "Damaged",
    "EncodedPart",
    "Folder",
    "Manifest",
    "PartKind",
    "PartPlace",
    "Record",
    "RemovedDeliveries",
    "encode_part",
    "lines_of",
    "month_of",
]
