"""What a reviewer of the chart asks of its pods, besides the restricted standard (test_validity)."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.chart.render.conftest import rendered

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
