"""No route of the dashboard reaches another organization: its things look like things that are not there."""

import re

from tests.contract.conftest import ALL_NAMESPACES, Account, Api, StartApi, shared_api
from tests.contract.dashboard_client import Desk, at_desk
from tests.contract.delivery_stories import completed_story, five_failures
from tests.contract.executor_client import without_request_id

from checklist_api.wiring.routes import dashboard_table
from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import NAMESPACE
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest

api = shared_api


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
