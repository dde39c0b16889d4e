"""No route of the dashboard reaches another organization: its things look like things that are not there."""

import re

from checklist_api.dashboard.routes import table
from checklist_crds import api_keys
from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import NAMESPACE
from checklist_crds.secret_digest import digest

from .conftest import ALL_NAMESPACES, Api, StartApi
from .dashboard_client import Desk, at_desk
from .delivery_stories import dispatched, five_failures
from .test_dashboard_roles import told


async def _things_of(desk: Desk, key: str, event_id: str, run_id: str) -> dict[str, str]:
    """One of each thing that an address can name, by its name there."""
    template = (await desk.post("/templates", {"name": "Secret plan", "sections": []})).json()
    await desk.patch(f"/templates/{template['id']}", {"name": "Second secret"})
    replay = await desk.post("/deliveries/replay", {"filter": {"run_id": run_id}})
    assert replay.status_code == 202, replay.text
    return {
        "template_id": template["id"],
        "version": "1",
        "run_id": run_id,
        "event_id": event_id,
        "replay_id": replay.json()["replay_id"],
        "key_id": api_keys.object_name(digest(key)),
        "member_id": desk.member_id,
    }


async def test_things_of_another_organization_look_like_none(api: Api) -> None:
    """Each route twice, with what exists elsewhere and with what exists nowhere: the same bytes."""
    other = await api.make_account()
    story = await dispatched(api, other)
    await story.completes()
    event_id = await story.keeps(*five_failures())
    elsewhere, desk = await at_desk(api, account=other), await at_desk(api)
    foreign = await _things_of(elsewhere, other.key, event_id, story.run_id)
    nowhere = {
        "template_id": new_id("t"),
        "version": "1",
        "run_id": new_id("r"),
        "event_id": new_id("evt"),
        "replay_id": new_id("rpl"),
        "key_id": "key-" + "0" * 40,
        "member_id": new_id("u"),
    }
    tried, photo_id = 0, new_id("p")
    for route in table(api.services):
        if "{" not in route.path:
            continue
        answers = []
        for things in (foreign | {"photo_id": photo_id}, nowhere | {"photo_id": photo_id}):
            path = re.sub(r"\{(\w+)\}", lambda match, named=things: named[match[1]], route.path)
            path += "?format=json" if path.endswith("/export") else ""
            body = None if route.method in ("GET", "DELETE") else {"name": "Mine now"}
            answers.append(await desk.call(route.method, path, body))
        there, not_there = answers
        assert (there.status_code, told(there)) == (404, told(not_there)), (route.method, route.path)
        tried += 1
    assert tried >= 20
    # And nothing happened to them.
    assert (await elsewhere.told(f"/templates/{foreign['template_id']}"))["name"] == "Second secret"
    assert (await elsewhere.told(f"/runs/{story.run_id}"))["status"] == "completed"
    assert (await other.http.get("/v1/templates")).status_code == 200
    assert (await elsewhere.get("/members")).status_code == 200


async def test_lists_show_nothing_of_another_organization(api: Api) -> None:
    other = await api.make_account()
    story = await dispatched(api, other)
    await story.completes()
    event_id = await story.keeps(*five_failures())
    elsewhere, desk = await at_desk(api, account=other, name="Nobody of yours"), await at_desk(api)
    foreign = await _things_of(elsewhere, other.key, event_id, story.run_id)
    await elsewhere.post("/keys", {"name": "Nobody's key"})
    secrets = [*(value for name, value in foreign.items() if name != "version"), "Nobody", "Secret plan"]
    listed = [route for route in table(api.services) if route.method == "GET" and "{" not in route.path]
    assert len(listed) >= 9
    for route in listed:
        for query in (
            "",
            f"?run_id={story.run_id}&template_id={foreign['template_id']}",
            f"?target={foreign['template_id']}&actor={foreign['member_id']}",
        ):
            if route.path == "/exports":
                query = f"?format=csv&template_id={foreign['template_id']}" if "template_id" in query else "?format=csv"
            async with desk.http.stream("GET", desk.path(route.path + query), headers=desk.headers) as response:
                if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    continue
                await response.aread()
            assert response.status_code == 200, route.path
            assert not [secret for secret in secrets if secret in response.text], route.path


async def test_an_organization_with_a_namespace_of_its_own_has_all_routes_too(start_api: StartApi) -> None:
    api = await start_api(**ALL_NAMESPACES)
    home = f"{api.namespace}-own"
    await api.kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    desk = await at_desk(api, account=await api.make_account(home=home))
    made = (await desk.post("/keys", {"name": "export"})).json()
    assert (await desk.post(f"/keys/{made['id']}/revoke")).json()["revoked"] is True
    invited = (await desk.post("/members", {"email": "x@example.com", "name": "X", "role": "viewer"})).json()
    assert (await desk.delete(f"/members/{invited['id']}")).status_code == 204
    entries = (await desk.told("/audit"))["data"]
    exported = (await desk.get("/audit/export")).text.splitlines()
    assert len(entries) == len(exported) == 4
