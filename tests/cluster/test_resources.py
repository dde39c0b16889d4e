"""The custom resources on a real API server: what they show, what they refuse, what can be selected."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml

from checklist_crds.crd_kinds import RESOURCES
from checklist_dev.failures import Failure
from checklist_dev.kubectl import Kubectl

CRDS = Path(__file__).resolve().parents[2] / "crds"
STEP = {"id": "s-1", "type": "boolean", "label": "Fridge ok?"}


def template(object_name: str, namespace: str, **changes: Any) -> dict[str, Any]:
    spec = {
        "organizationRef": {"name": "acme"},
        "name": "Opening",
        "sections": [{"id": "g-1", "title": "Kitchen", "steps": [STEP]}],
    }
    return {
        "apiVersion": "checklists.dev/v1",
        "kind": "Template",
        "metadata": {"name": object_name, "namespace": namespace},
        "spec": spec | changes,
    }


def run(namespace: str, **changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "checklists.dev/v1",
        "kind": "Run",
        "metadata": {"name": f"r-{uuid.uuid4()}", "namespace": namespace},
        "spec": {"templateRef": {"name": "opening"}} | changes,
    }


def apply(kubectl: Kubectl, body: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(kubectl("apply", "-f", "-", "-o", "json", stdin=json.dumps(body)))
    return made


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind.kind)
def test_every_kind_is_served_with_its_short_name_in_the_category(kubectl: Kubectl, resource: Any) -> None:
    served = kubectl("api-resources", "--api-group", "checklists.dev", "--no-headers", "-o", "wide")
    row = next(line for line in served.splitlines() if line.split()[0] == resource.kind.plural)
    assert resource.short_name in row.split()[1].split(",")
    assert row.split()[-1] == "checklists"


@pytest.mark.parametrize("path", sorted(CRDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_field_is_described_and_bounded(path: Path) -> None:
    assert path.stat().st_size < 200_000
    crd = yaml.safe_load(path.read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    faults: list[str] = []

    def walk(place: str, field: dict[str, Any]) -> None:
        if not field.get("description") and place.rsplit(".", 1)[-1] not in {"apiVersion", "kind", "metadata"}:
            faults.append(f"{place} has no description")
        if field.get("type") == "string" and not (field.keys() & {"maxLength", "enum", "format"}):
            faults.append(f"{place} has no maximal length")
        if field.get("type") == "array" and "maxItems" not in field:
            faults.append(f"{place} has no maximal number of items")
        if field.get("x-kubernetes-preserve-unknown-fields") and place.rsplit(".", 1)[-1] not in {
            "config",
            "photo",
            "value",
        }:
            faults.append(f"{place} lets anything through")
        for name, child in field.get("properties", {}).items():
            walk(f"{place}.{name}", child)
        if isinstance(field.get("additionalProperties"), dict):
            if "maxProperties" not in field:
                faults.append(f"{place} has no maximal number of entries")
            walk(f"{place}.*", {"description": "-"} | field["additionalProperties"])
        if "items" in field:
            walk(f"{place}[]", {"description": "-"} | field["items"])

    for part in ("spec", "status"):
        walk(part, {"description": "-"} | schema["properties"][part])
    for name in ("apiVersion", "kind"):
        schema["properties"].pop(name)
    assert not faults


def test_a_template_applied_with_kubectl_gets_the_defaults_of_rest(kubectl: Kubectl, namespace: str) -> None:
    made = apply(kubectl, template("opening", namespace))
    assert made["spec"]["settings"] == {"allow_skip": False, "signature_on_complete": False}
    assert made["spec"]["execution"] == {"scope": "any", "identity_required": "none"}
    step = made["spec"]["sections"][0]["steps"][0]
    assert (step["required"], step["photo"], step["geo"], step["config"]) == (False, False, False, {})


def test_every_change_of_a_template_raises_its_generation(kubectl: Kubectl, namespace: str) -> None:
    assert apply(kubectl, template("opening", namespace))["metadata"]["generation"] == 1
    assert apply(kubectl, template("opening", namespace))["metadata"]["generation"] == 1
    assert apply(kubectl, template("opening", namespace, name="Closing"))["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("changes", "field", "rule"),
    [
        ({"name": ""}, "spec.name", "at least 1"),
        ({"sections": [{"id": "x", "title": "T", "steps": []}]}, "spec.sections[0].id", "^g-"),
        ({"sections": [{"id": "g-1", "title": "T"}]}, "spec.sections[0].steps", "Required"),
        (
            {"sections": [{"id": "g-1", "title": "T", "steps": [STEP, STEP]}]},
            "spec.sections[0].steps[1]",
            "Duplicate",
        ),
        (
            {"sections": [{"id": "g-1", "title": "T", "steps": [STEP | {"type": "poem"}]}]},
            "spec.sections[0].steps[0].type",
            "supported values",
        ),
        (
            {"sections": [{"id": "g-1", "title": "T", "steps": [STEP | {"type": "choice"}]}]},
            "spec.sections[0].steps[0]",
            "needs config.options",
        ),
        ({"execution": {"scope": "member"}}, "spec.execution", "identity_required member"),
        ({"tags": ["t"] * 51}, "spec.tags", "at most 50"),
    ],
)
def test_a_bad_template_is_refused_with_the_field_and_the_rule(
    kubectl: Kubectl, namespace: str, changes: dict[str, Any], field: str, rule: str
) -> None:
    with pytest.raises(Failure) as refusal:
        apply(kubectl, template("opening", namespace, **changes))
    assert field in str(refusal.value)
    assert rule in str(refusal.value)


def test_a_template_cannot_move_to_another_organization(kubectl: Kubectl, namespace: str) -> None:
    apply(kubectl, template("opening", namespace))
    with pytest.raises(Failure, match="organizationRef is immutable"):
        apply(kubectl, template("opening", namespace, organizationRef={"name": "other"}))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"templateId": "opening"}, "either templateId or templateRef"),
        ({"expiresAt": "2030-01-01T00:00:00Z", "expiresInHours": 1}, "exclude each other"),
        ({"expiresInHours": 0}, "expiresInHours"),
        ({"webhook": {"url": "https://example.com/", "events": ["*"]}}, "needs a secretRef"),
        (
            {"webhook": {"url": "https://example.com/", "events": ["*", "run.expired"], "secretRef": {"name": "s"}}},
            "exactly",
        ),
        (
            {"webhook": {"url": "https://example.com/", "events": ["run.started"], "secretRef": {"name": "s"}}},
            "run.completed",
        ),
    ],
)
def test_a_contradictory_run_is_refused(kubectl: Kubectl, namespace: str, changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(Failure, match=rule):
        apply(kubectl, run(namespace, **changes))


def test_a_run_needs_an_id_as_its_name(kubectl: Kubectl, namespace: str) -> None:
    body = run(namespace)
    body["metadata"]["name"] = "my-run"
    with pytest.raises(Failure, match="the name of a run is its id"):
        apply(kubectl, body)


def test_the_spec_of_a_run_never_changes(kubectl: Kubectl, namespace: str) -> None:
    body = run(namespace)
    apply(kubectl, body)
    body["spec"]["executorRef"] = "changed"
    with pytest.raises(Failure, match="the spec of a run is immutable"):
        apply(kubectl, body)


def _patch_status(kubectl: Kubectl, body: dict[str, Any], status: dict[str, Any]) -> str:
    name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
    return kubectl(
        "patch", "run", name, "-n", namespace, "--subresource", "status", "--type", "merge",
        "-p", json.dumps({"status": status}),
    )  # fmt: skip


@pytest.mark.parametrize("phase", ["Completed", "Cancelled", "Expired"])
def test_a_final_phase_is_final_in_the_cluster_too(kubectl: Kubectl, namespace: str, phase: str) -> None:
    body = run(namespace)
    assert apply(kubectl, body)["status"] == {"phase": "Pending"}
    _patch_status(kubectl, body, {"phase": phase})
    with pytest.raises(Failure, match="never changes its phase"):
        _patch_status(kubectl, body, {"phase": "InProgress"})


def test_settled_runs_leave_the_selection(kubectl: Kubectl, namespace: str) -> None:
    live, done = run(namespace), run(namespace)
    apply(kubectl, live)
    apply(kubectl, done)
    _patch_status(kubectl, done, {"phase": "Expired", "settled": True})
    selected = kubectl("get", "runs", "-n", namespace, "--field-selector", "status.settled!=true", "-o", "name")
    assert selected.split() == [f"run.checklists.dev/{live['metadata']['name']}"]


def test_a_revoked_key_stays_revoked(kubectl: Kubectl, namespace: str) -> None:
    body = {
        "apiVersion": "checklists.dev/v1",
        "kind": "ApiKey",
        "metadata": {"name": "key-1", "namespace": namespace},
        "spec": {"organizationRef": {"name": "acme"}, "name": "CI", "sha256": "a" * 64, "revoked": True},
    }
    apply(kubectl, body)
    with pytest.raises(Failure, match="stays revoked"):
        apply(kubectl, body | {"spec": body["spec"] | {"revoked": False}})  # type: ignore[operator]
    found = kubectl("get", "apikeys", "-n", namespace, "--field-selector", f"spec.sha256={'a' * 64}", "-o", "name")
    assert found.strip() == "apikey.checklists.dev/key-1"
