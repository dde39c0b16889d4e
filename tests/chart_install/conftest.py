"""A Kubernetes API of its own for each module, and a release in a namespace of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checklist_dev.controlplane import ControlPlane

from .installed import Installation
from .story import FIRST_GAP_S

RELEASE = "checklists"
VALUES: dict[str, Any] = {
    "fullnameOverride": RELEASE,
    "image": {"repository": "localhost/checklist-dispatch"},
    "photos": {"store": "temporary"},
    "bootstrap": {"organization": "Example Ltd", "admin": "ada@example.com"},
    # The receiver is on this machine, and it is away for the time of the upgrade.
    "settings": {"allowInsecureTargets": True, "retryGaps": f"{FIRST_GAP_S},600,600,600", "retryJitter": 0},
    "clusterRanges": [],
}
WITHOUT_PODS = ("--no-hooks",)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Empty: definitions come with the chart."""
    with ControlPlane(tmp_path_factory.mktemp("empty-cluster"), ephemeral=True) as plane:
        yield plane


@pytest.fixture
def installation(cluster: ControlPlane, tmp_path: Path) -> Iterator[Installation]:
    made = Installation(cluster, RELEASE, tmp_path)
    cluster.run_kubectl("create", "namespace", RELEASE)
    yield made
    made.stop()
