"""The custom resources on a real API server: what they show, what they refuse, what can be selected."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.operator_lab import resource

from checklist_crds.crd.resource_descriptions import RESOURCES
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeInvalid
from checklist_crds.resources.kinds import API_KEY, RUN
from checklist_crds.values.json_text import JsonObject
from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import ROOT

CRDS = ROOT / "crds"
STEP = {"id": "s-1", "type": "boolean", "label": "Fridge ok?"}


def template(object_name: str, **changes: Any) -> JsonObject:
    sections = [{"id": "g-1", "title": "Kitchen", "steps": [STEP]}]
    basis = {"organizationRef": {"name": "acme"}, "name": "Opening", "sections": sections}
    return resource("Template", object_name, {**basis, **changes})


async def make_run(client: KubeClient, namespace: str, name: str = "", **spec: Any) -> str:
    """A run of kubectl unless the spec says which template it has; its name."""
    name = name or f"r-{uuid.uuid4()}"
    spec = {"templateRef": {"name": "opening"}, **spec}
    await client.create(RUN, resource("Run", name, {k: v for k, v in spec.items() if v is not None}), namespace)
    return name


def test_every_kind_is_served_with_its_short_name_in_the_category(kubectl: Kubectl) -> None:
    served = kubectl("api-resources", "--api-group", "checklists.dev", "--no-headers", "-o", "wide")
    rows = {line.split()[0]: line.split() for line in served.splitlines()}
    for each in RESOURCES:
        row = rows[each.kind.plural]
        assert each.short_name in row[1].split(",")
        assert row[-1] == "checklists"


def words(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


@pytest.mark.parametrize("path", sorted(CRDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_field_is_described_by_a_sentence_and_bounded(path: Path) -> None:
    assert path.stat().st_size < 200_000
    crd = yaml.safe_load(path.read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    faults: list[str] = []

    def walk(place: str, field: dict[str, Any]) -> None:
        last = place.rsplit(".", 1)[-1]
        text = field.get("description", "")
        starts_well = text[:1].isupper() or text.startswith("metadata.")
        says_more = words(text).removeprefix("the") != words(last) and len(text.split()) > 1
        if not (text == "-" or (text.endswith(".") and starts_well and says_more)):
            faults.append(f"{place} is not described by a sentence: {text!r}")
        if field.get("type") == "string" and not (field.keys() & {"maxLength", "enum", "format"}):
            faults.append(f"{place} has no maximal length")
        if field.get("type") == "array" and "maxItems" not in field:
            faults.append(f"{place} has no maximal number of items")
        if field.get("x-kubernetes-preserve-unknown-fields") and last not in {"config", "expected", "photo", "value"}:
            faults.append(f"{place} lets anything through")
        for name, child in field.get("properties", {}).items():
            walk(f"{place}.{name}", child)
        if isinstance(field.get("additionalProperties"), dict):
            if "maxProperties" not in field:
                faults.append(f"{place} has no maximal number of entries")
            walk(f"{place}.*", {"description": "-"} | field["additionalProperties"])
        if "items" in field:
            walk(f"{place}[]", {"description": "-"} | field["items"])

    walk("", {"description": schema["description"]})
    for part in ("spec", "status"):
        walk(part, {"description": "-"} | schema["properties"][part])
    assert not faults


def test_kubectl_apply_sets_the_defaults_of_rest(kubectl: Kubectl, namespace: str) -> None:
    def apply(**changes: Any) -> JsonObject:
        body = json.dumps(template("opening", **changes))
        return json.loads(kubectl("apply", "-n", namespace, "-f", "-", "-o", "json", stdin=body))

    made = apply()
    assert made["spec"]["settings"] == {"allow_skip": False, "signature_on_complete": False}
    assert made["spec"]["execution"] == {"scope": "any", "identity_required": "none"}
    step = made["spec"]["sections"][0]["steps"][0]
    assert (step["required"], step["photo"], step["geo"], step["config"]) == (False, False, False, {})
    assert made["metadata"]["generation"] == apply()["metadata"]["generation"] == 1
    assert apply(name="Closing")["metadata"]["generation"] == 2
    with pytest.raises(Failure, match="organizationRef is immutable"):
        apply(organizationRef={"name": "other"})


def webhook(*events: str, **more: Any) -> JsonObject:
    return {"webhook": {"url": "https://example.com/", "events": list(events), **more}}


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"templateId": "opening"}, "either templateId or templateRef"),
        ({"expiresAt": "2030-01-01T00:00:00Z", "expiresInHours": 1}, "exclude each other"),
        ({"expiresInHours": 0}, "expiresInHours"),
        (webhook("*"), "needs a secretRef"),
        (webhook("*", "run.expired", secretRef={"name": "s"}), "exactly"),
        (webhook("run.started", secretRef={"name": "s"}), "run.completed"),
    ],
)
async def test_a_contradictory_run_is_refused(client: KubeClient, spec: dict[str, Any], rule: str) -> None:
    with pytest.raises(KubeInvalid, match=rule):
        await make_run(client, "default", **spec)


async def test_a_final_phase_is_final_in_the_cluster_too_and_settled_runs_leave_the_selection(
    client: KubeClient, namespace: str
) -> None:
    for phase in ("Completed", "Cancelled", "Expired"):
        name = await make_run(client, namespace)
        assert (await client.get(RUN, name, namespace))["status"] == {"phase": "Pending"}
        await client.patch_status(RUN, name, {"phase": phase, "settled": True}, namespace)
        with pytest.raises(KubeInvalid, match="never changes its phase"):
            await client.patch_status(RUN, name, {"phase": "InProgress"}, namespace)
    live = await make_run(client, namespace)
    found, _ = await client.list_all(RUN, namespace, field_selector="status.settled!=true")
    assert [body["metadata"]["name"] for body in found] == [live]


async def test_a_revoked_key_stays_revoked(client: KubeClient, namespace: str) -> None:
    spec = {"organizationRef": {"name": "acme"}, "name": "CI", "sha256": "a" * 64, "revoked": True}
    await client.create(API_KEY, resource("ApiKey", "key-1", spec), namespace)
    with pytest.raises(KubeInvalid, match="stays revoked"):
        await client.patch(API_KEY, "key-1", {"spec": {"revoked": False}}, namespace)
    found, _ = await client.list_all(API_KEY, namespace, field_selector=f"spec.sha256={'a' * 64}")
    assert [body["metadata"]["name"] for body in found] == ["key-1"]
