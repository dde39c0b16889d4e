"""Fixtures of the plugin's tests: an operator on a real API server, and a person's shell."""

from pathlib import Path

import pytest
from tests.cluster.conftest import client, lab, operator, receiver, start_operator
from tests.cluster.operator_lab import Lab
from tests.kubectl.plugin_lab import Shell, kubeconfig_for

from checklist_dev.local.controlplane import ControlPlane

__all__ = ["client", "lab", "operator", "receiver", "start_operator"]


@pytest.fixture
def shell(control_plane: ControlPlane, lab: Lab, tmp_path: Path) -> Shell:
    kubeconfig = kubeconfig_for(control_plane.kubeconfig, tmp_path / "person.kubeconfig", lab.namespace)
    return Shell(control_plane.kubectl, kubeconfig)
