"""The chart with a Redis, and photos and backups on claims, on a real node.

One release lives through all of it, in this order, so that what survives is what a user would have.
"""

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pypdfium2
import pytest
from tests.chart.node.cluster import Cluster, CommandFailed
from tests.chart.node.conftest import Image
from tests.chart.node.release import (
    GROUP,
    NAME,
    ORGANIZATION,
    Release,
    installed,
    phase,
    python_inside,
    run_inside,
    waiting_pod,
)

from checklist_dev.failures import say
from checklist_dev.release.image.engine import find_engine
from checklist_dev.release.image.local_base import debian_rootfs, image_of
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder

API_PORT, OPERATOR_PORT = 8080, 8081
SHARED = "checklists_rate_limits_shared"
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

RECEIVER = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        print("signed" if self.headers["Signature"] else "unsigned", body)
        self.send_response(204)
        self.end_headers()
HTTPServer(("", 8000), Receiver).serve_forever()
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
def claims(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    """Values of two claims, of photos and of backups: of the cluster's default class, or on folders where this machine
    is the node."""
    classes = cluster.get("storageclasses")["items"]
    default = "storageclass.kubernetes.io/is-default-class"
    if any(each["metadata"].get("annotations", {}).get(default) == "true" for each in classes):
        yield [{"size": "1Gi"}] * 2
        return
    if not cluster.prefix:
        pytest.skip("the cluster has no default StorageClass, and its nodes are not this machine")
    folders = [tmp_path_factory.mktemp(name) for name in ("photos", "backups")]
    made = [volume(cluster, folder) for folder in folders]
    yield [{"size": "1Gi", "storageClassName": name} for name in made]
    cluster.kubectl("delete", "persistentvolume", *made, "--wait=false")


def volume(cluster: Cluster, folder: Path) -> str:
    """The name of a volume on this folder, and of its class."""
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
    return name


@pytest.fixture(scope="module")
def values(redis: dict[str, Any], claims: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "photos": {"store": "persistentVolume", "persistentVolume": claims[0]},
        "redis": {"builtIn": redis},
        "settings": {"sweepSeconds": 0.5},
        "internalReceivers": ["*.svc.cluster.local"],
        "backup": {"existingClaim": "backups"},
    }


@pytest.fixture(scope="module")
def release(cluster: Cluster, loaded: Image, values: dict[str, Any], claims: list[dict[str, Any]]) -> Iterator[Release]:
    with installed(cluster, loaded, **values) as release:
        cluster.apply(claim_of_backups(release.namespace, claims[1]))
        yield release


def test_all_of_it_is_ready_on_one_node_and_the_operator_leads(release: Release) -> None:
    """A claim that is ReadWriteOnce keeps them together."""

    def leaders() -> list[float]:
        return [release.metric(pod, "checklists_leader", OPERATOR_PORT) for pod in release.pods("operator")]

    release.cluster.wait_until(lambda: leaders() == [1], "the operator leads")
    for component in ("api", "redis", "operator"):
        assert release.is_available(component)
    assert "Succeeded" in release.helm("test", NAME)
    chosen = release.cluster.get("pods", "-n", release.namespace, "-l", "checklists.dev/photos=shared")["items"]
    assert len(chosen) == 3
    assert len({each["spec"]["nodeName"] for each in chosen}) == 1


def test_a_run_is_put_on_paper_in_a_pod_with_the_fonts_of_the_image(release: Release) -> None:
    """Three scripts, of which one is in a font of its own."""
    words = ["Forklift", "Погрузчик", "შემოწმება"]
    run = release.dispatch_of({"id": "s-1", "type": "boolean", "label": " ".join(words)})["run_id"]
    document = pypdfium2.PdfDocument(release.fetch(f"/v1/runs/{run}/export?format=pdf"))
    text = "".join(page.get_textpage().get_text_range() for page in document)
    assert [word for word in words if word not in text] == []


def test_a_receiver_inside_the_cluster_gets_its_events_by_the_name_that_values_open(release: Release) -> None:
    cluster, namespace, labels = release.cluster, release.namespace, {"app": "receiver"}
    pod = waiting_pod("receiver", namespace, release.image.name)
    pod["metadata"]["labels"] = labels
    pod["spec"]["containers"][0]["command"] = ["python3", "-uc", RECEIVER]
    spec = {"selector": labels, "ports": [{"port": 80, "targetPort": 8000}]}
    metadata = {"name": "receiver", "namespace": namespace}
    cluster.apply(pod, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    cluster.wait_until(lambda: phase(cluster, namespace, "receiver") == "Running", "the receiver runs")
    webhook = {"secret": "sixteen or more characters", "events": ["*"]}
    host = f"receiver.{namespace}.svc"
    not_named = {"template_id": release.template, "webhook": {**webhook, "url": f"http://{host}/"}}
    assert release.call("POST", "/v1/runs", not_named)[0] == 422
    run = release.dispatch(webhook={**webhook, "url": f"http://{host}.cluster.local/hook"})
    assert release.call("POST", f"/v1/runs/{run}/cancel")[0] == 200

    def has_it() -> bool:
        lines = cluster.kubectl("logs", "receiver", "-n", namespace).splitlines()
        return any(run in line and "run.cancelled" in line and line.startswith("signed ") for line in lines)

    cluster.wait_until(has_it, "the event is at the receiver")


def test_no_request_is_lost_while_an_upgrade_replaces_both_pods(release: Release, values: dict[str, Any]) -> None:
    before = release.pods("api")
    waiting = release.dispatch()
    with release.load() as load:
        release.upgrade(**values, api={"podAnnotations": {"tests/upgrade": "1"}}, maintenance={"enabled": True})
        release.cluster.wait_until(lambda: len(release.pods("api")) == 2, "the old pods are going")
        release.cluster.kubectl("rollout", "status", f"deployment/{NAME}-api", "-n", release.namespace)
    assert not before & release.pods("api"), "no pod was replaced: nothing was tried"
    assert load.failures == []
    assert len(load.runs) > 50
    for run in (waiting, load.runs[0], load.runs[len(load.runs) // 2], load.runs[-1]):
        assert release.call("GET", f"/v1/runs/{run}")[0] == 200


def test_a_failing_upgrade_is_rolled_back_without_failed_requests(release: Release, values: dict[str, Any]) -> None:
    before = release.pods("api")
    too_little = {"resources": {"limits": {"memory": "24Mi"}, "requests": {"memory": "24Mi"}}}
    with release.load() as load, pytest.raises(CommandFailed):
        release.upgrade(
            "--rollback-on-failure", "--timeout=25s", **values, api=too_little, maintenance={"enabled": True}
        )
    assert load.failures == []
    assert release.pods("api") == before
    reasons = json.dumps(release.cluster.get("events", "-n", release.namespace)["items"])
    assert "OOMKilled" in reasons or "BackOff" in reasons, "the pods did not fail: nothing was tried"


def test_a_photo_and_its_archived_run_outlive_all_pods_are_backed_up_by_the_timer_and_erased(release: Release) -> None:
    """The API puts the photo on the claim, the operator the run, and others than they read both."""
    cluster, namespace = release.cluster, release.namespace
    name = archived_with_a_photo(release)
    before = release.pods("api") | release.pods("operator")
    release.kill(before, "api", "operator")
    assert not before & (release.pods("api") | release.pods("operator"))
    cluster.wait_until(lambda: release.call("GET", f"/v1/runs/{name}")[0] == 200, "the run, from the archive")
    _, found = release.call("GET", f"/v1/runs/{name}")
    assert found["status"] == "cancelled"
    (photo,) = found["answers"]["s-door"]["photos"]
    address = urlsplit(photo["url"])  # at the base URL, which is nowhere in the cluster
    assert release.fetch(f"{address.path}?{address.query}")[:2] == b"\xff\xd8"

    cluster.kubectl("create", "job", "now", f"--from=cronjob/{NAME}-backup", "-n", namespace)

    def has_ended() -> bool:
        conditions = cluster.get("job", "now", "-n", namespace)["status"].get("conditions", [])
        assert not [each for each in conditions if each["type"] == "Failed"], conditions
        return any(each["type"] == "Complete" for each in conditions)

    cluster.wait_until(has_ended, "the backup is taken")
    maintenance = f"deploy/{NAME}-maintenance"

    def inside(*words: str) -> str:
        return run_inside(cluster, namespace, maintenance, "checklist-dispatch", *words)

    assert "0 damaged" in inside("backup", "--verify", "file:///var/lib/checklists/backups")
    report = python_inside(cluster, namespace, maintenance, DOCTOR)
    assert [each for each in report["findings"] if each["level"] != "ok"] == []
    assert '"complete": true' in inside("erase", "--organization", ORGANIZATION, "--run", name, "--yes")
    cluster.wait_until(lambda: release.call("GET", f"/v1/runs/{name}")[0] == 404, "the run is nowhere")


def archived_with_a_photo(release: Release) -> str:
    """A run that has left the cluster."""
    run = release.dispatch_of({"id": "s-door", "type": "photo", "label": "The door"})
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


def claim_of_backups(namespace: str, values: dict[str, Any]) -> dict[str, Any]:
    of_class = {key: values[key] for key in ("storageClassName",) if key in values}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": values["size"]}}, **of_class}
    metadata = {"name": "backups", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
