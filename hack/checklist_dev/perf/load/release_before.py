"""The previous release: its source code from the repository's history, and its custom resource definitions."""

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure
from checklist_dev.local.crd_install import install_crds
from checklist_dev.perf.load.rig import Rig
from checklist_dev.repository import ROOT

RELEASE_BEFORE: Final = "317c7014dbe013145141d81ed4d55cd615583398"
"""The last commit with structured delivery records."""


def code_of(revision: str, folder: Path) -> Path:
    """Extract the source code of a revision of this repository into `folder`. Raises Failure without the history."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        reason = archive.stderr.decode(errors="replace").strip()
        raise Failure(f"the previous release is revision {revision[:7]}, which this clone lacks: {reason}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def install_older_crds(rig: Rig, before: Path) -> None:
    """Replace the definitions by older ones, in a cluster without objects."""
    install_crds(rig.cluster.run_kubectl, before / "crds", downgrade=True)
