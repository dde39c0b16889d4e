"""Templates in the dashboard: versions come back, no change is overwritten, GitOps is respected."""

from typing import Any

from tests.contract.conftest import Api, definition, shared_api, until
from tests.contract.dashboard_client import Desk, at_desk
from tests.contract.executor_client import error_of

from checklist_crds.resources.kinds import TEMPLATE, TEMPLATE_REVISION
from checklist_crds.resources.management import Manager, manager_of

api = shared_api


async def _made(desk: Desk, **changes: Any) -> dict[str, Any]:
    response = await desk.post("/templates", definition(**changes))
    assert response.status_code == 201, response.text
    return dict(response.json())


async def _actions(desk: Desk, target: str) -> list[tuple[str, dict[str, str]]]:
    entries = (await desk.read(f"/audit?target={target}"))["data"]
    return [(entry["action"], entry["details"]) for entry in entries]


async def test_an_earlier_version_becomes_the_current_one_as_a_new_version(api: Api) -> None:
    desk = await at_desk(api, name="Grace Hopper")
    template = await _made(desk, tags=["kitchen"])
    path = f"/templates/{template['id']}"
    await desk.patch(path, {"name": "Second", "tags": [], "settings": {"est_minutes": 3}, "sections": [], "noise": 1})
    answer = await desk.post(f"{path}/versions/1/restore", **{"If-Match": '"2"'})
    restored = answer.json()
    assert (answer.status_code, answer.headers["ETag"], restored["v"]) == (200, '"3"', 3)
    same = ("name", "description", "tags", "settings", "sections", "execution")
    assert {name: restored[name] for name in same} == {name: template[name] for name in same}
    versions = (await desk.read(f"{path}/versions"))["data"]
    assert [(version["v"], version["changed_by"]["name"]) for version in versions] == [
        (number, "Grace Hopper") for number in (3, 2, 1)
    ]
    assert await _actions(desk, template["id"]) == [
        ("template.restored", {"restored_version": "1", "version": "3"}),
        ("template.updated", {"fields": "name, sections, settings, tags", "version": "2"}),
        ("template.created", {}),
    ]
    assert (await desk.post(f"{path}/versions/3/restore")).json()["v"] == 4
    for unknown in ("7", "x", "0"):
        assert error_of(await desk.post(f"{path}/versions/{unknown}/restore")) == (404, "template_version_not_found")


async def test_a_late_save_is_shown_the_current_version(api: Api) -> None:
    first, second = await at_desk(api, "editor"), await at_desk(api, "editor")
    template = await _made(first)
    path, match = f"/templates/{template['id']}", {"If-Match": '"1"'}
    assert (await first.patch(path, {"name": "First was faster"}, **match)).status_code == 200
    late = await second.patch(path, {"name": "Too late"}, **match)
    assert error_of(late) == (412, "version_conflict")
    assert late.json()["details"]["current"] == await second.read(path)
    assert late.json()["details"]["current"]["name"] == "First was faster"
    restoring = await second.post(f"{path}/versions/1/restore", **match)
    assert error_of(restoring) == (412, "version_conflict")
    assert restoring.json()["details"]["current"]["v"] == 2
    # What another hand wrote a moment ago is in the refusal at once.
    await api.kube.patch(TEMPLATE, template["id"], {"spec": {"name": "By kubectl"}}, api.namespace)
    late = await first.patch(path, {"name": "Too late"}, **{"If-Match": '"2"'})
    current = late.json()["details"]["current"]
    assert (late.status_code, current["name"], current["v"]) == (412, "By kubectl", 3)


async def test_a_managed_template_says_so_and_members_cannot_change_it(api: Api) -> None:
    desk = await at_desk(api)
    template = await _made(desk)
    path = f"/templates/{template['id']}"
    await desk.patch(path, {"name": "Second"})
    labels = {"kustomize.toolkit.fluxcd.io/name": "checklists"}
    await api.kube.patch(TEMPLATE, template["id"], {"metadata": {"labels": labels}}, api.namespace)
    managed = {"manager": "Flux", "reason": "Flux applies it (Kustomization checklists)."}
    for method, address, body in (
        ("PATCH", path, {"name": "x"}),
        ("POST", f"{path}/versions/1/restore", None),
        ("DELETE", path, None),
    ):
        response = await desk.call(method, address, body)
        assert error_of(response) == (409, "template_managed")
        assert response.json()["details"] == {"managed_by": managed}
    await until(lambda: desk.read(path), lambda found: found["managed_by"] == managed)
    (listed,) = (await desk.read("/templates"))["data"]
    assert (listed["managed_by"], listed["step_count"]) == (managed, 2)
    assert (await desk.read(f"{path}/deletion"))["managed_by"] == managed
    # A program that has a key may be that GitOps.
    assert (await api.http.patch(f"/v1{path}", json={"name": "By a program"})).status_code == 200
    assert "managed_by" not in (await api.http.get(f"/v1{path}")).json()


SPEC = {"f:spec": {}}


def test_who_manages_an_object_is_read_from_its_metadata() -> None:
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({}, None),
        ({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}, None),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "shop:checklists.dev/Template:a/b"}}, "Argo CD"),
        ({"labels": {"helm.toolkit.fluxcd.io/name": "shop"}}, "Flux"),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "Helm"),
        ({"annotations": {"checklists.dev/managed-by": "the ward's own repository"}}, "the ward's own repository"),
        ({"managedFields": [{"manager": "infra-pipeline", "operation": "Apply", "fieldsV1": SPEC}]}, "infra-pipeline"),
        ({"managedFields": [{"manager": "kubectl-edit", "operation": "Update", "fieldsV1": SPEC}]}, None),
        ({"managedFields": [{"manager": "x", "operation": "Apply", "subresource": "status", "fieldsV1": SPEC}]}, None),
    ]
    for metadata, manager in cases:
        found = manager_of(metadata)
        assert (found.name if isinstance(found, Manager) else None) == manager, metadata


async def test_a_repeated_request_makes_one_template_and_its_deletion_says_what_it_leaves(api: Api) -> None:
    desk = await at_desk(api)
    made = [await desk.post("/templates", definition(), **{"Idempotency-Key": "once"}) for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    template = made[1].json()
    path = f"/templates/{template['id']}"
    nothing = {"runs": 0, "open_runs": 0, "kept_versions": 0, "managed_by": None}
    assert await desk.read(f"{path}/deletion") == nothing
    runs = [await api.account.dispatch(template["id"]) for _ in range(2)]
    await desk.patch(path, {"name": "Second"})
    runs.append(await api.account.dispatch(template["id"]))
    await desk.post(f"/runs/{runs[0]['run_id']}/cancel")
    assert await desk.read(f"{path}/deletion") == {**nothing, "runs": 3, "open_runs": 2, "kept_versions": 2}
    assert (await desk.delete(path)).status_code == 204
    assert error_of(await desk.get(f"{path}/deletion")) == (404, "template_not_found")
    assert await _actions(desk, template["id"]) == [
        ("template.deleted", {"version": "2"}),
        ("template.updated", {"fields": "name", "version": "2"}),
        ("template.created", {}),
    ]
    revisions, _ = await api.kube.list_all(
        TEMPLATE_REVISION, api.namespace, field_selector=f"spec.templateId={template['id']}"
    )
    assert {revision["spec"]["version"] for revision in revisions} == {1, 2}


async def test_what_a_key_does_is_in_the_trail_under_its_purpose(api: Api) -> None:
    desk = await at_desk(api)
    template = await api.account.create_template()
    run = (await api.account.dispatch(template["id"]))["run_id"]
    await api.http.post(f"/v1/runs/{run}/cancel")
    assert (await api.http.post(f"/v1/runs/{run}/cancel")).status_code == 409
    await api.http.delete(f"/v1/templates/{template['id']}")
    entries = (await desk.read("/audit"))["data"]
    assert [entry["action"] for entry in entries] == ["template.deleted", "run.cancelled", "template.created"]
    assert {(entry["actor"]["kind"], entry["actor"]["name"]) for entry in entries} == {("api_key", "test")}
    assert entries[1]["target"] == {"kind": "run", "id": run, "name": "Opening check"}
