"""Pods as the chart makes them: not root, nothing to write but /tmp, no capabilities."""

import json
from typing import Any

from tests.chart.node.cluster import Cluster


def waiting_pod(name: str, namespace: str, image: str) -> dict[str, Any]:
    """One container that does nothing, restricted, with a /tmp of its own."""
    locked = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    container: dict[str, Any] = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", "import signal; signal.sigwait({signal.SIGTERM})"],
        "securityContext": locked,
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "restartPolicy": "Never",
            "enableServiceLinks": False,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 2,
            # No user is named: that it is not root is the image's own doing, which the kubelet checks.
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }


def phase(cluster: Cluster, namespace: str, name: str) -> str:
    return str(cluster.get("pod", name, "-n", namespace)["status"].get("phase"))


def run_inside(cluster: Cluster, namespace: str, name: str, *words: str) -> str:
    return cluster.kubectl("exec", name, "-n", namespace, "--", *words)


def python_inside(cluster: Cluster, namespace: str, name: str, script: str, *arguments: str) -> Any:
    """What the script prints, which is one JSON value."""
    return json.loads(run_inside(cluster, namespace, name, "python3", "-c", script, *arguments))
