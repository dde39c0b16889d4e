"""The release before this one: its source code from the repository's history, and its custom resource definitions."""

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
    """The source code of a revision of this repository, in `folder`. Raises Failure where the history is missing."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        reason = archive.stderr.decode(errors="replace").strip()
        raise Failure(f"the release before is revision {revision[:7]}, which this clone lacks: {reason}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def install_older_crds(rig: Rig, before: Path) -> None:
    """Replaces the definitions of a cluster that has no object of them yet."""
    install_crds(rig.cluster.run_kubectl, before / "crds", downgrade=True)
