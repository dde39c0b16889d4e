"""A release in a Kubernetes API of its own, which is empty: definitions come with the chart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.chart.install.installed import RELEASE, Installation

from checklist_dev.local.controlplane import ControlPlane

FIRST_GAP_S = 3600
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


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with ControlPlane(tmp_path / "empty-cluster", ephemeral=True) as plane:
        made = Installation(plane, tmp_path)
        yield made
        made.stop()
