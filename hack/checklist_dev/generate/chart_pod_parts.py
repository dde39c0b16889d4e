"""Strict JSON schemas of the parts of Pods, policies and rules that values.yaml passes on.

`python -m checklist_dev.generate.chart_pod_parts` reads them from a kube-apiserver and writes
hack/charttools/pod-parts.json, from which the chart's schema is made. A test compares the file with the current API
server.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from checklist_dev.failures import run_tool
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import ROOT

Schema = dict[str, Any]
_REFERENCE: Final = "#/components/schemas/"
_INT_OR_STRING: Final = {"type": ["integer", "string"]}
FILE: Final = ROOT / "hack" / "charttools" / "pod-parts.json"
_PARTS: Final = {
    "affinity": ("api/v1", "io.k8s.api.core.v1.Affinity"),
    "egressRule": ("apis/networking.k8s.io/v1", "io.k8s.api.networking.v1.NetworkPolicyEgressRule"),
    "environmentVariable": ("api/v1", "io.k8s.api.core.v1.EnvVar"),
    "hostAlias": ("api/v1", "io.k8s.api.core.v1.HostAlias"),
    "networkPeer": ("apis/networking.k8s.io/v1", "io.k8s.api.networking.v1.NetworkPolicyPeer"),
    "podSecurityContext": ("api/v1", "io.k8s.api.core.v1.PodSecurityContext"),
    "probe": ("api/v1", "io.k8s.api.core.v1.Probe"),
    "scalingBehavior": ("apis/autoscaling/v2", "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior"),
    "securityContext": ("api/v1", "io.k8s.api.core.v1.SecurityContext"),
    "toleration": ("api/v1", "io.k8s.api.core.v1.Toleration"),
    "topologySpread": ("api/v1", "io.k8s.api.core.v1.TopologySpreadConstraint"),
    "volume": ("api/v1", "io.k8s.api.core.v1.Volume"),
    "volumeMount": ("api/v1", "io.k8s.api.core.v1.VolumeMount"),
}
_RULES: Final = ROOT / "tests" / "chart" / "render" / "foreign_crds" / "prometheusrules.monitoring.coreos.com.yaml"


def pod_parts() -> dict[str, Schema]:
    """Schemas by their name in `#/$defs/`."""
    parts: dict[str, Schema] = json.loads(FILE.read_text())
    return parts


def asked(kubectl: Kubectl) -> dict[str, Schema]:
    """The same, read from an API server and the definition of a PrometheusRule."""
    found = {}
    for name, (path, called) in _PARTS.items():
        schemas = json.loads(kubectl("get", "--raw", f"/openapi/v3/{path}"))["components"]["schemas"]
        found[name] = resolved(schemas[called], schemas, ())
    rule = yaml.safe_load(_RULES.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    groups = rule["properties"]["spec"]["properties"]["groups"]["items"]
    found["ruleGroup"] = resolved(groups, {}, ())
    return dict(sorted(found.items()))


def text_of(parts: dict[str, Any]) -> str:
    """JSON with a line for each part, for readable diffs."""
    lines = [f"{json.dumps(name)}: {json.dumps(part, sort_keys=True)}" for name, part in parts.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def resolved(schema: Schema, schemas: dict[str, Schema], within: tuple[str, ...]) -> Schema:
    """A strict schema without references. A recursive reference is not followed."""
    if (reference := schema.get("$ref")) is not None:
        name = reference.removeprefix(_REFERENCE)
        return {} if name in within else resolved(schemas[name], schemas, (*within, name))
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return dict(_INT_OR_STRING)
    parts = schema.get("allOf", [])
    if len(parts) == 1 and "$ref" in parts[0]:
        return resolved(parts[0], schemas, within)
    result: Schema = {name: schema[name] for name in ("type", "enum", "required", "pattern", "oneOf") if name in schema}
    if "properties" in schema:
        result["properties"] = {
            name: _optional(resolved(part, schemas, within)) if name not in schema.get("required", ()) else
            resolved(part, schemas, within)
            for name, part in schema["properties"].items()
        }  # fmt: skip
        if "additionalProperties" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
            result["additionalProperties"] = False
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            result[name] = resolved(schema[name], schemas, within)
    return result


def _optional(schema: Schema) -> Schema:
    """The schema, also accepting null, as the API does for an optional field."""
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) and "enum" not in schema else schema


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder), ephemeral=True) as plane:
        FILE.write_text(text_of(asked(plane.run_kubectl)))
    print(f"wrote {FILE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    run_tool(main)
