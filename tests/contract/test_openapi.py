"""The OpenAPI document is valid, complete and true."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from openapi_spec_validator import validate

from checklist_api.app import ROUTES
from checklist_api.openapi import EVENT_MODELS, openapi_document
from checklist_crds import errors
from checklist_crds.errors import ServiceError
from checklist_crds.events import EventName, envelope, event_data, for_attempt
from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import RUN
from checklist_crds.photo_urls import IN_EVENTS
from checklist_crds.run_types import Run
from checklist_crds.template_validation import parse_definition

from .conftest import Api, StartApi
from .delivery_stories import completed_story, five_failures, sent
from .executor_app_settings import APPS
from .executor_client import WEBHOOK, Person, checklist, person_for, step
from .openapi_check import Contract
from .pictures import drawing, photo_of_a_camera, picture

DOCUMENT = openapi_document("https://checklists.example")
SLOW = {"requestsPerSecond": 0.1, "burst": 1}
Json = dict[str, Any]


@pytest.fixture
def contract() -> Contract:
    return Contract(DOCUMENT)


def operations() -> Iterator[tuple[str, str, Json]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def contents() -> Iterator[tuple[str, Json]]:
    """Every media type object of the document, with where it is."""
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
    for add_routes in ROUTES:
        add_routes(app.router, api.services)
    served = {
        (route.method.lower(), re.sub(r"\{(\w+)[^}]*\}", r"{\1}", route.resource.canonical))
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    # The dashboard and its API change together; they are described nowhere.
    described = {(method, path) for method, path in served if not re.match(r"/dashboard(/|$)", path)}
    assert described == {(method, path) for method, path, _ in operations()}


def test_every_json_body_has_an_example_that_fits_its_schema_and_templates_are_taken(contract: Contract) -> None:
    for where, content in contents():
        examples = content.get("examples", {}).values()
        assert examples or "$ref" not in content["schema"], where
        for example in examples:
            assert contract.problems(content["schema"], example["value"]) == [], where
            if content["schema"].get("$ref", "").endswith("/DefinitionInput"):
                assert parse_definition(example["value"], strict=True), where


def test_every_error_of_the_service_is_told_somewhere_with_its_own_status() -> None:
    told = {
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
    assert {code for _, code in tree - told} <= {*dashboards.split(), "method_not_allowed", "expectation_failed"}
    assert told <= tree
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


def test_headers_that_requests_may_carry_are_told() -> None:
    shared = DOCUMENT["components"]["parameters"]
    carried = {}
    for _, _, operation in operations():
        described = [shared[it["$ref"].rpartition("/")[2]] if "$ref" in it else it for it in operation["parameters"]]
        carried[operation["operationId"]] = {each["name"] for each in described if each["in"] == "header"}
    assert carried["createTemplate"] == carried["dispatchRun"] == {"Idempotency-Key", "X-Request-Id"}
    assert carried["patchTemplate"] == {"If-Match", "X-Request-Id"}
    assert carried["putAnswer"] == {"Answering-Member", "Op-Id", "X-Request-Id"}


async def test_real_answers_of_every_operation_are_as_the_document_tells(
    start_api: StartApi, contract: Contract, web_app: Path
) -> None:
    api = await start_api(**APPS)
    for client in (api.http, api.anonymous):
        client.event_hooks = {"response": [_checked_by(contract)]}
    await _owner_story(api)
    await _executor_story(api)
    await _delivery_story(api)
    for path in ("/", "/docs", "/v1/openapi.json", "/healthz", "/readyz", "/metrics"):
        page = await api.anonymous.get(path)
        assert page.status_code == 200, path
        if path == "/v1/openapi.json":
            assert page.json() == DOCUMENT
        for style in re.findall(r'href="(pages/[^"]+)"', page.text):
            await api.anonymous.get(f"/{style}")
    for name in (*(path.name for path in (web_app / "assets").glob("*.js")), "no-such-file"):
        await api.anonymous.get(f"/r/assets/{name}")
    for name in ("apple-app-site-association", "assetlinks.json"):
        await api.anonymous.get(f"/.well-known/{name}")
    successes = {name for name, statuses in contract.seen.items() if any(status < 400 for status in statuses)}
    assert successes == {operation["operationId"] for _, _, operation in operations()}


async def test_real_refusals_are_as_the_document_tells(start_api: StartApi, contract: Contract) -> None:
    api = await start_api()
    for client in (api.http, api.anonymous):
        client.event_hooks = {"response": [_checked_by(contract)]}
    template, run = f"/v1/templates/{new_id('t')}", f"/v1/runs/{new_id('r')}"
    for path in ("/v1/templates", "/v1/runs"):
        assert (await api.http.post(path, json={})).status_code == 400
        assert (await api.http.post(path, content=b"{")).status_code == 415
        assert (await api.http.get(path, params={"page": 0})).status_code == 400
        assert (await api.anonymous.get(path)).status_code == 401
    await api.http.post("/v1/templates", json=checklist(step("a"), step("a")) | {"id": "x"})
    await api.http.post("/v1/runs", json={"template_id": "x", "webhook": WEBHOOK | {"events": []}})
    await api.http.post("/v1/runs", json={"template_id": new_id("t")})
    for path in (template, f"{template}/versions", f"{template}/versions/1", run, f"{run}/preview", f"/r/{run[9:]}"):
        assert (await api.http.get(path)).status_code == 404
    assert (await api.http.patch(template, json={})).status_code == 404
    assert (await api.http.delete(template)).status_code == 404
    assert (await api.http.post(f"{run}/cancel")).status_code == 404
    for exhausted, status in (({"plan": {"name": "none", "runsPerMonth": 0}}, 402), ({"rateLimit": SLOW}, 429)):
        account = await api.make_account(**exhausted)
        account.http.event_hooks = {"response": [_checked_by(contract)]}
        template_id = (await account.create_template())["id"]
        assert (await account.http.post("/v1/runs", json={"template_id": template_id})).status_code == status
    await _delivery_refusals(api)
    stored = await api.account.create_template()
    mismatch = {"If-Match": '"9"'}
    assert (await api.http.patch(f"/v1/templates/{stored['id']}", json={}, headers=mismatch)).status_code == 412
    person = await person_for(api, step("a", required=True), identity="external", dispatch={"expires_in_hours": 1})
    await person.answer("a")
    await person.answer("a", "x", geo=5, op_id=5)
    await person.answer("nothing")
    await person.skip("a")
    await person.submit()
    await person.take_back("a", photo_index="x")
    await person.take_back("nothing")
    await person.draw(b"", op_id="")
    await person.call("PUT", "/identity", json={"name": ""})
    await person.call("PUT", "/identity", json={"name": "", "email": ""})
    await person.clear("a", params={"op_id": ""})
    await person.cancel()
    for response in (await person.submit(), await person.answer("a"), await person.cancel()):
        assert response.status_code in (409, 422)
    other = await person_for(api, step("a", "photo"), signature_on_complete=True)
    for response in (
        await other.upload("a", b""),
        await other.upload("nothing", b""),
        await other.upload("a", b"", "text/plain"),
        await other.upload("a", bytes(10 * 1024 * 1024 + 1)),
        await other.draw(b""),
        await other.call("POST", "/answers/s-a/photos", files={"note": (None, b"of the fridge")}),
        await other.fetch(f"/v1/photos/{other.run_id}/x?e=1&s=x"),
        await other.fetch(f"/v1/photos/{other.run_id}/x/thumbnail"),
    ):
        assert response.status_code in (400, 404, 413, 415, 422)
    for statuses in contract.seen.values():
        assert 500 not in statuses


async def test_real_events_are_as_the_document_tells(api: Api, contract: Contract) -> None:
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
            sent = for_attempt(envelope(entry, run, data), 1)
            schema = {"$ref": f"#/components/schemas/{EVENT_MODELS[entry.event.value].__name__}"}
            assert contract.problems(schema, sent) == []
            seen.add(entry.event)
    assert seen == set(EventName) - {EventName.RUN_EXPIRED}
    assert set(DOCUMENT["webhooks"]) == {event.value for event in EventName}


async def _delivery_refusals(api: Api) -> None:
    story = await completed_story(api)
    pending = (await api.http.get("/v1/deliveries", params={"event": "run.completed"})).json()["data"][0]["event_id"]
    delivered = await story.records(sent(), seq=1)
    unknown = {"GET": [f"/v1/deliveries/{new_id('evt')}", f"/v1/runs/{new_id('r')}/deliveries"]}
    unknown["GET"].append(f"/v1/deliveries/replays/{new_id('rpl')}")
    unknown |= {"DELETE": unknown["GET"][2:], "POST": [f"/v1/deliveries/{new_id('evt')}/replay"]}
    wrong = {"GET": ["/v1/deliveries?status=x", "/v1/endpoints?window_hours=0", "/v1/deliveries/replays?page=0"]}
    refused = {"POST": [f"/v1/deliveries/{pending}/replay", f"/v1/deliveries/{delivered}/replay"]}
    for status, requests in ((400, wrong), (404, unknown), (409, refused)):
        for method, path in ((method, path) for method, paths in requests.items() for path in paths):
            assert (await api.http.request(method, path)).status_code == status, path
    for body in ({}, {"filter": {"hots": "x"}}):
        assert (await api.http.post("/v1/deliveries/replay", json=body)).status_code in (400, 422)


def _checked_by(contract: Contract) -> Any:
    async def check(response: httpx.Response) -> None:
        await response.aread()
        contract.check(response)

    return check


async def _owner_story(api: Api) -> None:
    http = api.http
    template = await api.account.create_template()
    path = f"/v1/templates/{template['id']}"
    for listed in ("/v1/templates", path, f"{path}/versions", f"{path}/versions/1", "/v1/usage"):
        while (answer := await http.get(listed)).status_code == 503:
            # A new API server asks for a moment before its first list of a kind; so does the service, then.
            await asyncio.sleep(int(answer.headers["Retry-After"]))
        assert answer.status_code == 200, listed
    assert (await http.patch(path, json={"settings": {"est_minutes": 6}})).status_code == 200
    generated = await http.post("/v1/templates/generate", json={"prompt": "Check doors, windows and lights"})
    assert (generated.status_code, generated.headers["X-Generated-By"]) == (200, "composer")
    run = await api.account.dispatch(template["id"], webhook=WEBHOOK, expires_in_hours=1.5, executor_ref="x")
    runs = f"/v1/runs/{run['run_id']}"
    for address in (runs, "/v1/runs", f"{runs}/preview", f"/r/{run['run_id']}"):
        assert (await http.get(address)).status_code == 200
    await http.post(f"{runs}/cancel")
    assert (await http.get(runs)).json()["status"] == "cancelled"
    assert (await http.delete(path)).status_code == 204


async def _delivery_story(api: Api) -> None:
    http, story = api.http, await completed_story(api)
    event_id = await story.keeps(*five_failures(), seq=1)
    await story.records(sent(), seq=2)
    for path in (f"/v1/runs/{story.run_id}/deliveries", "/v1/deliveries", f"/v1/deliveries/{event_id}"):
        assert (await http.get(path)).status_code == 200
    assert (await http.post(f"/v1/deliveries/{event_id}/replay")).status_code == 202
    replay = await http.post("/v1/deliveries/replay", json={"filter": {"host": "x"}}, headers={"Idempotency-Key": "1"})
    for path in (replay.headers["Location"], "/v1/deliveries/replays", "/v1/endpoints"):
        assert (await http.get(path)).status_code == 200
    assert (await http.delete(replay.headers["Location"])).status_code == 204


async def _export_story(api: Api, run_id: str) -> None:
    for query in ("format=csv", "format=csv&rows=answers&bom=false", "format=jsonl", "format=geojson", "format=x"):
        await api.http.get(f"/v1/exports?{query}")
    [run] = json.loads(f"[{(await api.http.get('/v1/exports?format=jsonl&status=completed')).text}]")
    url = run["answers"]["s-e"]["photos"][0]["url"].removeprefix(api.services.settings.base_url)
    for path in (url, f"{url}/thumbnail", f"{url[:-1]}x", f"/v1/runs/{new_id('r')}/photos/x/thumbnail"):
        await api.http.get(path)
    for kind in ("json", "pdf", "x"):
        await api.http.get(f"/v1/runs/{run_id}/export", params={"format": kind}, timeout=120)


async def _executor_story(api: Api) -> None:
    steps = [step("a", required=True), step("b"), step("c", "signature"), step("d", "number", geo=True)]
    steps.append(step("e", "photo"))
    person = await person_for(api, *steps, identity="external", allow_skip=True, signature_on_complete=True)
    await person.look()
    await person.call("POST", "/open")
    await person.call("PUT", "/identity", json={"name": "Ada", "email": "ada@example.com"})
    await person.answer("a", op_id="1")
    await person.answer("a", op_id="1")
    await person.answer("c", {"name": "Ada"})
    await person.answer("d", 2.5, geo={"lat": 1, "lng": 2})
    await person.skip("b")
    await person.clear("b")
    await person.call("POST", "/answers/s-c/photos", files={"photo": ("drawing.png", drawing(), "image/png")})
    await person.answer("e", None, geo={"lat": 52.5, "lng": 13.4})
    for op_id in ("2", "2", "3"):
        photo = (await person.upload("e", photo_of_a_camera(), op_id=op_id)).json()["photo"]
    await person.take_back("e", photo_index=0)
    served = await person.fetch(photo["url"])
    await person.fetch(photo["thumbnail_url"])
    await person.fetch(photo["url"], headers={"If-None-Match": served.headers["ETag"]})
    await person.draw(drawing())
    await person.call("DELETE", "/signature")
    await person.draw(drawing())
    await person.submit(signature={"name": "Ada"})
    assert (await person.look())["status"] == "completed"
    assert (await api.http.get(f"/v1/runs/{person.run_id}")).json()["status"] == "completed"
    await _export_story(api, person.run_id)
    assert (await (await person_for(api, *steps)).cancel(reason="late")).status_code == 200
