"""The chart's life on a real cluster, in this order: install, upgrade, a pod killed, no memory.

One release lives through all of it, so that what survives is what a user would have.
"""

import json
from collections.abc import Iterator
from datetime import timedelta

import pypdfium2
import pytest
from tests.chart.cluster import Cluster, CommandFailed
from tests.chart.conftest import Image
from tests.chart.pods import manifest, phase
from tests.chart.release import GROUP, NAME, Release, installed

from checklist_crds.times import utc_now

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


@pytest.fixture(scope="module")
def release(cluster: Cluster, loaded: Image) -> Iterator[Release]:
    """Installed with two API pods."""
    with installed(cluster, loaded, internalReceivers=["*.svc.cluster.local"]) as release:
        yield release


def test_after_the_install_every_pod_is_ready_and_helm_test_says_so(release: Release) -> None:
    assert release.is_available("api")
    assert len(release.pods("api")) == 2
    assert release.is_available("operator")
    assert "Succeeded" in release.helm("test", NAME)


def test_a_run_is_put_on_paper_in_a_pod_with_the_fonts_of_the_image(release: Release) -> None:
    """Three scripts, of which one is in a font of its own."""
    words = ["Forklift", "Погрузчик", "შემოწმება"]
    step = {"id": "s-1", "type": "boolean", "label": " ".join(words)}
    definition = {"name": "Paper", "sections": [{"id": "g-1", "title": "Paper", "steps": [step]}]}
    status, template = release.call("POST", "/v1/templates", definition)
    assert status == 201, template
    status, run = release.call("POST", "/v1/runs", {"template_id": template["id"]})
    assert status == 201, run
    document = pypdfium2.PdfDocument(release.fetch(f"/v1/runs/{run['run_id']}/export?format=pdf"))
    text = "".join(page.get_textpage().get_text_range() for page in document)
    assert [word for word in words if word not in text] == []


def test_a_receiver_inside_the_cluster_gets_its_events_by_the_name_that_values_open(release: Release) -> None:
    cluster, namespace, labels = release.cluster, release.namespace, {"app": "receiver"}
    pod = manifest("receiver", namespace, release.image.name, ("python3", "-uc", RECEIVER))
    pod["metadata"]["labels"] = labels
    spec = {"selector": labels, "ports": [{"port": 80, "targetPort": 8000}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {**pod["metadata"]}, "spec": spec}
    cluster.apply(pod, service)
    cluster.wait_until(lambda: phase(cluster, namespace, "receiver") == "Running", "the receiver runs")
    webhook = {"secret": "sixteen or more characters", "events": ["*"]}
    host = f"receiver.{namespace}.svc"
    not_named = {"template_id": release.template, "webhook": {**webhook, "url": f"http://{host}/"}}
    assert release.call("POST", "/v1/runs", not_named)[0] == 422
    run = release.dispatch(webhook={**webhook, "url": f"http://{host}.cluster.local/hook"})
    assert release.call("POST", f"/v1/runs/{run}/cancel")[0] == 200

    def told() -> bool:
        lines = cluster.kubectl("logs", "receiver", "-n", namespace).splitlines()
        return any(run in line and "run.cancelled" in line and line.startswith("signed ") for line in lines)

    cluster.wait_until(told, "the event is at the receiver")


def test_no_request_is_lost_while_an_upgrade_replaces_both_pods(release: Release) -> None:
    before = release.pods("api")
    waiting = release.dispatch()
    with release.load() as told:
        release.upgrade(api={"replicas": 2, "podAnnotations": {"tests/upgrade": "1"}})
        release.cluster.wait_until(lambda: len(release.pods("api")) == 2, "the old pods are going")
        release.cluster.kubectl("rollout", "status", f"deployment/{NAME}-api", "-n", release.namespace)
    assert not before & release.pods("api"), "no pod was replaced: nothing was tried"
    assert told.failures == []
    assert len(told.runs) > 50
    assert release.call("GET", f"/v1/runs/{waiting}")[0] == 200
    for run in (told.runs[0], told.runs[len(told.runs) // 2], told.runs[-1]):
        assert release.call("GET", f"/v1/runs/{run}")[0] == 200


def test_when_an_api_pod_is_killed_the_other_serves_and_nothing_that_was_acknowledged_is_gone(release: Release) -> None:
    victim = min(release.pods("api"))
    with release.load() as told:
        release.cluster.kubectl("delete", "pod", victim, "-n", release.namespace, "--grace-period=0", "--force")
        release.cluster.wait_until(
            lambda: release.is_available("api") and victim not in release.pods("api"), "two pods serve again"
        )
    # Each of the four callers may have had one request in the pod that died.
    assert len(told.failures) <= 4, told.failures
    found = release.cluster.get(f"runs.{GROUP}", "-n", release.namespace)["items"]
    assert set(told.runs) <= {each["metadata"]["name"] for each in found}


def test_when_the_operator_is_killed_its_successor_ends_what_was_due(release: Release) -> None:
    due = timedelta(seconds=8)
    run = release.dispatch(expires_in_hours=due.total_seconds() / 3600)
    started = utc_now()
    for pod in release.pods("operator"):
        release.cluster.kubectl("delete", "pod", pod, "-n", release.namespace, "--grace-period=0", "--force")

    def is_expired() -> bool:
        found = release.cluster.get(f"runs.{GROUP}", run, "-n", release.namespace)
        return bool(found.get("status", {}).get("phase") == "Expired")

    release.cluster.wait_until(is_expired, "the run is expired by the operator's successor")
    assert utc_now() >= started + due - timedelta(seconds=1)


def test_an_upgrade_whose_pods_get_too_little_memory_is_rolled_back_and_nobody_notices(release: Release) -> None:
    before = release.pods("api")
    with release.load() as told, pytest.raises(CommandFailed):
        release.upgrade(
            "--rollback-on-failure",
            "--timeout=25s",
            api={"replicas": 2, "resources": {"limits": {"memory": "24Mi"}, "requests": {"memory": "24Mi"}}},
        )
    assert told.failures == []
    assert release.pods("api") == before
    reasons = json.dumps(release.cluster.get("events", "-n", release.namespace)["items"])
    assert "OOMKilled" in reasons or "BackOff" in reasons, "the pods did not fail: nothing was tried"
