"""JSON Schema of the answers of a template version and of a run, live and archived."""

import copy
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from tests.contract.archive_lab import ArchiveLab
from tests.contract.conftest import CONTRACT, Api, definition, owned
from tests.contract.executor_client import Person, answered, error_of, person_for, step, without_request_id

from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import RUN, TEMPLATE

Json = dict[str, Any]


async def schema_at(api: Api, path: str) -> Json:
    response = await api.http.get(path)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/schema+json")
    schema: Json = response.json()
    Draft202012Validator.check_schema(schema)
    return schema


async def answers_of(api: Api, run_id: str) -> Json:
    run = (await api.http.get(f"/v1/runs/{run_id}")).json()
    assert run["status"] == "completed"
    answers: Json = run["answers"]
    return answers


async def test_answers_of_a_completed_run_are_valid_against_the_schemas_of_run_and_template(api: Api) -> None:
    person = await answered(api)
    answers = await answers_of(api, person.run_id)
    template_id = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["template_id"]
    schema = await schema_at(api, f"/v1/runs/{person.run_id}/answer-schema")
    assert schema == await schema_at(api, f"/v1/templates/{template_id}/answer-schema")
    fits = Draft202012Validator(schema)
    assert [error.message for error in fits.iter_errors(answers)] == []
    for step_id, part, wrong in (
        ("s-clean", "value", "false"),
        ("s-temp", "value", "-18.5"),
        ("s-mood", "value", "o-bad"),
        ("s-shelf", "photos", None),
        ("s-where", "geo", {"lat": 100, "lng": 0, "accuracy_m": None}),
    ):
        changed = copy.deepcopy(answers)
        changed[step_id][part] = wrong
        assert not fits.is_valid(changed), step_id
    assert not fits.is_valid({**answers, "s-unknown": answers["s-clean"]})


async def complete(person: Person, **values: Any) -> None:
    for name, value in values.items():
        assert (await person.answer(name, value)).status_code == 200
    assert (await person.submit()).status_code == 200


async def test_a_condition_decides_which_steps_have_an_answer(api: Api) -> None:
    why = step("why", "text", required=True, condition={"when": {"step": "s-clean", "op": "eq", "value": False}})
    steps = (step("clean", required=True), why)
    dirty, clean = await person_for(api, *steps), await person_for(api, *steps)
    await complete(dirty, clean=False, why="The drain")
    await complete(clean, clean=True)
    schema = await schema_at(api, f"/v1/runs/{dirty.run_id}/answer-schema")
    fits = Draft202012Validator(schema)
    with_reason, without = await answers_of(api, dirty.run_id), await answers_of(api, clean.run_id)
    assert fits.is_valid(with_reason)
    assert fits.is_valid(without)
    assert not fits.is_valid({"s-clean": with_reason["s-clean"]})
    assert not fits.is_valid({**without, "s-why": with_reason["s-why"]})


async def test_each_version_has_its_own_schema_and_a_run_keeps_that_of_its_snapshot(api: Api) -> None:
    template = await api.account.create_template()
    run_id = (await api.account.dispatch(template["id"]))["run_id"]
    path = f"/v1/templates/{template['id']}/answer-schema"
    before = await api.http.get(path)
    changed = definition(sections=[{"id": "g-one", "title": "New", "steps": [step("new", "rating")]}])
    assert (await api.http.patch(f"/v1/templates/{template['id']}", json=changed)).status_code == 200
    after = await api.http.get(path)
    assert (before.headers["ETag"], after.headers["ETag"]) == ('"1"', '"2"')
    assert list(after.json()["properties"]) == ["s-new"]
    assert await schema_at(api, f"{path}?version=1") == before.json()
    assert await schema_at(api, f"{path}?version=2") == after.json()
    assert await schema_at(api, f"/v1/runs/{run_id}/answer-schema") == before.json()
    assert (await api.http.delete(f"/v1/templates/{template['id']}")).status_code == 204
    assert await schema_at(api, f"/v1/runs/{run_id}/answer-schema") == before.json()


async def test_archiving_a_run_keeps_its_schema(api: Api) -> None:
    person = await answered(api)
    path = f"/v1/runs/{person.run_id}/answer-schema"
    live, answers = await api.http.get(path), await answers_of(api, person.run_id)
    await api.kube.patch_status(RUN, person.run_id, {"settled": True, "outbox": []}, api.namespace)
    lab = ArchiveLab(api)
    await lab.archive(person.run_id)
    await lab.loaded()
    archived = await api.http.get(path)
    assert (archived.status_code, archived.content) == (200, live.content)
    assert Draft202012Validator(archived.json()).is_valid(await answers_of(api, person.run_id))
    assert answers.keys() == (await answers_of(api, person.run_id)).keys()


async def test_errors_match_those_of_the_template_and_run_routes(api: Api) -> None:
    template = await api.account.create_template()
    run_id = (await api.account.dispatch(template["id"]))["run_id"]
    path, run_path = f"/v1/templates/{template['id']}/answer-schema", f"/v1/runs/{run_id}/answer-schema"

    async def got(path: str, http: httpx.AsyncClient = api.http) -> tuple[int, str]:
        return error_of(await http.get(path))

    assert await got(f"{path}?version=7") == (404, "template_version_not_found")
    for wrong in ("0", "-1", "one", "1.0", "1&version=1"):
        assert await got(f"{path}?version={wrong}") == (400, "invalid_parameter")
    assert await got(f"/v1/templates/{new_id('t')}/answer-schema") == (404, "template_not_found")
    assert await got(f"/v1/runs/{new_id('r')}/answer-schema") == (404, "run_not_found")
    assert await got(path, api.anonymous) == await got(run_path, api.anonymous) == (401, "unauthorized")
    other = await api.make_account()
    for mine, unknown in ((path, "templates/t-1"), (run_path, "runs/r-1")):
        foreign, nowhere = await other.http.get(mine), await other.http.get(f"/v1/{unknown}/answer-schema")
        assert without_request_id(foreign) == without_request_id(nowhere)
    assert CONTRACT.seen["getRunAnswerSchema"] >= {200, 401, 404}


async def test_an_invalid_template_has_no_schema(api: Api) -> None:
    broken = definition()
    broken["sections"][0]["steps"][1]["condition"]["when"]["step"] = "s-nowhere"
    name = new_id("t")
    await api.kube.create(TEMPLATE, owned(TEMPLATE, name, api.organization, api.namespace, broken), api.namespace)
    response = await api.http.get(f"/v1/templates/{name}/answer-schema")
    assert error_of(response) == (422, "template_not_runnable")
    assert [problem["code"] for problem in response.json()["details"]] == ["invalid_reference"]
