"""The chart itself does not drift: what a GitOps tool applied is what the cluster has, and no writer changes it."""

import json
from typing import Any

import pytest
from tests.chart.render.conftest import Object, rendered

from checklist_dev.local.kubectl import Kubectl

HOOK = "helm.sh/hook"
EVERYTHING: dict[str, Any] = {
    "host": "checklists.example.com",
    "ingress": {"enabled": True},
    "tls": {"existingSecret": "tls"},
    "secrets": {"existingSecret": "keys"},
    "redis": {"builtIn": {"enabled": True}, "password": {"existingSecret": "redis"}},
    "api": {"autoscaling": {"enabled": True}, "service": {"type": "NodePort"}},
    "operator": {"replicas": 2},
    "photos": {"persistentVolume": {"accessMode": "ReadWriteMany"}},
    "networkPolicy": {"enabled": True, "apiServer": ["10.96.0.1/32"]},
    "metrics": {"dashboards": {"enabled": True}},
    "bootstrap": {"organization": "Acme"},
}


def in_namespace(values: dict[str, Any], namespace: str) -> list[Object]:
    """Without hooks, which are no part of the state, and without definitions, which all tests share."""
    objects = rendered({**values, "fullnameOverride": namespace}, "--namespace", namespace)
    return [body for body in objects if HOOK not in body["metadata"].get("annotations", {})]


@pytest.mark.parametrize(
    ("manager", "values"),
    [
        ("helm-controller", {"secrets": {"existingSecret": "keys"}}),
        ("argocd-controller", EVERYTHING),
        ("kustomize-controller", EVERYTHING),
    ],
    ids=["defaults", "Argo CD", "Flux"],
)
def test_the_chart_does_not_drift(kubectl: Kubectl, namespace: str, values: dict[str, Any], manager: str) -> None:
    objects = in_namespace(values, namespace)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    side = ("--server-side", f"--field-manager={manager}", "-f", "-")
    kubectl("apply", *side, stdin=text)
    assert kubectl("diff", *side, stdin=text) == ""  # kubectl fails when there is a difference
    again = in_namespace(values, namespace)
    assert again == objects
    if "api" in values:
        scale = {"spec": {"replicas": 5}}
        deployment = ("deployment", f"{namespace}-api", "-n", namespace)
        kubectl("patch", *deployment, "--field-manager=autoscaler", "-p", json.dumps(scale))
        assert kubectl("diff", *side, stdin=text) == "", "the autoscaler's count is fought over"
        kubectl("apply", *side, stdin=text)
        found = json.loads(kubectl("get", *deployment, "-o", "json"))
        assert found["spec"]["replicas"] == 5
