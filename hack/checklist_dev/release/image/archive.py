"""What is in an image that was saved: its configuration, and its files, read from the archive alone."""

import hashlib
import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

PACKED_AT_MOST: Final = 100_000_000
"""Bytes that a node pulls, without the fonts of Chinese, Japanese and Korean."""
UNPACKED_AT_MOST: Final = 300_000_000
"""The same on its disk."""


@dataclass(slots=True)
class Archive:
    """An OCI archive (or what `docker save` writes since version 25, which is one, too)."""

    path: Path
    config: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    """Of the manifest: what the image is pulled by."""
    layers: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Archive":
        """Raises OSError, KeyError for what is no such archive."""
        with tarfile.open(path) as tar:
            archive = cls(path)
            descriptor = json.loads(_blob(tar, "index.json"))["manifests"][0]
            manifest = json.loads(_blob(tar, _place(descriptor["digest"])))
            while "manifests" in manifest:  # an index of platforms: ours is the first
                descriptor = manifest["manifests"][0]
                manifest = json.loads(_blob(tar, _place(descriptor["digest"])))
            archive.digest = descriptor["digest"]
            archive.layers = manifest["layers"]
            archive.config = json.loads(_blob(tar, _place(manifest["config"]["digest"])))
        return archive

    def entries(self) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
        """Each file of each layer, from the lowest. A later one of the same name stands over an earlier."""
        with tarfile.open(self.path) as tar:
            for layer in self.layers:
                file = tar.extractfile(_place(layer["digest"]))
                with tarfile.open(fileobj=cast(BinaryIO, file)) as inner:
                    for member in inner:
                        yield member, inner

    def files(self) -> dict[str, tarfile.TarInfo]:
        """Path (no slash in front) -> what the topmost layer says of it."""
        return {_path(member): member for member, _ in self.entries()}

    def fingerprints(self) -> dict[str, tuple[object, ...]]:
        """Path -> all that its layer's digest depends on; of a file that several layers have, the topmost."""
        found: dict[str, tuple[object, ...]] = {}
        for member, inner in self.entries():
            file = inner.extractfile(member) if member.isfile() else None
            content = hashlib.sha256(file.read()).hexdigest() if file else ""
            owner = (member.uid, member.gid, member.uname, member.gname)
            what = (member.type, member.mode, member.mtime, member.linkname, tuple(sorted(member.pax_headers.items())))
            found[_path(member)] = (*what, *owner, content)
        return found

    def texts(self, wanted: Callable[[str], bool]) -> dict[str, str]:
        """Path -> contents, of all files whose path is wanted: the layers are unpacked once for them."""
        found = {}
        for member, inner in self.entries():
            if member.isfile() and wanted(_path(member)) and (file := inner.extractfile(member)):
                found[_path(member)] = file.read().decode()
        return found

    def text(self, path: str) -> str:
        """Raises KeyError when the image has no such file."""
        return self.texts(path.__eq__)[path]

    @property
    def packed(self) -> int:
        """Bytes that are transferred."""
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
