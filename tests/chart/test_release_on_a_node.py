"""What the chart can have beside its defaults, in real pods: a Redis, shards of the operator, photos on a claim."""

import json
import os
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.chart.cluster import Cluster
from tests.chart.conftest import Image
from tests.chart.pods import python_inside, run_inside
from tests.chart.release import GROUP, NAME, ORGANIZATION, Release, installed

from checklist_dev.binaries import cache_folder
from checklist_dev.failures import say
from checklist_dev.image.engine import find_engine
from checklist_dev.image.local_base import debian_rootfs, image_of
from checklist_dev.repository import ROOT

API_PORT, OPERATOR_PORT = 8080, 8081
SHARED = "checklists_rate_limits_shared"
STEPS = [{"id": "s-door", "type": "photo", "label": "The door"}]
WITH_A_PHOTO = {"name": "Door", "sections": [{"id": "g-1", "title": "Door", "steps": STEPS}]}
UPLOAD = """
import io, json, sys, urllib.request
from PIL import Image
made = io.BytesIO()
Image.new("RGB", (640, 480), "orange").save(made, "JPEG")
url, token = sys.argv[1:]
headers = {"Authorization": "Executor " + token, "Content-Type": "image/jpeg"}
request = urllib.request.Request(url, made.getvalue(), headers, method="POST")
with urllib.request.urlopen(request, timeout=60) as answer:
    print(json.dumps(answer.status))
"""

DOCTOR = """
import subprocess
print(subprocess.run(["checklist-dispatch", "doctor", "--json"], stdout=subprocess.PIPE, text=True).stdout)
"""
"""It ends with another status than 0 where something is not as it should be."""


@pytest.fixture(scope="module")
def redis(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Its values: the chart's own image where a registry is reached, else one of Debian's package."""
    engine = find_engine(ROOT / ".cache" / "image.log")
    if engine is None or engine.name != "buildah" or "CHECKLISTS_TEST_KUBECONFIG" in os.environ:
        return {"enabled": True}
    tag = image_of(debian_rootfs(cache_folder(), say, ("redis-server",)), engine, say)
    archive = tmp_path_factory.mktemp("redis") / "redis.tar"
    engine.save(tag, archive, say)
    cluster.load(archive)
    return {"enabled": True, "image": tag}


@pytest.fixture(scope="module")
def claim(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Values of the claim of photos."""
    yield from volume(cluster, tmp_path_factory.mktemp("photos"))


@pytest.fixture(scope="module")
def claim_of_backups(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The same of the backups'."""
    yield from volume(cluster, tmp_path_factory.mktemp("backups"))


def volume(cluster: Cluster, folder: Path) -> Iterator[dict[str, Any]]:
    """Size and class for a claim: of the cluster's default class, or on `folder` where this machine is the node."""
    classes = cluster.get("storageclasses")["items"]
    default = "storageclass.kubernetes.io/is-default-class"
    if any(each["metadata"].get("annotations", {}).get(default) == "true" for each in classes):
        yield {"size": "1Gi"}
        return
    if not cluster.prefix:
        pytest.skip("the cluster has no default StorageClass, and its nodes are not this machine")
    name = f"{folder.name}-{uuid.uuid4().hex[:10]}"
    (node,) = cluster.get("nodes")["items"]
    host = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node["metadata"]["name"]]}
    for each in (folder, *folder.parents[:3]):  # pytest's own are for their user alone
        each.chmod(each.stat().st_mode | 0o011)
    spec = {
        **{"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": name},
        **{"persistentVolumeReclaimPolicy": "Retain", "local": {"path": str(folder)}},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
    }
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
    yield {"size": "1Gi", "storageClassName": name}
    cluster.kubectl("delete", "persistentvolume", name, "--wait=false")


@pytest.fixture(scope="module")
def values(redis: dict[str, Any], claim: dict[str, Any]) -> dict[str, Any]:
    return {
        "photos": {"store": "persistentVolume", "persistentVolume": claim},
        "redis": {"builtIn": redis},
        "operator": {"shards": 2},
        "settings": {"sweepSeconds": 0.5},
    }


@pytest.fixture(scope="module")
def release(cluster: Cluster, loaded: Image, values: dict[str, Any]) -> Iterator[Release]:
    with installed(cluster, loaded, **values) as release:
        yield release


def test_all_of_it_is_ready_on_one_node_and_each_shard_leads(release: Release) -> None:
    """A claim that is ReadWriteOnce keeps them together."""

    def leaders() -> list[float]:
        return [release.metric(pod, "checklists_leader", OPERATOR_PORT) for pod in release.pods("operator")]

    release.cluster.wait_until(lambda: leaders() == [1, 1], "both shards lead")
    for component in ("api", "redis", "operator-0", "operator-1"):
        assert release.is_available(component)
    assert "Succeeded" in release.helm("test", NAME)
    chosen = release.cluster.get("pods", "-n", release.namespace, "-l", "checklists.dev/photos=shared")["items"]
    assert len(chosen) == 4
    assert len({each["spec"]["nodeName"] for each in chosen}) == 1


def test_redis_is_used_by_every_pod_and_nobody_notices_when_it_is_killed(release: Release) -> None:
    def shared() -> list[float]:
        return [release.metric(pod, SHARED, API_PORT) for pod in sorted(release.pods("api"))]

    release.cluster.wait_until(lambda: shared() == [1, 1], "both API pods count in Redis")
    (victim,) = release.pods("redis")
    with release.load() as told:
        release.cluster.kubectl("delete", "pod", victim, "-n", release.namespace, "--grace-period=0", "--force")
        release.cluster.wait_until(
            lambda: release.is_available("redis") and victim not in release.pods("redis"), "Redis is there again"
        )
        release.cluster.wait_until(lambda: shared() == [1, 1], "both API pods count in Redis again")
    assert told.failures == []
    assert len(told.runs) > 20


def test_photos_and_archived_runs_on_the_claim_outlive_all_pods(release: Release) -> None:
    """The API puts the photo there, the operator the run, and others than they read both."""
    name = archived_with_a_photo(release)
    before = release.pods("api") | release.pods("operator")
    release.cluster.kubectl("delete", "pod", *before, "-n", release.namespace, "--wait=true")
    for component in ("api", "operator-0", "operator-1"):
        release.cluster.wait_until(partial(release.is_available, component), f"{component} is there again")
    assert not before & (release.pods("api") | release.pods("operator"))
    release.cluster.wait_until(lambda: release.call("GET", f"/v1/runs/{name}")[0] == 200, "the run, from the archive")
    _, found = release.call("GET", f"/v1/runs/{name}")
    assert found["status"] == "cancelled"
    (photo,) = found["answers"]["s-door"]["photos"]
    address = urlsplit(photo["url"])  # at the base URL, which is nowhere in the cluster
    assert release.fetch(f"{address.path}?{address.query}")[:2] == b"\xff\xd8"


def test_a_backup_by_the_timer_and_an_erasure_in_the_maintenance_pod(
    release: Release, values: dict[str, Any], claim_of_backups: dict[str, Any]
) -> None:
    cluster, namespace = release.cluster, release.namespace
    name = archived_with_a_photo(release)
    cluster.apply(persistent_claim("backups", namespace, claim_of_backups))
    release.upgrade(**values, backup={"existingClaim": "backups"}, maintenance={"enabled": True})
    cluster.kubectl("create", "job", "now", f"--from=cronjob/{NAME}-backup", "-n", namespace)

    def has_ended() -> bool:
        conditions = cluster.get("job", "now", "-n", namespace)["status"].get("conditions", [])
        assert not [each for each in conditions if each["type"] == "Failed"], conditions
        return any(each["type"] == "Complete" for each in conditions)

    cluster.wait_until(has_ended, "the backup is taken")

    def inside(*words: str) -> str:
        return run_inside(cluster, namespace, f"deploy/{NAME}-maintenance", "checklist-dispatch", *words)

    assert "0 damaged" in inside("backup", "--verify", "file:///var/lib/checklists/backups")
    report = python_inside(cluster, namespace, f"deploy/{NAME}-maintenance", DOCTOR)
    assert [each for each in report["findings"] if each["level"] != "ok"] == []
    told = inside("erase", "--organization", ORGANIZATION, "--run", name, "--yes")
    assert '"complete": true' in told
    cluster.wait_until(lambda: release.call("GET", f"/v1/runs/{name}")[0] == 404, "the run is nowhere")
    release.upgrade(**values)
    assert release.pods("maintenance") == set()


def archived_with_a_photo(release: Release) -> str:
    """A run that has left the cluster."""
    status, template = release.call("POST", "/v1/templates", WITH_A_PHOTO)
    assert status == 201, template
    status, run = release.call("POST", "/v1/runs", {"template_id": template["id"]})
    assert status == 201, run
    name, token = str(run["run_id"]), run["link"].partition("#")[2]
    url = f"{release.url}/v1/executor/runs/{name}/answers/s-door/photos"
    assert python_inside(release.cluster, release.namespace, "caller", UPLOAD, url, token) == 201
    assert release.call("POST", f"/v1/runs/{name}/cancel")[0] == 200
    retention = json.dumps({"spec": {"retention": {"finishedRunsDays": 1 / 86_400}}})
    release.cluster.kubectl("patch", f"organizations.{GROUP}", ORGANIZATION, "--type=merge", "-p", retention)

    def is_in_the_cluster() -> bool:
        found = release.cluster.get(f"runs.{GROUP}", "-n", release.namespace)["items"]
        return name in {each["metadata"]["name"] for each in found}

    release.cluster.wait_until(lambda: not is_in_the_cluster(), "the run has left the cluster")
    return name


def persistent_claim(name: str, namespace: str, values: dict[str, Any]) -> dict[str, Any]:
    of_class = {key: values[key] for key in ("storageClassName",) if key in values}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": values["size"]}}, **of_class}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
