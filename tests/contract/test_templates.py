"""/v1/templates (specification, "Templates"; contract section 2)."""

import asyncio
from typing import Any

import pytest

from checklist_crds.ids import derived_id, new_id
from checklist_crds.kube.kinds import TEMPLATE
from checklist_crds.times import parse_timestamp

from .conftest import Api, definition, owned

MINIMAL: dict[str, Any] = {
    "name": "Minimal",
    "sections": [{"id": "g-a", "title": "A", "steps": [{"id": "s-a", "type": "boolean", "label": "?"}]}],
}


async def test_a_created_template_is_complete_with_the_defaults_filled_in(api: Api) -> None:
    response = await api.http.post("/v1/templates", json=MINIMAL)
    assert response.status_code == 201
    template = response.json()
    assert response.headers["ETag"] == '"1"'
    assert response.headers["Location"] == f"/v1/templates/{template['id']}"
    assert parse_timestamp(template.pop("created_at")) == parse_timestamp(template.pop("updated_at"))
    assert template == {
        "id": template["id"],
        "v": 1,
        "org_id": api.organization,
        "name": "Minimal",
        "description": "",
        "tags": [],
        "settings": {"allow_skip": False, "signature_on_complete": False, "est_minutes": None},
        "sections": [
            {
                "id": "g-a",
                "title": "A",
                "steps": [
                    {
                        "id": "s-a",
                        "type": "boolean",
                        "label": "?",
                        "hint": None,
                        "required": False,
                        "photo": False,
                        "geo": False,
                        "geo_required": False,
                        "config": {},
                    }
                ],
            }
        ],
        "execution": {"scope": "any", "identity_required": "none"},
    }


async def test_what_was_created_is_what_is_read(api: Api) -> None:
    created = await api.account.create_template(description="Every morning", tags=["kitchen"])
    response = await api.http.get(f"/v1/templates/{created['id']}")
    assert response.status_code == 200
    assert response.headers["ETag"] == '"1"'
    assert response.json() == created


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ({}, ["name", "sections"]),
        ({"name": "x"}, ["sections"]),
        ({"sections": [], "id": "t-1"}, ["name"]),
        ({"sections": "nonsense"}, ["name"]),
    ],
)
async def test_a_missing_member_of_the_body_is_400_even_if_something_else_is_wrong(
    api: Api, body: dict[str, Any], missing: list[str]
) -> None:
    response = await api.http.post("/v1/templates", json=body)
    assert (response.status_code, response.json()["error"]) == (400, "missing_field")
    assert [problem["path"] for problem in response.json()["details"]] == missing


async def test_everything_wrong_inside_is_422_and_told_at_once(api: Api) -> None:
    body = {
        "id": new_id("t"),
        "v": 4,
        "org_id": api.organization,
        "name": "x" * 201,
        "sections": [{"id": "g-a", "steps": [{"id": "bad", "type": "boolean", "label": "?"}, {"type": "odd"}]}],
    }
    response = await api.http.post("/v1/templates", json=body)
    assert (response.status_code, response.json()["error"]) == (422, "validation_failed")
    paths = {problem["path"] for problem in response.json()["details"]}
    assert {
        "id",
        "v",
        "org_id",
        "name",
        "sections[0].title",
        "sections[0].steps[0].id",
        "sections[0].steps[1].id",
        "sections[0].steps[1].type",
        "sections[0].steps[1].label",
    } <= paths


@pytest.mark.parametrize("name", ["id", "v", "org_id"])
async def test_what_the_service_assigns_must_not_be_sent(api: Api, name: str) -> None:
    response = await api.http.post("/v1/templates", json={**MINIMAL, name: None})
    assert response.status_code == 422
    assert [problem["path"] for problem in response.json()["details"]] == [name]


async def test_unknown_fields_are_ignored_or_refused_if_strict(api: Api) -> None:
    body = {**MINIMAL, "colour": "blue", "created_at": "2020-01-01T00:00:00Z"}
    relaxed = await api.http.post("/v1/templates", json=body)
    assert relaxed.status_code == 201
    assert "colour" not in relaxed.json()
    strict = await api.http.post("/v1/templates?strict=true", json=body)
    assert strict.status_code == 422
    assert {problem["path"] for problem in strict.json()["details"]} == {"colour", "created_at"}
    assert (await api.http.post("/v1/templates?strict=perhaps", json=body)).status_code == 400


async def test_a_forward_reference_is_refused_when_the_template_is_written(api: Api) -> None:
    body = definition()
    body["sections"][0]["steps"].reverse()
    response = await api.http.post("/v1/templates", json=body)
    assert response.status_code == 422
    assert "invalid_reference" in {problem["code"] for problem in response.json()["details"]}


async def test_an_empty_template_can_be_stored(api: Api) -> None:
    assert (await api.http.post("/v1/templates", json={"name": "Later", "sections": []})).status_code == 201


async def test_a_patch_merges_objects_and_replaces_arrays(api: Api) -> None:
    template = await api.account.create_template(tags=["a", "b"], description="before")
    patch = {"description": None, "tags": ["c"], "settings": {"est_minutes": 7.5}}
    response = await api.http.patch(f"/v1/templates/{template['id']}", json=patch)
    assert response.status_code == 200
    assert response.headers["ETag"] == '"2"'
    patched = response.json()
    assert patched.pop("updated_at") > template.pop("updated_at")
    assert patched == {
        **template,
        "v": 2,
        "description": "",
        "tags": ["c"],
        "settings": {"allow_skip": True, "signature_on_complete": False, "est_minutes": 7.5},
    }
    assert (await api.http.get(f"/v1/templates/{template['id']}")).json()["v"] == 2


async def test_every_accepted_patch_adds_exactly_one_an_empty_one_too(api: Api) -> None:
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"
    for version, patch in enumerate([{}, {"name": template["name"]}, {"name": "New"}, {}, {}], start=2):
        assert (await api.http.patch(path, json=patch)).json()["v"] == version
    refused = await api.http.patch(path, json={"name": ""})
    assert refused.status_code == 422
    assert (await api.http.get(path)).json()["v"] == 6


async def test_concurrent_patches_all_count_and_none_is_lost(api: Api) -> None:
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"
    fields: list[dict[str, Any]] = [
        {"name": "New name"},
        {"description": "New description"},
        {"tags": ["new"]},
        {"settings": {"est_minutes": 9}},
        {"settings": {"signature_on_complete": True}},
        {"execution": {"scope": "external"}},
    ]
    answers = await asyncio.gather(*(api.http.patch(path, json=field) for field in fields))
    assert sorted(answer.json()["v"] for answer in answers) == [2, 3, 4, 5, 6, 7]
    final = (await api.http.get(path)).json()
    assert (final["name"], final["description"], final["tags"]) == ("New name", "New description", ["new"])
    assert final["settings"] == {"allow_skip": True, "signature_on_complete": True, "est_minutes": 9}


@pytest.mark.parametrize("name", ["id", "v", "org_id", "created_at", "updated_at"])
async def test_a_patch_cannot_set_what_the_service_assigns(api: Api, name: str) -> None:
    template = await api.account.create_template()
    response = await api.http.patch(f"/v1/templates/{template['id']}", json={name: template[name], "name": ""})
    assert response.status_code == 422
    assert {problem["path"] for problem in response.json()["details"]} == {name, "name"}


async def test_a_patch_may_not_take_away_what_is_required(api: Api) -> None:
    template = await api.account.create_template()
    response = await api.http.patch(f"/v1/templates/{template['id']}", json={"name": None})
    assert (response.status_code, response.json()["error"]) == (422, "validation_failed")


async def test_if_match_changes_only_the_version_that_it_names(api: Api) -> None:
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"

    async def patch(if_match: str) -> int:
        return (await api.http.patch(path, json={}, headers={"If-Match": if_match})).status_code

    assert await patch('"1"') == 200
    assert await patch('"1"') == 412
    assert await patch('"7", "2"') == 200
    assert await patch("*") == 200
    assert await patch('W/"4"') == 412
    assert await patch('"other"') == 412
    assert await patch("4") == 400
    refused = await api.http.patch(path, json={}, headers={"If-Match": '"1"'})
    assert refused.json()["error"] == "version_conflict"
    assert (await api.http.get(path)).json()["v"] == 4


async def test_of_two_patches_on_the_same_version_one_wins(api: Api) -> None:
    template = await api.account.create_template()
    answers = await asyncio.gather(
        *(
            api.http.patch(f"/v1/templates/{template['id']}", json={"name": name}, headers={"If-Match": '"1"'})
            for name in ("one", "two", "three")
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412]


async def test_merge_patch_is_a_media_type_for_a_patch(api: Api) -> None:
    template = await api.account.create_template()
    response = await api.http.patch(
        f"/v1/templates/{template['id']}", content=b"{}", headers={"Content-Type": "application/merge-patch+json"}
    )
    assert response.status_code == 200


async def test_a_deleted_template_is_gone_and_its_runs_are_not(api: Api) -> None:
    template = await api.account.create_template()
    run = await api.account.dispatch(template["id"])
    path = f"/v1/templates/{template['id']}"
    response = await api.http.delete(path)
    assert (response.status_code, response.content) == (204, b"")
    for method in ("DELETE", "GET", "PATCH"):
        again = await api.http.request(method, path, json={} if method == "PATCH" else None)
        assert (again.status_code, again.json()["error"]) == (404, "template_not_found")
    assert (await api.http.get("/v1/templates")).json()["data"] == []
    assert (await api.http.get(f"/v1/runs/{run['run_id']}")).json()["template_name"] == template["name"]


async def test_the_list_shows_the_newest_first_page_by_page(api: Api) -> None:
    ids = [(await api.account.create_template(name=f"Number {number}"))["id"] for number in range(5)]
    shown, page = [], 1
    while page is not None:
        answer = (await api.http.get(f"/v1/templates?per_page=2&page={page}")).json()
        assert answer["pagination"]["total"] == 5
        assert answer["pagination"]["per_page"] == 2
        shown += [template["id"] for template in answer["data"]]
        page = answer["pagination"]["next_page"]
    assert shown == ids[::-1]
    listed = answer["data"][0]
    assert set(listed) == {"id", "v", "name", "description", "tags", "created_at", "updated_at"}


async def test_a_foreign_template_is_byte_for_byte_like_an_unknown_one(api: Api) -> None:
    other = await api.make_account()
    foreign = await other.create_template()
    answers = []
    for template_id in (foreign["id"], new_id("t"), "t-nonsense", "%00", foreign["id"].upper()):
        for method, suffix in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/versions")):
            response = await api.http.request(
                method,
                f"/v1/templates/{template_id}{suffix}",
                json={"name": "Mine"} if method == "PATCH" else None,
                headers={"X-Request-Id": "same"},
            )
            answers.append(response)
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert len({tuple(sorted(answer.headers.items())) for answer in answers if "Date" in answer.headers}) <= 2
    assert (await other.http.get(f"/v1/templates/{foreign['id']}")).json() == foreign


async def test_a_template_made_with_kubectl_is_found_by_the_id_derived_from_its_name(api: Api) -> None:
    made = owned(TEMPLATE, "fire-check", api.organization, api.namespace, MINIMAL)
    await api.kube.create(TEMPLATE, made, api.namespace)
    template_id = derived_id("t", api.organization, "fire-check")
    await asyncio.sleep(0.3)
    template = (await api.http.get(f"/v1/templates/{template_id}")).json()
    assert (template["id"], template["v"], template["settings"]["allow_skip"]) == (template_id, 1, False)
    assert (await api.http.patch(f"/v1/templates/{template_id}", json={"name": "Patched"})).json()["v"] == 2
    stored = await api.kube.get(TEMPLATE, "fire-check", api.namespace)
    assert (stored["spec"]["name"], stored["metadata"]["generation"]) == ("Patched", 2)
    await api.kube.patch(TEMPLATE, "fire-check", {"spec": {"description": "by kubectl"}}, api.namespace)
    await asyncio.sleep(0.3)
    assert (await api.http.get(f"/v1/templates/{template_id}")).json()["v"] == 3
    run = await api.account.dispatch(template_id)
    assert (await api.http.get(f"/v1/runs/{run['run_id']}")).json()["template_v"] == 3
    assert (await api.http.delete(f"/v1/templates/{template_id}")).status_code == 204


async def test_an_invalid_template_made_with_kubectl_can_be_read_and_mended_but_not_dispatched(api: Api) -> None:
    steps = [{"id": "s-a", "type": "boolean", "label": "?"}]
    sections = [{"id": "g-a", "title": "A", "steps": steps}, {"id": "g-b", "title": "B", "steps": steps}]
    template_id = new_id("t")
    await api.kube.create(
        TEMPLATE,
        owned(TEMPLATE, template_id, api.organization, api.namespace, {"name": "Twice", "sections": sections}),
        api.namespace,
    )
    read = await api.http.get(f"/v1/templates/{template_id}")
    assert (read.status_code, read.json()["name"]) == (200, "Twice")
    assert [template["id"] for template in (await api.http.get("/v1/templates")).json()["data"]] == [template_id]
    refused = await api.http.post("/v1/runs", json={"template_id": template_id})
    assert (refused.status_code, refused.json()["error"]) == (422, "template_not_runnable")
    assert [problem["code"] for problem in refused.json()["details"]] == ["duplicate_id"]
    assert (await api.http.patch(f"/v1/templates/{template_id}", json={"tags": ["x"]})).status_code == 422
    mended = await api.http.patch(f"/v1/templates/{template_id}", json={"sections": sections[:1]})
    assert mended.status_code == 200
    assert (await api.http.post("/v1/runs", json={"template_id": template_id})).status_code == 201


async def test_a_template_that_another_replica_made_is_found_at_once(api: Api) -> None:
    for _ in range(5):
        template_id = new_id("t")
        made = owned(TEMPLATE, template_id, api.organization, api.namespace, MINIMAL)
        await api.kube.create(TEMPLATE, made, api.namespace)
        assert (await api.http.get(f"/v1/templates/{template_id}")).status_code == 200


async def test_every_version_is_kept_whether_it_was_dispatched_or_not(api: Api) -> None:
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"
    await api.http.patch(path, json={"name": "Second"})
    await api.http.patch(path, json={"name": "Third"})
    await api.account.dispatch(template["id"])
    await api.http.patch(path, json={"name": "Fourth", "sections": []})
    await api.http.patch(path, json={"name": "Fifth"})
    answer = (await api.http.get(f"{path}/versions")).json()
    assert answer["pagination"] == {"total": 5, "page": 1, "per_page": 20, "next_page": None}
    assert [
        (version["v"], version["name"], version["step_count"], version["current"]) for version in answer["data"]
    ] == [
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


async def test_a_version_is_read_as_it_was(api: Api) -> None:
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"
    first = (await api.http.get(path)).json()
    await api.http.patch(path, json={"name": "Second", "tags": ["new"]})
    second = (await api.http.get(path)).json()
    assert (await api.http.get(f"{path}/versions/1")).json() == first
    assert (await api.http.get(f"{path}/versions/2")).json() == second
    for unknown in ("3", "0", "-1", "x", "1.0", "9" * 40):
        answer = await api.http.get(f"{path}/versions/{unknown}")
        assert (answer.status_code, answer.json()["error"]) == (404, "template_version_not_found")
    foreign = await (await api.make_account()).http.get(f"{path}/versions/1")
    assert (foreign.status_code, foreign.json()["error"]) == (404, "template_not_found")


async def test_what_kubectl_made_is_kept_by_the_patch_that_replaces_it_and_names_nobody(api: Api) -> None:
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"
    await api.kube.patch(TEMPLATE, template["id"], {"spec": {"name": "By kubectl"}}, api.namespace)
    while (await api.http.get(path)).json()["name"] != "By kubectl":
        pass
    await api.http.patch(path, json={"name": "Third"})
    versions = (await api.http.get(f"{path}/versions")).json()["data"]
    assert [(version["v"], version["name"]) for version in versions] == [(3, "Third"), (2, "By kubectl")]
    assert (versions[1]["changed_by"], versions[0]["changed_by"]["kind"]) == (None, "api_key")
