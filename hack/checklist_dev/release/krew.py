"""Writes the archive of the kubectl plugin and its krew manifest for a release.

`python -m checklist_dev.release.krew WHEEL --homepage URL --downloads URL` writes `kubectl-checklists-VERSION.tar.gz`
and `checklists.yaml` into `dist/`. Upload the archive to `--downloads`, the address of the release's files, and submit
the manifest to an index of krew. The archive contains the wheel, the lock file of the image, and a launcher; it is the
same for every platform, and the same bytes for the same input.
"""

import argparse
import gzip
import hashlib
import io
import re
import tarfile
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure, run_tool
from checklist_dev.release.image.runtime_lock import RUNTIME
from checklist_dev.repository import HACK, ROOT

MANIFEST: Final = HACK / "krew" / "checklists.yaml"
LAUNCHER: Final = HACK / "krew" / "kubectl-checklists"
_WHEEL: Final = re.compile(r"checklist_dispatch-([0-9][^-]*)-py3-none-any\.whl")


def version_of(wheel: Path) -> str:
    """Raises Failure if the file is not a wheel of this project."""
    found = _WHEEL.fullmatch(wheel.name)
    if found is None:
        raise Failure(f"{wheel.name} is not a wheel of checklist-dispatch")
    return found[1]


def archive(wheel: Path, lock: Path = RUNTIME) -> bytes:
    """The plugin as a .tar.gz without times and owners."""
    files = {
        LAUNCHER.name: (LAUNCHER.read_bytes(), 0o755),
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "requirements.lock": (lock.read_bytes(), 0o644),
        "version": (f"{version_of(wheel)}\n".encode(), 0o644),
        wheel.name: (wheel.read_bytes(), 0o644),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def manifest(version: str, content: bytes, *, homepage: str, downloads: str) -> str:
    """The manifest of an archive below the address `downloads`. Raises Failure."""
    for address in (homepage, downloads):
        if not address.startswith("https://"):
            raise Failure(f"{address} must begin with https://")
    values = {
        "version": version,
        "homepage": homepage,
        "uri": f"{downloads.rstrip('/')}/{archive_name(version)}",
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    _, _, text = MANIFEST.read_text("utf-8").partition("\n")  # without the comment about the template
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def archive_name(version: str) -> str:
    return f"kubectl-checklists-{version}.tar.gz"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.release.krew", description=__doc__)
    parser.add_argument("wheel", type=Path, help="the wheel of the release (python -m build --wheel)")
    parser.add_argument("--homepage", required=True, metavar="URL", help="the project's page")
    parser.add_argument("--downloads", required=True, metavar="URL", help="where the release's files are downloaded")
    parser.add_argument("--to", type=Path, default=ROOT / "dist", metavar="FOLDER", help="output folder (dist)")
    given = parser.parse_args()
    version = version_of(given.wheel)
    content = archive(given.wheel)
    text = manifest(version, content, homepage=given.homepage, downloads=given.downloads)
    given.to.mkdir(parents=True, exist_ok=True)
    (given.to / archive_name(version)).write_bytes(content)
    (given.to / MANIFEST.name).write_text(text, encoding="utf-8")
    print(f"archive   {given.to / archive_name(version)}\nmanifest  {given.to / MANIFEST.name}")
    return 0


if __name__ == "__main__":
    run_tool(main)
