"""Pods as the chart makes them: not root, nothing to write but /tmp, no capabilities. What they print, how they end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.chart.cluster import Cluster

WAITS_FOREVER = ("python3", "-c", "import signal; signal.sigwait({signal.SIGTERM})")


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    output: str


def manifest(name: str, namespace: str, image: str, command: Sequence[str] | None) -> dict[str, Any]:
    """One container, restricted, with a /tmp of its own. `command` None: the image's own."""
    locked = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    container: dict[str, Any] = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": locked,
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    if command is not None:
        container["command"] = list(command)
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


def run_to_end(cluster: Cluster, pod: Mapping[str, Any]) -> Ended:
    """Makes it, waits until it has ended, and removes it."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    cluster.apply(pod)
    try:
        cluster.wait_until(lambda: phase(cluster, namespace, name) in ("Succeeded", "Failed"), f"the end of {name}")
        status = cluster.get("pod", name, "-n", namespace)["status"]["containerStatuses"][0]["state"]["terminated"]
        return Ended(int(status["exitCode"]), cluster.kubectl("logs", name, "-n", namespace))
    finally:
        cluster.kubectl("delete", "pod", name, "-n", namespace, "--wait=false")


def phase(cluster: Cluster, namespace: str, name: str) -> str:
    return str(cluster.get("pod", name, "-n", namespace)["status"].get("phase"))


def run_inside(cluster: Cluster, namespace: str, name: str, *words: str) -> str:
    return cluster.kubectl("exec", name, "-n", namespace, "--", *words)


def python_inside(cluster: Cluster, namespace: str, name: str, script: str, *arguments: str) -> Any:
    """What the script prints, which is one JSON value."""
    return json.loads(run_inside(cluster, namespace, name, "python3", "-c", script, *arguments))
