"""The OpenAPI document is valid and complete; that it is true of real answers is seen by the clients of all tests."""

import re
from collections.abc import Iterator
from typing import Any

from aiohttp import web
from openapi_spec_validator import validate
from tests.contract.conftest import CONTRACT, Api, shared_api
from tests.contract.executor_client import Person, person_for, step
from tests.contract.pictures import picture

from checklist_api.openapi.document import EVENT_MODELS
from checklist_api.wiring.routes import add_routes
from checklist_crds import errors
from checklist_crds.errors import ServiceError
from checklist_crds.photos.urls import IN_EVENTS
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import Run
from checklist_crds.runs.events import EventName, envelope, event_data, for_attempt
from checklist_crds.templates.validation import parse_definition

api = shared_api
DOCUMENT = CONTRACT.document
Json = dict[str, Any]


def operations() -> Iterator[tuple[str, str, Json]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def contents() -> Iterator[tuple[str, Json]]:
    for method, path, operation in operations():
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield f"{method} {path} request", content
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values():
                yield f"{method} {path} {status}", content
    for name, webhook in DOCUMENT["webhooks"].items():
        yield name, webhook["post"]["requestBody"]["content"]["application/json"]


def test_the_document_is_valid_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    validate(DOCUMENT)
    tags = {tag for _, _, operation in operations() for tag in operation["tags"]}
    assert tags == {tag["name"] for tag in DOCUMENT["tags"]}
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))


async def test_every_route_is_described_and_nothing_else(api: Api) -> None:
    app = web.Application()
    add_routes(app.router, api.services)
    served = {
        (route.method.lower(), re.sub(r"\{(\w+)[^}]*\}", r"{\1}", route.resource.canonical))
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    assert (await api.anonymous.get("/v1/openapi.json")).json() == DOCUMENT
    # The dashboard and its API change together, and /r/ without a run is a page for people: described nowhere.
    described = {(method, path) for method, path in served if not re.match(r"/dashboard(/|$)|/r/?$", path)}
    assert described == {(method, path) for method, path, _ in operations()}


def test_every_json_body_has_an_example_that_fits_its_schema_and_templates_are_taken() -> None:
    for where, content in contents():
        examples = content.get("examples", {}).values()
        assert examples or "$ref" not in content["schema"], where
        for example in examples:
            assert CONTRACT.problems(content["schema"], example["value"]) == [], where
            if content["schema"].get("$ref", "").endswith("/DefinitionInput"):
                assert parse_definition(example["value"], strict=True), where


def test_every_error_of_the_service_is_documented_with_its_own_status() -> None:
    documented = {
        (int(status), example["value"]["error"])
        for _, _, operation in operations()
        for status, response in operation["responses"].items()
        if status >= "400"
        for content in response.get("content", {}).values()
        for example in content.get("examples", {}).values()
        if "error" in example["value"]
    }
    tree = {
        (kind.status, kind.code)
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, ServiceError)
        and ("code" in vars(kind) or kind is errors.InternalError)
    }
    # Between the dashboard's page and its API alone.
    dashboards = "link_not_valid sign_in_failed forbidden api_key_not_found member_not_found last_admin member_exists "
    dashboards += "member_managed template_managed"
    assert {code for _, code in tree - documented} <= {*dashboards.split(), "method_not_allowed", "expectation_failed"}
    assert documented <= tree
    assert "method_not_allowed" in DOCUMENT["info"]["description"]


def test_security_is_as_the_specification_says() -> None:
    open_paths = {path for _, path, operation in operations() if not operation["security"]}
    # The signature in a photo's address is its credential.
    assert {path for path in open_paths if path.startswith("/v1/")} == {
        "/v1/runs/{run_id}/preview",
        "/v1/openapi.json",
        "/v1/photos/{run_id}/{photo_id}",
        "/v1/photos/{run_id}/{photo_id}/thumbnail",
    }
    for _, path, operation in operations():
        if path.startswith("/v1/executor/"):
            assert operation["security"] == [{"executorToken": []}, {"executorToken": [], "memberSession": []}]


def test_request_headers_are_documented() -> None:
    shared = DOCUMENT["components"]["parameters"]
    carried = {}
    for _, _, operation in operations():
        described = [shared[it["$ref"].rpartition("/")[2]] if "$ref" in it else it for it in operation["parameters"]]
        carried[operation["operationId"]] = {each["name"] for each in described if each["in"] == "header"}
    assert carried["createTemplate"] == carried["dispatchRun"] == {"Idempotency-Key", "X-Request-Id"}
    assert carried["patchTemplate"] == {"If-Match", "X-Request-Id"}
    assert carried["putAnswer"] == {"Answering-Member", "Op-Id", "X-Request-Id"}


async def test_real_events_are_as_the_document_tells(api: Api) -> None:
    steps = (step("a", geo=True, photo={"max": 2}), step("b"), step("c", "text"))
    stories: list[Person] = [await person_for(api, *steps, allow_skip=True) for _ in range(2)]
    for person in stories:
        await person.answer("a", geo={"lat": 1, "lng": 2})
        await person.upload("a", picture())
        await person.skip("b")
    await stories[0].submit(signature={"name": "Ada"})
    await stories[1].cancel(reason="late")
    seen = set()
    for person in stories:
        run = Run.parse(await api.kube.get(RUN, person.run_id, api.namespace))
        definition = await api.services.runs.definition(run)
        for entry in run.status.outbox:
            data = event_data(entry, run, definition, api.services.photo_urls.for_(IN_EVENTS))
            schema = {"$ref": f"#/components/schemas/{EVENT_MODELS[entry.event.value].__name__}"}
            assert CONTRACT.problems(schema, for_attempt(envelope(entry, run, data), 1)) == []
            seen.add(entry.event)
    assert seen == set(EventName) - {EventName.RUN_EXPIRED}
    assert set(DOCUMENT["webhooks"]) == {event.value for event in EventName}
