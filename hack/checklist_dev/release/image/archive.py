"""Reads configuration and files of a saved image from its archive."""

import hashlib
import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

PACKED_AT_MOST: Final = 100_000_000
"""Compressed bytes, without the fonts for Chinese, Japanese and Korean."""
UNPACKED_AT_MOST: Final = 300_000_000
"""Bytes on a node's disk."""


@dataclass(slots=True)
class Archive:
    """An OCI archive (also the output of `docker save` since version 25)."""

    path: Path
    config: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    """Digest of the manifest, by which the image is pulled."""
    layers: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Archive":
        """Read an archive. Raises OSError or KeyError if it is invalid."""
        with tarfile.open(path) as tar:
            archive = cls(path)
            descriptor = json.loads(_blob(tar, "index.json"))["manifests"][0]
            manifest = json.loads(_blob(tar, _place(descriptor["digest"])))
            while "manifests" in manifest:  # an index of platforms: take the first
                descriptor = manifest["manifests"][0]
                manifest = json.loads(_blob(tar, _place(descriptor["digest"])))
            archive.digest = descriptor["digest"]
            archive.layers = manifest["layers"]
            archive.config = json.loads(_blob(tar, _place(manifest["config"]["digest"])))
        return archive

    def entries(self) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
        """Each file of each layer, from the lowest. A later file replaces an earlier one of the same name."""
        with tarfile.open(self.path) as tar:
            for layer in self.layers:
                file = tar.extractfile(_place(layer["digest"]))
                with tarfile.open(fileobj=cast(BinaryIO, file)) as inner:
                    for member in inner:
                        yield member, inner

    def files(self) -> dict[str, tarfile.TarInfo]:
        """Entry of the topmost layer by path (without leading slash)."""
        return {_path(member): member for member, _ in self.entries()}

    def fingerprints(self) -> dict[str, tuple[object, ...]]:
        """Everything about a file that the digest of its layer depends on, by path; from the topmost layer."""
        found: dict[str, tuple[object, ...]] = {}
        for member, inner in self.entries():
            file = inner.extractfile(member) if member.isfile() else None
            content = hashlib.sha256(file.read()).hexdigest() if file else ""
            owner = (member.uid, member.gid, member.uname, member.gname)
            what = (member.type, member.mode, member.mtime, member.linkname, tuple(sorted(member.pax_headers.items())))
            found[_path(member)] = (*what, *owner, content)
        return found

    def texts(self, wanted: Callable[[str], bool]) -> dict[str, str]:
        """Contents by path, of all files whose path is wanted."""
        found = {}
        for member, inner in self.entries():
            if member.isfile() and wanted(_path(member)) and (file := inner.extractfile(member)):
                found[_path(member)] = file.read().decode()
        return found

    def text(self, path: str) -> str:
        """Contents of a file. Raises KeyError if missing."""
        return self.texts(path.__eq__)[path]

    @property
    def packed(self) -> int:
        """Compressed bytes."""
        return sum(int(layer["size"]) for layer in self.layers)

    def unpacked(self) -> int:
        """Bytes on a node's disk."""
        return sum(member.size for member in self.files().values())


def _path(member: tarfile.TarInfo) -> str:
    return member.name.removeprefix("./").strip("/")


def _place(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def _blob(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    if file is None:
        raise KeyError(name)
    return file.read()
