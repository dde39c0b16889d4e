"""The local control plane: what everybody who runs `make run`, `make test` or `make cluster` relies on."""

from checklist_dev.controlplane import ControlPlane
from checklist_dev.kubectl import Kubectl


def test_the_api_serves_a_current_kubernetes(kubectl: Kubectl) -> None:
    assert "Server Version: v1." in kubectl("version")


def test_a_test_gets_a_namespace_of_its_own(kubectl: Kubectl, namespace: str, control_plane: ControlPlane) -> None:
    kubectl("create", "configmap", "mine", "-n", namespace)
    assert "mine" in kubectl("get", "configmaps", "-n", namespace)
