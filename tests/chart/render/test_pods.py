"""What each combination renders to is valid, and what a reviewer requires of its pods."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

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


DIGEST = "sha256:" + "0" * 64
EVERYTHING = {
    "image": {"digest": DIGEST},
    "bootstrap": {"organization": "Example"},
    "redis": {"builtIn": {"enabled": True, "image": f"redis:8@{DIGEST}"}},
    "photos": {"store": "s3", "s3": {"bucket": "photos", "existingSecret": "bucket"}},
    "oidc": {"issuer": "https://id.example", "clientId": "c", "clientSecret": {"existingSecret": "oidc"}},
    "model": {"url": "https://models.example", "name": "m", "key": {"existingSecret": "model"}},
    "backup": {"address": "s3://backups"},
    "maintenance": {"enabled": True},
}
OURS = {"api", "operator", "bootstrap", "backup", "maintenance"}


def pods(values: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(component, spec) of each."""
    for body in rendered(values):
        maker = body.get("spec", {})
        if body["kind"] == "CronJob":
            maker = maker["jobTemplate"]["spec"]
        spec = body["spec"] if body["kind"] == "Pod" else maker.get("template", {}).get("spec")
        if spec is not None:
            yield body["metadata"]["labels"]["app.kubernetes.io/component"], spec


def containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*spec.get("initContainers", ()), *spec["containers"]]


@pytest.fixture(scope="module")
def specs() -> dict[str, dict[str, Any]]:
    found = dict(pods(EVERYTHING))
    assert found.keys() == OURS | {"redis", "test"}
    return found


def test_only_who_calls_the_kubernetes_api_has_a_token_for_it(specs: dict[str, dict[str, Any]]) -> None:
    assert {name for name, spec in specs.items() if spec["automountServiceAccountToken"] is not False} == OURS
    accounts = [body for body in rendered(EVERYTHING) if body["kind"] == "ServiceAccount"]
    assert len(accounts) == 5
    assert {body["automountServiceAccountToken"] for body in accounts} == {False}


def test_secrets_are_files_that_one_group_reads(specs: dict[str, dict[str, Any]]) -> None:
    volumes = [volume["secret"] for spec in specs.values() for volume in spec["volumes"] if "secret" in volume]
    names = {volume["secretName"] for volume in volumes}
    assert names == {"rel-checklist-dispatch-keys", "rel-checklist-dispatch-redis", "bucket", "oidc", "model"}
    assert {volume["defaultMode"] for volume in volumes} == {0o440}
    by_environment = {
        name
        for name, spec in specs.items()
        for container in containers(spec)
        if container.get("envFrom") or [each for each in container.get("env", []) if "secretKeyRef" in str(each)]
    }
    assert by_environment == set()


@pytest.mark.parametrize("store", ["persistentVolume", "temporary"])
def test_no_pod_can_fill_the_disk_of_its_node(store: str) -> None:
    without = {"backup": {}, "maintenance": {}} if store == "temporary" else {}
    for _, spec in pods({**EVERYTHING, **without, "photos": {"store": store}}):
        assert [each["name"] for each in containers(spec) if "memory" not in each["resources"].get("limits", {})] == []
        folders = [volume["emptyDir"] for volume in spec["volumes"] if "emptyDir" in volume]
        assert folders
        assert all("sizeLimit" in folder for folder in folders)


def test_every_image_can_be_named_by_its_digest(specs: dict[str, dict[str, Any]]) -> None:
    images = {container["image"] for spec in specs.values() for container in containers(spec)}
    assert len(images) == 2
    assert [image for image in images if not image.endswith(f"@{DIGEST}")] == []


def test_what_the_first_organizations_job_may_do_goes_with_it() -> None:
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    of_the_job = [
        body
        for body in rendered(EVERYTHING)
        if body["kind"] in kinds and body["metadata"]["labels"]["app.kubernetes.io/component"] == "bootstrap"
    ]
    assert sorted(body["kind"] for body in of_the_job) == sorted(kinds)
    for body in of_the_job:
        assert "hook-succeeded" in body["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
    verbs = {(*rule["resources"], *rule["verbs"]) for body in of_the_job for rule in body.get("rules", ())}
    assert verbs == {("organizations", "create", "get"), ("members", "create", "list")}
