"""The examples for Argo CD and Flux are valid, and the chart does not drift."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.render.conftest import Object, rendered
from tests.gitops.judges import EXAMPLES

from checklist_crds.values.json_text import JsonObject
from checklist_dev.failures import Failure
from checklist_dev.generate.chart_files import CHART
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import ROOT

FOREIGN = Path(__file__).parent / "foreign_crds"
NAMESPACES = ("argocd", "flux-system", "checklists", "checklists-staging")
PATCH = "health-checks.yaml"  # of a ConfigMap that Argo CD made


def manifests() -> Iterator[tuple[Path, JsonObject]]:
    for file in sorted(EXAMPLES.rglob("*.yaml")):
        if file.name not in (PATCH, "kustomization.yaml"):
            for body in yaml.safe_load_all(file.read_text()):
                yield file, body


def of_kind(*kinds: str) -> list[JsonObject]:
    found = [body for _, body in manifests() if body["kind"] in kinds]
    assert found
    return found


@pytest.fixture(scope="module")
def cluster(kubectl: Kubectl) -> Kubectl:
    """One that knows Argo CD's and Flux's kinds."""
    for file in sorted(FOREIGN.glob("*.yaml")):
        kubectl("apply", "--server-side", "-f", str(file))
        kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(file))
    for name in NAMESPACES:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        kubectl("apply", "-f", "-", stdin=json.dumps(body))
    return kubectl


def test_the_api_server_takes_every_example(cluster: Kubectl) -> None:
    bodies = [body for _, body in manifests()]
    assert {body["apiVersion"].partition("/")[0] for body in bodies} == {
        "argoproj.io", "source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io",
        "checklists.dev", "v1",
    }  # fmt: skip
    options = ("--dry-run=server", "--validate=strict", "--warnings-as-errors", "--server-side")
    for body in bodies:
        cluster("apply", *options, "-f", "-", stdin=json.dumps(body))
    bodies[0]["spec"]["typo"] = True
    with pytest.raises(Failure, match="typo"):
        cluster("apply", *options, "-f", "-", stdin=json.dumps(bodies[0]))


def test_what_the_examples_refer_to_is_there() -> None:
    names = {(body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"]) for _, body in manifests()}
    for application in of_kind("Application"):
        assert (ROOT / application["spec"]["source"]["path"]).is_dir()
    for kustomization in of_kind("Kustomization"):
        home = kustomization["metadata"]["namespace"]
        source = kustomization["spec"]["sourceRef"]
        assert (source["kind"], source.get("namespace", home), source["name"]) in names
        assert (ROOT / kustomization["spec"]["path"] / "kustomization.yaml").is_file()
        for one in kustomization["spec"].get("dependsOn", ()):
            assert ("Kustomization", one.get("namespace", home), one["name"]) in names
    for release in of_kind("HelmRelease"):
        chart = release["spec"]["chart"]["spec"]
        assert (ROOT / chart["chart"]).resolve() == CHART
        source = chart["sourceRef"]
        assert (source["kind"], source["namespace"], source["name"]) in names


def test_both_give_the_chart_values_that_it_takes_and_keys_that_no_rendering_makes() -> None:
    charts = [one for one in of_kind("Application") if one["spec"]["source"]["path"].startswith("charts/")]
    given = [one["spec"]["source"]["helm"]["valuesObject"] for one in charts]
    given += [one["spec"]["values"] for one in of_kind("HelmRelease")]
    assert len(given) == 2
    for values in given:
        objects = rendered(values)
        assert [body for body in objects if body["kind"] == "Secret"] == []
        assert rendered(values) == objects


def test_waves_put_what_is_referred_to_first(cluster: Kubectl) -> None:
    waves = {}
    for body in yaml.safe_load_all(cluster("kustomize", str(EXAMPLES / "kustomize" / "overlays" / "production"))):
        waves.setdefault(body["kind"], set()).add(int(body["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]))
    assert max(waves["Organization"]) < min(waves["Member"] | waves["ApiKey"])
    assert max(waves["Member"] | waves["ApiKey"]) < min(waves["Template"])
    installation, content = of_kind("Application")
    order = [int(one["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]) for one in (installation, content)]
    assert order == sorted(set(order))


HOOK = "helm.sh/hook"
EVERYTHING: dict[str, Any] = {
    "host": "checklists.example.com",
    "ingress": {"enabled": True},
    "tls": {"existingSecret": "tls"},
    "secrets": {"existingSecret": "keys"},
    "redis": {"builtIn": {"enabled": True}, "password": {"existingSecret": "redis"}},
    "api": {"autoscaling": {"enabled": True}, "service": {"type": "NodePort"}},
    "operator": {"replicas": 2},
    "photos": {"persistentVolume": {"accessMode": "ReadWriteMany"}},
    "networkPolicy": {"enabled": True, "apiServer": ["10.96.0.1/32"]},
    "metrics": {"dashboards": {"enabled": True}},
    "bootstrap": {"organization": "Acme"},
}


def in_namespace(values: dict[str, Any], namespace: str) -> list[Object]:
    """Without hooks, which are no part of the state, and without definitions, which all tests share."""
    objects = rendered({**values, "fullnameOverride": namespace}, "--namespace", namespace)
    return [body for body in objects if HOOK not in body["metadata"].get("annotations", {})]


@pytest.mark.parametrize(
    ("manager", "values"),
    [
        ("helm-controller", {"secrets": {"existingSecret": "keys"}}),
        ("argocd-controller", EVERYTHING),
        ("kustomize-controller", EVERYTHING),
    ],
    ids=["defaults", "Argo CD", "Flux"],
)
def test_the_chart_does_not_drift(kubectl: Kubectl, namespace: str, values: dict[str, Any], manager: str) -> None:
    objects = in_namespace(values, namespace)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    side = ("--server-side", f"--field-manager={manager}", "-f", "-")
    kubectl("apply", *side, stdin=text)
    assert kubectl("diff", *side, stdin=text) == ""  # kubectl fails when there is a difference
    again = in_namespace(values, namespace)
    assert again == objects
    if "api" in values:
        scale = {"spec": {"replicas": 5}}
        deployment = ("deployment", f"{namespace}-api", "-n", namespace)
        kubectl("patch", *deployment, "--field-manager=autoscaler", "-p", json.dumps(scale))
        assert kubectl("diff", *side, stdin=text) == "", "the autoscaler's count is fought over"
        kubectl("apply", *side, stdin=text)
        found = json.loads(kubectl("get", *deployment, "-o", "json"))
        assert found["spec"]["replicas"] == 5
