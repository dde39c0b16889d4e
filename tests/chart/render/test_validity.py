"""What each combination renders to is valid: for a real API server, and under restricted Pod Security."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.chart.render.conftest import HERE, Object, cases, rendered

from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import Kubectl

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
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "gvisor"},
        "handler": "runsc",
    }
    kubectl("create", "-f", "-", stdin=json.dumps(runtime))
    return kubectl


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
