"""/v1/templates (specification, "Templates"; contract section 2)."""

import asyncio
from typing import Any

from tests.contract.conftest import Api, StartApi, http_client, owned, shared_api, until
from tests.contract.executor_client import error_of, paths, without_request_id
from tests.waiting import eventually

from checklist_crds.ids import derived_id, new_id
from checklist_crds.resources.kinds import AUDIT_ENTRY, TEMPLATE, Kind
from checklist_crds.times import parse_timestamp

api = shared_api

STEP = {"id": "s-a", "type": "boolean", "label": "?"}
MINIMAL: dict[str, Any] = {"name": "Minimal", "sections": [{"id": "g-a", "title": "A", "steps": [STEP]}]}
STEP_DEFAULTS = {"hint": None, "required": False, "photo": False, "geo": False, "geo_required": False, "config": {}}


async def test_a_created_template_is_complete_with_the_defaults_filled_in_and_reads_back(api: Api) -> None:
    response = await api.http.post("/v1/templates", json=MINIMAL)
    assert response.status_code == 201
    template = response.json()
    path = f"/v1/templates/{template['id']}"
    assert (response.headers["ETag"], response.headers["Location"]) == ('"1"', path)
    read = await api.http.get(path)
    assert (read.status_code, read.headers["ETag"], read.json()) == (200, '"1"', template)
    assert parse_timestamp(template.pop("created_at")) == parse_timestamp(template.pop("updated_at"))
    assert template == {
        "id": template["id"],
        "v": 1,
        "org_id": api.organization,
        "name": "Minimal",
        "description": "",
        "tags": [],
        "settings": {"allow_skip": False, "signature_on_complete": False, "est_minutes": None},
        "sections": [{"id": "g-a", "title": "A", "steps": [STEP | STEP_DEFAULTS]}],
        "execution": {"scope": "any", "identity_required": "none"},
    }


async def test_missing_fields_are_400_and_wrong_ones_422_and_all_are_reported_at_once(api: Api) -> None:
    for body, missing in (
        ({}, ["name", "sections"]),
        ({"sections": "nonsense", "id": "t-1"}, ["name", "id", "sections"]),
    ):
        response = await api.http.post("/v1/templates", json=body)
        assert (error_of(response), paths(response)) == ((400, "missing_field"), missing)
    steps = [{"id": "bad", "type": "boolean", "label": "?"}, {"type": "odd"}]
    body = {"id": new_id("t"), "v": 4, "org_id": None, "name": "x" * 201, "sections": [{"id": "g-a", "steps": steps}]}
    response = await api.http.post("/v1/templates", json=body)
    assert error_of(response) == (422, "validation_failed")
    first, second = "sections[0].steps[0]", "sections[0].steps[1]"
    inside = {"sections[0].title", f"{first}.id", f"{second}.id", f"{second}.type", f"{second}.label"}
    assert {"id", "v", "org_id", "name"} | inside <= set(paths(response))
    template = await api.account.create_template()
    for assigned in ("id", "v", "org_id", "created_at", "updated_at"):
        patch = {assigned: template[assigned], "name": ""}
        response = await api.http.patch(f"/v1/templates/{template['id']}", json=patch)
        assert (error_of(response), set(paths(response))) == ((422, "validation_failed"), {assigned, "name"})
    response = await api.http.patch(f"/v1/templates/{template['id']}", json={"name": None})
    assert error_of(response) == (422, "validation_failed")
    # Unknown fields are ignored, or refused if strict.
    body = {**MINIMAL, "colour": "blue", "created_at": "2020-01-01T00:00:00Z"}
    assert "colour" not in (await api.http.post("/v1/templates", json=body)).json()
    strict = await api.http.post("/v1/templates?strict=true", json=body)
    assert (strict.status_code, set(paths(strict))) == (422, {"colour", "created_at"})
    assert (await api.http.post("/v1/templates?strict=perhaps", json=body)).status_code == 400


async def test_a_patch_merges_objects_replaces_arrays_and_changes_only_the_version_that_it_names(api: Api) -> None:
    template = await api.account.create_template(tags=["a", "b"], description="before")
    path = f"/v1/templates/{template['id']}"
    patch = b'{"description": null, "tags": ["c"], "settings": {"est_minutes": 7.5, "layout": "one_at_a_time"}}'
    merge_patch = {"Content-Type": "application/merge-patch+json"}
    response = await api.http.patch(path, content=patch, headers=merge_patch)
    assert (response.status_code, response.headers["ETag"]) == (200, '"2"')
    patched = response.json()
    assert patched.pop("updated_at") > template.pop("updated_at")
    settings = {"allow_skip": True, "signature_on_complete": False, "est_minutes": 7.5, "layout": "one_at_a_time"}
    assert patched == {**template, "v": 2, "description": "", "tags": ["c"], "settings": settings}
    tags = {'"1"': 412, '"2"': 200, '"7", "3"': 200, "*": 200, 'W/"5"': 412, '"other"': 412, "5": 400}
    for if_match, status in tags.items():
        response = await api.http.patch(path, json={}, headers={"If-Match": if_match})
        assert response.status_code == status, if_match
        assert status != 412 or response.json()["error"] == "version_conflict"
    assert (await api.http.patch(path, json={"name": ""})).status_code == 422
    assert (await api.http.get(path)).json()["v"] == 5
    patches = [api.http.patch(path, json={"name": name}, headers={"If-Match": '"5"'}) for name in ("a", "b", "c")]
    assert sorted(answer.status_code for answer in await asyncio.gather(*patches)) == [200, 412, 412]


async def test_concurrent_patches_all_count_none_is_lost_and_each_is_announced_once(api: Api) -> None:
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"
    fields = [{"description": "New"}, {"tags": ["new"]}, {"settings": {"est_minutes": 9}}, *({} for _ in range(27))]
    answers = await asyncio.gather(*(api.http.patch(path, json=field) for field in fields))
    assert sorted(answer.json()["v"] for answer in answers) == list(range(2, 32))
    entries = [each["spec"] for each in await api.all_of(AUDIT_ENTRY) if each["spec"]["action"] == "template.updated"]
    assert sorted(int(entry["details"]["version"]) for entry in entries) == list(range(2, 32))
    final = (await api.http.get(path)).json()
    assert (final["description"], final["tags"], final["settings"]["est_minutes"]) == ("New", ["new"], 9)


async def test_a_foreign_template_is_byte_for_byte_like_an_unknown_one(api: Api) -> None:
    other = await api.make_account()
    foreign = await other.create_template()
    answers = []
    for template_id in (foreign["id"], new_id("t"), "t-nonsense", "%00", foreign["id"].upper()):
        for method, suffix in (
            ("GET", ""),
            ("PATCH", ""),
            ("DELETE", ""),
            ("GET", "/versions"),
            ("GET", "/versions/1"),
        ):
            body = {"name": "Mine"} if method == "PATCH" else None
            answers.append(await api.http.request(method, f"/v1/templates/{template_id}{suffix}", json=body))
    assert {answer.status_code for answer in answers} == {404}
    assert len({without_request_id(answer) for answer in answers}) == 1
    assert len({(*sorted(set(answer.headers) - {"date"}),) for answer in answers}) == 1
    assert (await other.http.get(f"/v1/templates/{foreign['id']}")).json() == foreign


async def test_a_template_made_with_kubectl_has_the_id_derived_from_its_name_and_keeps_its_versions(api: Api) -> None:
    name = f"fire-check-{api.organization[-12:]}"
    await api.kube.create(TEMPLATE, owned(TEMPLATE, name, api.organization, api.namespace, MINIMAL), api.namespace)
    template_id = derived_id("t", api.organization, name)
    path = f"/v1/templates/{template_id}"

    async def until_version(number: int) -> None:
        await until(lambda: api.http.get(path), lambda answer: answer.json().get("v") == number)

    await until_version(1)
    assert (await api.http.patch(path, json={"name": "Patched"})).json()["v"] == 2
    stored = await api.kube.get(TEMPLATE, name, api.namespace)
    assert (stored["spec"]["name"], stored["metadata"]["generation"]) == ("Patched", 2)
    await api.kube.patch(TEMPLATE, name, {"spec": {"name": "By kubectl"}}, api.namespace)
    await until_version(3)
    # What kubectl made is kept by the patch that replaces it, and names no person.
    await api.http.patch(path, json={"name": "Fourth"})
    versions = (await api.http.get(f"{path}/versions")).json()["data"]
    assert [(each["v"], each["name"]) for each in versions[:2]] == [(4, "Fourth"), (3, "By kubectl")]
    assert (versions[1]["changed_by"], versions[0]["changed_by"]["kind"]) == (None, "api_key")
    run = await api.account.dispatch(template_id)
    assert (await api.http.get(f"/v1/runs/{run['run_id']}")).json()["template_v"] == 4
    assert (await api.http.delete(path)).status_code == 204


async def test_an_invalid_template_made_with_kubectl_can_be_read_and_fixed_but_not_dispatched(api: Api) -> None:
    sections = [{"id": "g-a", "title": "A", "steps": [STEP]}, {"id": "g-b", "title": "B", "steps": [STEP]}]
    template_id = new_id("t")
    made = owned(TEMPLATE, template_id, api.organization, api.namespace, {"name": "Twice", "sections": sections})
    await api.kube.create(TEMPLATE, made, api.namespace)
    path = f"/v1/templates/{template_id}"
    # Not by a client that checks: what kubectl left out and is not valid as a whole is shown without its defaults.
    async with http_client(api.base_url, api.account.key) as http:
        read = await http.get(path)
    assert (read.status_code, read.json()["name"]) == (200, "Twice")
    assert [template["id"] for template in (await api.http.get("/v1/templates")).json()["data"]] == [template_id]
    refused = await api.http.post("/v1/runs", json={"template_id": template_id})
    assert error_of(refused) == (422, "template_not_runnable")
    assert [problem["code"] for problem in refused.json()["details"]] == ["duplicate_id"]
    assert (await api.http.patch(path, json={"tags": ["x"]})).status_code == 422
    assert (await api.http.patch(path, json={"sections": sections[:1]})).status_code == 200
    assert (await api.http.post("/v1/runs", json={"template_id": template_id})).status_code == 201


async def test_versions_are_kept_until_the_template_is_deleted(
    api: Api,
) -> None:
    others = [(await api.account.create_template(name=f"Number {number}"))["id"] for number in range(2)]
    template = await api.account.create_template()
    listed = (await api.http.get("/v1/templates?per_page=2")).json()
    assert [each["id"] for each in listed["data"]] == [template["id"], others[1]]
    assert listed["pagination"] == {"total": 3, "page": 1, "per_page": 2, "next_page": 2}
    path = f"/v1/templates/{template['id']}"
    versions = [template]
    patches: list[dict[str, Any]] = [{"name": "Second", "tags": ["new"]}, {"name": "Third"}]
    for patch in (*patches, {"name": "Fourth", "sections": []}, {"name": "Fifth"}):
        versions.append((await api.http.patch(path, json=patch)).json())
        if patch["name"] == "Third":
            run = await api.account.dispatch(template["id"])
    answer = (await api.http.get(f"{path}/versions")).json()
    assert answer["pagination"] == {"total": 5, "page": 1, "per_page": 20, "next_page": None}
    assert [(each["v"], each["name"], each["step_count"], each["current"]) for each in answer["data"]] == [
        (5, "Fifth", 0, True),
        (4, "Fourth", 0, False),
        (3, "Third", 2, False),
        (2, "Second", 2, False),
        (1, "Opening check", 2, False),
    ]
    moments = [parse_timestamp(version["created_at"]) for version in answer["data"]]
    assert moments == sorted(moments, reverse=True)
    assert {version["changed_by"]["name"] for version in answer["data"]} == {"test"}
    second = (await api.http.get(f"{path}/versions?per_page=1&page=2")).json()
    assert ([version["v"] for version in second["data"]], second["pagination"]["next_page"]) == ([4], 3)
    assert [(await api.http.get(f"{path}/versions/{number}")).json() for number in range(1, 6)] == versions
    for unknown in ("6", "0", "-1", "x", "1.0", "9" * 40):
        assert error_of(await api.http.get(f"{path}/versions/{unknown}")) == (404, "template_version_not_found")

    response = await api.http.delete(path)
    assert (response.status_code, response.content) == (204, b"")
    for method in ("DELETE", "GET", "PATCH"):
        again = await api.http.request(method, path, json={} if method == "PATCH" else None)
        assert error_of(again) == (404, "template_not_found")
    assert [each["id"] for each in (await api.http.get("/v1/templates")).json()["data"]] == others[::-1]
    assert (await api.http.get(f"/v1/runs/{run['run_id']}")).json()["template_name"] == "Third"


async def test_reading_many_templates_evicts_none_of_another_organization(start_api: StartApi) -> None:
    """Nor do bodies that are not kept come from etcd, which costs the API server several times as much."""
    api = await start_api()
    many = [(await api.account.create_template())["id"] for _ in range(12)]
    neighbour = await api.make_account()
    theirs = (await neighbour.create_template())["id"]
    cold = await start_api()
    await until(lambda: cold.http.get("/v1/templates"), lambda answer: answer.json()["pagination"]["total"] == 12)
    get, go_on, versions = cold.services.client.get, asyncio.Event(), dict[str, str | None]()

    async def slow(kind: Kind, name: str, *given: Any, not_older_than: str | None = None) -> Any:
        if kind is TEMPLATE:
            versions[name] = not_older_than
        if name in many:
            await go_on.wait()
        return await get(kind, name, *given, not_older_than=not_older_than)

    cold.services.client.get = slow  # type: ignore[method-assign]
    reads = [asyncio.create_task(cold.http.get(f"/v1/templates/{each}")) for each in many]
    await eventually(lambda: versions)
    async with http_client(cold.base_url, neighbour.key) as http, asyncio.timeout(30):
        assert (await http.get(f"/v1/templates/{theirs}")).status_code == 200
    go_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*reads)} == {200}
    assert versions.keys() == {*many, theirs}
    assert all(versions.values())
