"""What a repository declares stays as it was declared: the service writes next to it, and never into it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.operator_lab import Lab, Receiver, condition
from tests.gitops.judges import EXAMPLES, health
from tests.waiting import eventually, until_no_difference

from checklist_crds.resources.kinds import API_KEY, MEMBER, ORGANIZATION, RUN, TEMPLATE
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.kubectl import Kubectl

KINDS = {kind.kind: kind for kind in (ORGANIZATION, MEMBER, API_KEY, TEMPLATE)}


@pytest.fixture(params=[("staging", "acme-staging", "checklists-staging"), ("production", "acme", "checklists")])
def overlay(request: pytest.FixtureRequest, namespace: str, tmp_path: Path) -> Path:
    """An overlay of the examples, for the namespace of this test and an organization that is its own."""
    name, organization, home = request.param
    folder = tmp_path / "kustomize"
    shutil.copytree(EXAMPLES / "kustomize", folder)
    patch = folder / "overlays" / name / "kustomization.yaml"
    text = patch.read_text()
    text = text.replace(f"value: {home}}}", f"value: {namespace}}}")
    text = text.replace(f"value: {organization}}}", f"value: {organization}-{namespace}}}")
    if "allowNameChange" not in text:
        text = text.replace("kind: Organization}", "kind: Organization}\n    options: {allowNameChange: true}")
    patch.write_text(text)
    return patch.parent


def declared(kubectl: Kubectl, overlay: Path) -> list[JsonObject]:
    return [one for one in yaml.safe_load_all(kubectl("kustomize", str(overlay))) if one]


async def until_healthy(lab: Lab, objects: list[JsonObject]) -> list[JsonObject]:
    async def all_healthy() -> list[JsonObject] | None:
        found = [await live(lab, one) for one in objects]
        return found if all(health(one) == "Healthy" for one in found) else None

    now: list[JsonObject] = await eventually(all_healthy, every_s=0.5)
    return now


async def live(lab: Lab, one: JsonObject) -> JsonObject:
    return await lab.get(KINDS[one["kind"]], one["metadata"]["name"])


def owned(body: JsonObject, manager: str) -> list[Any]:
    """The fields that `manager` owns outside of the status."""
    entries = body["metadata"]["managedFields"]
    return [e["fieldsV1"] for e in entries if e["manager"].startswith(manager) and not e.get("subresource")]


@pytest.mark.usefixtures("operator")
async def test_applied_objects_do_not_drift(lab: Lab, receiver: Receiver, kubectl: Kubectl, overlay: Path) -> None:
    side = ("--server-side", "--field-manager=argocd-controller", "-k", str(overlay))
    kubectl("apply", *side)
    objects = declared(kubectl, overlay)
    before = await until_healthy(lab, objects)
    await until_no_difference(kubectl, *side)
    template = next(one for one in before if one["kind"] == "Template")
    lab.template, lab.organization = template, template["spec"]["organizationRef"]["name"]
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await lab.until_settled(run)
    made_with_kubectl = await lab.apply_run()
    await lab.until(RUN, made_with_kubectl, lambda body: condition(body, "Admitted"))
    await until_no_difference(kubectl, *side)
    kubectl("apply", *side)  # without --force-conflicts: it has no other owner
    for was, now in zip(before, [await live(lab, one) for one in objects], strict=True):
        assert now["metadata"]["generation"] == was["metadata"]["generation"] == 1
        for fields in owned(now, "checklist"):
            assert list(fields) == ["f:metadata"], fields
            labels = {name for part in fields["f:metadata"].values() for name in part if name != "."}
            assert labels <= {"f:checklists.dev/org", "f:checklists.dev/bytes"}, fields
