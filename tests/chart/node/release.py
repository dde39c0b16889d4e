"""Pods and a release of the chart on a real cluster, and callers within that cluster."""

import base64
import json
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.chart.node import load_in_a_pod
from tests.chart.node.cluster import Cluster
from tests.chart.node.conftest import Image

from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_dev.repository import ROOT


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


CHART = "charts/checklist-dispatch"
NAME = "checklist-dispatch"
ORGANIZATION = "chart-tests"
GROUP = "checklists.dev"
CALL = """
import base64, json, sys, urllib.request
method, url, key, body = sys.argv[1:]
request = urllib.request.Request(url, body.encode() or None, {"Authorization": "Bearer " + key}, method=method)
request.add_header("Content-Type", "application/json")
try:
    with urllib.request.urlopen(request, timeout=60) as answer:
        content = answer.read()
        is_json = answer.headers.get_content_type() == "application/json"
        value = json.loads(content or "null") if is_json or not content else base64.b64encode(content).decode()
        print(json.dumps([answer.status, value]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, json.loads(error.read())]))
"""


@dataclass(slots=True)
class Load:
    """What the callers of `load_in_a_pod` saw, when they have ended."""

    runs: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Release:
    """A release in a namespace, a key that its API admits, and the pod from which it is called."""

    cluster: Cluster
    namespace: str
    image: Image
    key: str = field(default_factory=api_keys.new_key, repr=False)
    template: str = ""

    @property
    def url(self) -> str:
        return f"http://{NAME}-api.{self.namespace}.svc"

    def values(self, **more: Any) -> list[str]:
        """As `--set-json`, which takes any value."""
        values: dict[str, Any] = {
            "image": {"repository": self.image.repository, "tag": self.image.tag},
            # Photos stay in their pod: nothing here looks at one from another. (Where some does, they are on a claim.)
            "photos": {"store": "url", "url": {"address": "file:///tmp"}},
            "api": {"replicas": 2},
            "bootstrap": {"organization": ORGANIZATION, "admin": "ada@example.com"},
        }
        for name, value in more.items():
            values[name] = {**values.get(name, {}), **value} if isinstance(value, Mapping) else value
        return [word for name, value in values.items() for word in ("--set-json", f"{name}={json.dumps(value)}")]

    def helm(self, verb: str, *words: str) -> str:
        return self.cluster.helm(verb, "-n", self.namespace, *words)

    def install(self, **more: Any) -> str:
        return self.helm("install", NAME, CHART, *self.values(**more), "--wait", "--timeout=120s")

    def upgrade(self, *words: str, **more: Any) -> str:
        return self.helm("upgrade", NAME, CHART, *self.values(**more), "--wait", "--timeout=180s", *words)

    def pods(self, component: str) -> set[str]:
        """Names of the pods that are not on their way out."""
        chosen = f"app.kubernetes.io/component={component},app.kubernetes.io/instance={NAME}"
        items = self.cluster.get("pods", "-n", self.namespace, "-l", chosen)["items"]
        return {each["metadata"]["name"] for each in items if "deletionTimestamp" not in each["metadata"]}

    def is_available(self, component: str) -> bool:
        status = self.cluster.get("deployment", f"{NAME}-{component}", "-n", self.namespace)["status"]
        return status.get("availableReplicas", 0) == status.get("replicas", 0) > 0

    def admit(self) -> None:
        """An API key of the first organization, and the pod that calls with it."""
        member = self.cluster.get(f"members.{GROUP}", "-n", self.namespace)["items"][0]["metadata"]["name"]
        sha256 = digest(self.key)
        metadata = {"namespace": self.namespace}
        spec = {
            **{"organizationRef": {"name": ORGANIZATION}, "name": "tests", "createdBy": member},
            **{"sha256": sha256, "prefix": api_keys.PREFIX, "lastFour": self.key[-4:]},
        }
        key = {"name": api_keys.object_name(sha256), "labels": {f"{GROUP}/org": ORGANIZATION}, **metadata}
        scripts = {"load.py": Path(load_in_a_pod.__file__).read_text(), "call.py": CALL}
        pod = waiting_pod("caller", self.namespace, self.image.name)
        pod["spec"]["volumes"].append({"name": "scripts", "configMap": {"name": "scripts"}})
        pod["spec"]["containers"][0]["volumeMounts"].append({"name": "scripts", "mountPath": "/scripts"})
        self.cluster.apply(
            {"apiVersion": f"{GROUP}/v1", "kind": "ApiKey", "metadata": key, "spec": spec},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts", **metadata}, "data": scripts},
            pod,
        )
        self.cluster.wait_until(lambda: phase(self.cluster, self.namespace, "caller") == "Running", "the caller runs")
        self.cluster.wait_until(lambda: self.call("GET", "/v1/templates")[0] == 200, "the key is admitted")
        tdl = json.loads((ROOT / "examples" / "templates" / "forklift-pre-use.json").read_text())
        self.template = self.post("/v1/templates", tdl)["id"]

    def kill(self, pods: set[str], *components: str) -> None:
        """At once. Returns when others are in their place."""
        self.cluster.kubectl("delete", "pod", *pods, "-n", self.namespace, "--grace-period=0", "--force")

        def are_replaced() -> bool:
            found = self.cluster.get("pods", "-n", self.namespace)["items"]
            names = {each["metadata"]["name"] for each in found}
            return not pods & names and all(self.is_available(component) for component in components)

        self.cluster.wait_until(are_replaced, f"pods in place of {sorted(pods)}")

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request to the Service: its status, and the JSON of its answer; what is no JSON, in base64."""
        return self.call_at(self.url, method, path, body)

    def call_at(self, url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The same to another address in the cluster."""
        text = "" if body is None else json.dumps(body)
        words = ("python3", "/scripts/call.py", method, url + path, self.key, text)
        status, answer = json.loads(run_inside(self.cluster, self.namespace, "caller", *words))
        return int(status), answer

    def fetch(self, path: str) -> bytes:
        """What is no JSON."""
        status, text = self.call("GET", path)
        assert status == 200, text
        return base64.b64decode(text)

    def metric(self, pod: str, name: str, port: int) -> float:
        """A metric without labels, as that pod tells it."""
        address = self.cluster.get("pod", pod, "-n", self.namespace)["status"]["podIP"]
        status, text = self.call_at(f"http://{address}:{port}", "GET", "/metrics")
        assert status == 200, text
        (value,) = re.findall(rf"^{name} (\S+)$", base64.b64decode(text).decode(), re.MULTILINE)
        return float(value)

    def post(self, path: str, body: Any) -> dict[str, Any]:
        status, made = self.call("POST", path, body)
        assert status == 201, made
        return dict(made)

    def dispatch(self, **more: Any) -> str:
        return str(self.post("/v1/runs", {"template_id": self.template, **more})["run_id"])

    def dispatch_of(self, step: dict[str, Any]) -> dict[str, Any]:
        """A run of a new template that has this step."""
        definition = {"name": "One", "sections": [{"id": "g-1", "title": "One", "steps": [step]}]}
        return self.post("/v1/runs", {"template_id": self.post("/v1/templates", definition)["id"]})

    @contextmanager
    def load(self) -> Iterator[Load]:
        """Callers that go on while the block does. What they tell is there when it has ended."""
        load, output = Load(), []
        words = ("python3", "/scripts/load.py", self.url, self.key, self.template)
        caller = threading.Thread(
            target=lambda: output.append(run_inside(self.cluster, self.namespace, "caller", *words)), daemon=True
        )
        caller.start()
        try:
            yield load
        finally:
            run_inside(self.cluster, self.namespace, "caller", "python3", "-c", "open('/tmp/stop', 'w').close()")
            caller.join(60)
        found = json.loads(output[0])
        load.runs, load.failures = found["runs"], found["failures"]


@contextmanager
def installed(cluster: Cluster, image: Image, **values: Any) -> Iterator[Release]:
    """A release in a namespace of its own, with an admitted caller. The definitions stay at uninstall, as they must:
    here they are taken away again."""
    if definitions(cluster):
        pytest.skip("the cluster has definitions of checklists.dev: an installation, which tests leave alone")
    try:
        with cluster.namespace(f"test-{uuid.uuid4().hex[:10]}") as namespace:
            release = Release(cluster, namespace, image)
            release.install(**values)
            release.admit()
            yield release
            cluster.helm("uninstall", NAME, "-n", namespace, "--ignore-not-found", "--wait")
    finally:
        if names := definitions(cluster):
            cluster.kubectl("delete", "--timeout=120s", *names)


def definitions(cluster: Cluster) -> list[str]:
    names = cluster.kubectl("get", "crds", "-o", "name").split()
    return [name for name in names if name.endswith(f".{GROUP}")]
