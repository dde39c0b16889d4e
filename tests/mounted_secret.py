"""A Secret (or ConfigMap) as the kubelet mounts it, and as it changes there."""

import shutil
from pathlib import Path


class MountedSecret:
    """Files are links through `..data`, which a rename swaps for another folder: all of them change at once."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.folder = folder
        self._number = 0
        self._files: dict[str, str] = {}
        folder.mkdir()
        self.change(**files)
        for name in files:
            (folder / name).symlink_to(Path("..data") / name)

    def path(self, name: str) -> Path:
        return self.folder / name

    def change(self, **files: str) -> None:
        """What is not named stays as it is."""
        self._files |= files
        self._number += 1
        version = self.folder / f"..version_{self._number}"
        version.mkdir()
        for name, text in self._files.items():
            (version / name).write_text(text)
        (new := self.folder / "..data_tmp").symlink_to(version.name)
        before = (self.folder / "..data").resolve() if self._number > 1 else None
        new.rename(self.folder / "..data")
        if before is not None:
            shutil.rmtree(before)
