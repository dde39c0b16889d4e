"""What each combination renders to is valid: for kubeconform, a real API server, and restricted Pod Security."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from checklist_dev.chart_schemas import FILE_NAMES, write_schemas
from checklist_dev.chart_tools import KUBECONFORM, find_tool
from checklist_dev.failures import Failure
from checklist_dev.kubectl import Kubectl

from .conftest import HERE, Object, cases, rendered

RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
NAMESPACES = ("apps", "team-a", "team-b")


@pytest.fixture(scope="module")
def objects() -> dict[str, list[Object]]:
    """By the name of their case."""
    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(lambda case: (case.name, rendered(case.values)), cases()))


@pytest.fixture(scope="module")
def cluster(kubectl: Kubectl) -> Kubectl:
    """With the definitions of others that the chart has objects of, and the namespaces of the cases."""
    for file in (HERE / "foreign_crds").glob("*.yaml"):
        kubectl("apply", "--server-side", "-f", str(file))
        kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(file))
    for name in NAMESPACES:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": RESTRICTED}}
        kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    kubectl("create", "priorityclass", "high", "--value=1000")
    return kubectl


def kubeconform(folder: Path, bodies: list[Object]) -> str:
    """What it finds wrong; empty when all is well."""
    command = [
        *(find_tool(KUBECONFORM), "-strict", "-summary", "-output", "json"),
        *("-schema-location", f"{folder}/{FILE_NAMES}", "-"),
    ]
    text = yaml.dump_all(bodies, Dumper=yaml.CSafeDumper)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        assert json.loads(done.stdout)["summary"]["valid"] == len(bodies)
        return ""
    return done.stdout + done.stderr


def test_kubeconform_finds_every_object_valid(
    cluster: Kubectl, objects: dict[str, list[Object]], tmp_path: Path
) -> None:
    assert write_schemas(cluster, tmp_path) > 100
    for name, bodies in objects.items():
        assert kubeconform(tmp_path, bodies) == "", name
    broken = json.loads(json.dumps(objects["defaults"]))
    deployment = next(body for body in broken if body["kind"] == "Deployment")
    deployment["spec"]["replica"] = 1
    assert "replica" in kubeconform(tmp_path, broken)


def test_a_real_api_server_takes_every_object(cluster: Kubectl, objects: dict[str, list[Object]]) -> None:
    """Dry, and strict: a field that it does not know is an error, and so is a warning."""
    for name, bodies in objects.items():
        text = "---\n".join(json.dumps(body) + "\n" for body in bodies)
        try:
            cluster("create", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-", stdin=text)
        except Failure as failure:
            pytest.fail(f"{name}: {failure}")


def test_every_pod_passes_the_restricted_standard(cluster: Kubectl, objects: dict[str, list[Object]]) -> None:
    """A Deployment is only warned of what its pods lack; so the pods themselves are put before the server."""
    pods = {}
    for bodies in objects.values():
        for body in bodies:
            spec = body["spec"]["template"]["spec"] if body["kind"] in ("Deployment", "Job") else body.get("spec")
            if body["kind"] in ("Deployment", "Job", "Pod"):
                metadata = {"name": body["metadata"]["name"], "namespace": "apps"}
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
                pods[json.dumps(pod, sort_keys=True)] = pod
    assert len(pods) > 30
    text = "---\n".join(
        json.dumps({**pod, "metadata": {**pod["metadata"], "name": f"pod-{number}"}}) + "\n"
        for number, pod in enumerate(pods.values())
    )
    cluster("create", "--dry-run=server", "-f", "-", stdin=text)
    lax = json.loads(json.dumps(next(iter(pods.values()))))
    lax["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(Failure, match="restricted"):
        cluster("create", "--dry-run=server", "-f", "-", stdin=json.dumps(lax))
