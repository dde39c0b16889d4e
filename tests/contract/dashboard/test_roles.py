"""Roles and tenants: every route of the dashboard, for everybody who could call it."""

import re
import uuid

import pytest
from aiohttp import web
from tests.contract.conftest import ALL_NAMESPACES, Account, Api, StartApi, shared_api, until_status
from tests.contract.dashboard_client import Desk, at_desk
from tests.contract.delivery_stories import completed_story, five_failures
from tests.contract.executor_client import error_of, without_request_id

from checklist_api.dashboard.table import BASE
from checklist_api.wiring.routes import add_routes, dashboard_table
from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import DASHBOARD_SESSION, MEMBER, NAMESPACE
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest

api = shared_api

RANKS = {"viewer": 0, "editor": 1, "admin": 2}
NEEDS_TABLE = """
viewer GET    /templates /templates/{template_id} /templates/{template_id}/deletion
viewer GET    /templates/{template_id}/versions /templates/{template_id}/versions/{version}
editor POST   /templates /templates/generate /templates/{template_id}/versions/{version}/restore
editor PATCH  /templates/{template_id}
editor DELETE /templates/{template_id}
viewer GET    /runs /runs/{run_id} /runs/{run_id}/story /runs/{run_id}/deliveries /runs/{run_id}/export /exports
viewer GET    /runs/{run_id}/photos/{photo_id} /runs/{run_id}/photos/{photo_id}/thumbnail
editor GET    /runs/{run_id}/link
editor POST   /runs /runs/{run_id}/cancel
viewer GET    /deliveries /deliveries/{event_id} /deliveries/replays /deliveries/replays/{replay_id}
editor POST   /deliveries/{event_id}/replay /deliveries/replay
editor DELETE /deliveries/replays/{replay_id}
viewer GET    /endpoints /usage /members /events /overview /search
admin  GET    /keys /audit /audit/export
admin  POST   /keys /keys/{key_id}/revoke /members /members/{member_id}/invitation /members/{member_id}/reset
admin  PATCH  /members/{member_id}
admin  DELETE /members/{member_id}
"""
NEEDS = {
    (method, path): role
    for role, method, *paths in (line.split() for line in NEEDS_TABLE.strip().splitlines())
    for path in paths
}
FOR_ANYBODY_WITH_A_SESSION = {
    *(("GET", path) for path in ("/session", "/sessions")),
    *(("DELETE", path) for path in ("/session", "/sessions", "/sessions/{session_id}")),
    ("POST", "/account/password"),
}
FOR_EVERYBODY = {
    *(("GET", path) for path in ("/sign-in", "/sign-in/oidc", "/sign-in/oidc/callback")),
    *(("POST", path) for path in ("/sign-in/password", "/sign-in/link")),
}
"""What has to work before there is a session."""
MEMBERS_ROUTES = sorted(NEEDS)
_ROOT = "/dashboard/api"


def served(api: Api) -> set[tuple[str, str]]:
    """What the router really has below the dashboard's API."""
    app = web.Application()
    add_routes(app.router, api.services)
    return {
        (route.method, re.sub(r"\{(\w+)[^}]*\}", r"{\1}", route.resource.canonical))
        for route in app.router.routes()
        if route.resource is not None and route.resource.canonical.startswith(f"{_ROOT}/") and route.method != "HEAD"
    }


def filled(path: str) -> str:
    """An address that looks right, of things that are not there: what is let in finds nothing to do."""
    unknown = {
        "template_id": new_id("t"),
        "run_id": new_id("r"),
        "event_id": new_id("evt"),
        "member_id": new_id("u"),
        "replay_id": new_id("rpl"),
        "key_id": "key-" + "0" * 40,
        "version": "1",
        "photo_id": str(uuid.uuid4()),
        "session_id": "session-0",
    }
    return re.sub(r"\{(\w+)\}", lambda match: unknown[match[1]], path)


async def outcome(desk: Desk, method: str, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Status and body of a refusal without its request id. What is let in may be a stream, of which nothing is read."""
    sent = desk.headers if headers is None else headers
    body = {} if method in ("GET", "DELETE") else {"json": {}}
    async with desk.http.stream(method, path, headers=sent, **body) as response:
        if response.status_code not in (401, 403, 404):
            return response.status_code, b""
        await response.aread()
        return without_request_id(response)


async def test_every_route_that_is_served_is_in_the_tables_of_this_test_and_no_other(start_api: StartApi) -> None:
    api = await start_api(
        CHECKLISTS_LOCAL_ACCOUNTS="1",
        CHECKLISTS_OIDC_ISSUER="https://people.example",
        CHECKLISTS_OIDC_CLIENT_ID="checklists",
    )
    below = {(method, BASE.removeprefix(_ROOT) + path) for method, path in NEEDS}
    meant = below | FOR_ANYBODY_WITH_A_SESSION | FOR_EVERYBODY
    assert {(method, path.removeprefix(_ROOT)) for method, path in served(api)} == meant
    assert {(route.method, route.path): route.role.value for route in dashboard_table(api.services)} == NEEDS


@pytest.mark.parametrize("role", RANKS)
async def test_a_role_opens_its_routes_and_no_others(api: Api, role: str) -> None:
    desk = await at_desk(api, role)
    wrong = []
    for method, path in MEMBERS_ROUTES:
        status, body = await outcome(desk, method, desk.path(filled(path)))
        refused = status == 403 and b'"forbidden"' in body
        if refused is not (RANKS[role] < RANKS[NEEDS[method, path]]) or status in (401, 405) or status >= 500:
            wrong.append((method, path, status))
    assert wrong == []


async def test_to_a_member_of_another_organization_there_is_none(api: Api) -> None:
    """Byte for byte as an organization that does not exist, for whatever they may be at home."""
    admin = await at_desk(api, "admin", account=await api.make_account())
    for method, path in MEMBERS_ROUTES:
        theirs = await outcome(admin, method, f"{_ROOT}/{api.organization}{filled(path)}")
        unknown = await outcome(admin, method, f"{_ROOT}/{new_id('org')}{filled(path)}")
        assert (theirs[0], method, path) == (404, method, path)
        assert theirs == unknown


async def test_without_a_session_nothing_opens(api: Api) -> None:
    desk = await at_desk(api)
    for headers in ({}, {"Authorization": f"Bearer {api.account.key}"}, {"Cookie": "__Host-checklists-session=wrong"}):
        own = [(method, desk.path(filled(path))) for method, path in MEMBERS_ROUTES]
        anybodys = [(method, _ROOT + filled(path)) for method, path in sorted(FOR_ANYBODY_WITH_A_SESSION)]
        for method, path in own + anybodys:
            status, body = await outcome(desk, method, path, headers)
            assert (status, b"sign_in_required" in body, method, path) == (401, True, method, path)


async def test_no_write_opens_without_the_token_of_our_own_page(api: Api) -> None:
    desk = await at_desk(api)
    headers = {name: value for name, value in desk.headers.items() if name != "X-CSRF-Token"}
    for method, path in MEMBERS_ROUTES:
        if method != "GET":
            status, body = await outcome(desk, method, desk.path(filled(path)), headers)
            assert (status, b"request_forged" in body, method, path) == (403, True, method, path)


# --- sessions: whose they are, and when they end


SESSION = "/dashboard/api/session"
PROMPT = {"prompt": "Checklist: doors locked, windows closed, lights off"}


async def test_a_session_says_who_is_signed_in_and_where_they_may_go(api: Api) -> None:
    person = (await at_desk(api, "editor")).person
    body = (await api.anonymous.get(SESSION, headers=person.headers)).json()
    assert (body["email"], body["name"], body["method"]) == (person.email, person.name, "oidc")
    [organization] = body["organizations"]
    expected = (person.organization_id, "editor", person.member_id)
    assert (organization["id"], organization["role"], organization["member_id"]) == expected


async def test_a_write_has_to_come_from_our_own_page_and_of_a_role_that_still_allows_it(api: Api) -> None:
    desk = await at_desk(api, "editor")
    path, good = desk.path("/templates/generate"), desk.headers
    for headers in ({**good, "X-CSRF-Token": "0" * 64}, {**good, "Sec-Fetch-Site": "cross-site"}):
        assert error_of(await api.anonymous.post(path, json=PROMPT, headers=headers)) == (403, "request_forged")
    assert (await desk.post("/templates/generate", PROMPT)).status_code == 200
    await api.kube.patch(MEMBER, desk.member_id, {"spec": {"role": "viewer"}}, api.namespace)

    refused = await until_status(403, lambda: desk.post("/templates/generate", PROMPT), within_s=10)
    assert refused.json()["error"] == "forbidden"


async def test_a_session_ends_at_once_when_it_is_signed_out_or_deleted(api: Api) -> None:
    first, second = await at_desk(api), await at_desk(api)
    response = await api.anonymous.delete(SESSION, headers=first.headers)
    assert response.status_code == 204
    assert "Max-Age=0" in response.headers["Set-Cookie"]
    assert (await api.anonymous.get(SESSION, headers=first.headers)).status_code == 401
    assert (await api.anonymous.get(SESSION, headers=second.headers)).status_code == 200
    sessions, _ = await api.kube.list_all(DASHBOARD_SESSION, api.namespace)
    [name] = [each["metadata"]["name"] for each in sessions if each["spec"]["sha256"] == digest(second.person.secret)]
    await api.kube.delete(DASHBOARD_SESSION, name, api.namespace)

    await until_status(401, lambda: api.anonymous.get(SESSION, headers=second.headers), within_s=10)


async def _another_organization(api: Api) -> tuple[Account, Desk, dict[str, str]]:
    """One that has one of each thing that an address can name, by its name there."""
    other = await api.make_account()
    story = await completed_story(api, other)
    event_id = await story.keeps(*five_failures())
    desk = await at_desk(api, account=other, name="Eve elsewhere")
    template = (await desk.post("/templates", {"name": "Secret plan", "sections": []})).json()
    await desk.patch(f"/templates/{template['id']}", {"name": "Second secret"})
    await desk.post("/keys", {"name": "Key elsewhere"})
    replay = await desk.post("/deliveries/replay", {"filter": {"run_id": story.run_id}})
    assert replay.status_code == 202, replay.text
    things = {
        "template_id": template["id"],
        "version": "1",
        "run_id": story.run_id,
        "event_id": event_id,
        "replay_id": replay.json()["replay_id"],
        "key_id": api_keys.object_name(digest(other.key)),
        "member_id": desk.member_id,
        "photo_id": new_id("p"),
    }
    return other, desk, things


async def test_things_of_another_organization_look_like_none(api: Api) -> None:
    """Each route twice, with what exists elsewhere and with what exists nowhere: the same bytes."""
    other, elsewhere, foreign = await _another_organization(api)
    desk = await at_desk(api)
    prefixes = {"template_id": "t", "run_id": "r", "event_id": "evt", "replay_id": "rpl", "member_id": "u"}
    nowhere = foreign | {name: new_id(prefix) for name, prefix in prefixes.items()} | {"key_id": "key-" + "0" * 40}
    routes = [route for route in dashboard_table(api.services) if "{" in route.path]
    assert len(routes) >= 20
    for route in routes:
        answers = []
        for things in (foreign, nowhere):
            path = re.sub(r"\{(\w+)\}", lambda match, named=things: named[match[1]], route.path)
            path += "?format=json" if path.endswith("/export") else ""
            body = None if route.method in ("GET", "DELETE") else {"name": "Mine now"}
            answers.append(without_request_id(await desk.call(route.method, path, body)))
        assert answers[0][0] == 404, (route.method, route.path)
        assert answers[0] == answers[1], (route.method, route.path)
    # And nothing happened to them.
    assert (await elsewhere.read(f"/templates/{foreign['template_id']}"))["name"] == "Second secret"
    assert (await elsewhere.read(f"/runs/{foreign['run_id']}"))["status"] == "completed"
    assert (await other.http.get("/v1/templates")).status_code == 200
    assert (await elsewhere.get("/members")).status_code == 200
    # Lists have nothing of them.
    secrets = [*(value for name, value in foreign.items() if name != "version"), "elsewhere", "Secret plan"]
    listed = [route.path for route in dashboard_table(api.services) if route.method == "GET" and "{" not in route.path]
    assert len(listed) >= 9
    of_template = f"template_id={foreign['template_id']}"
    of_actor = f"target={foreign['template_id']}&actor={foreign['member_id']}"
    for path in listed:
        queries = ("", f"run_id={foreign['run_id']}&{of_template}", of_actor)
        for query in ("format=csv", f"format=csv&{of_template}") if path == "/exports" else queries:
            async with desk.http.stream("GET", desk.path(f"{path}?{query}"), headers=desk.headers) as response:
                if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    continue
                await response.aread()
            assert response.status_code == 200, path
            assert not [secret for secret in secrets if secret in response.text], path


async def test_an_organization_with_a_namespace_of_its_own_has_all_routes_too(start_api: StartApi) -> None:
    api = await start_api(**ALL_NAMESPACES)
    home = f"{api.namespace}-own"
    await api.kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    desk = await at_desk(api, account=await api.make_account(home=home))
    made = (await desk.post("/keys", {"name": "export"})).json()
    assert (await desk.post(f"/keys/{made['id']}/revoke")).json()["revoked"] is True
    invited = (await desk.post("/members", {"email": "x@example.com", "name": "X", "role": "viewer"})).json()
    assert (await desk.delete(f"/members/{invited['id']}")).status_code == 204
    entries = (await desk.read("/audit"))["data"]
    exported = (await desk.get("/audit/export")).text.splitlines()
    assert len(entries) == len(exported) == 4
