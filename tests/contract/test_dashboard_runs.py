"""What the page of a run is told: the checklist with its answers, and the link, for those who may have it."""

import httpx
import pytest

from .conftest import Api
from .dashboard_client import at_desk, error

TEMPLATE = {
    "name": "Cold store check",
    "settings": {"allow_skip": True},
    "sections": [
        {
            "id": "g-1",
            "title": "Cold store",
            "steps": [
                {"id": "s-intro", "type": "instruction", "label": "Put on your gloves"},
                {"id": "s-ok", "type": "boolean", "label": "Is it clean?", "required": True},
                {
                    "id": "s-why",
                    "type": "text",
                    "label": "What is dirty?",
                    "condition": {"when": {"step": "s-ok", "op": "eq", "value": False}},
                },
                {"id": "s-t", "type": "number", "label": "Temperature", "config": {"unit": "°C", "decimal": 1}},
                {"id": "s-door", "type": "boolean", "label": "Is the door shut?", "required": True},
            ],
        }
    ],
}


async def _run(api: Api) -> tuple[str, str]:
    """Id and token."""
    template = await api.account.create_template(**TEMPLATE)
    webhook = {"url": "https://hooks.example.com/secret/path?key=1", "secret": "s" * 16, "events": ["run.completed"]}
    made = await api.account.dispatch(template["id"], webhook=webhook, executor_ref="order-7")
    return made["run_id"], made["link"].partition("#")[2]


async def _execute(api: Api, run_id: str, token: str, method: str, path: str, **sent: object) -> None:
    response = await api.anonymous.request(
        method,
        f"/v1/executor/runs/{run_id}{path}",
        headers={"Authorization": f"Executor {token}"},
        json={"op_id": f"operation-{path}", **sent},
    )
    assert response.status_code == 200, response.text


async def test_the_story_has_every_step_in_order_with_what_became_of_it(api: Api) -> None:
    run_id, token = await _run(api)
    await _execute(api, run_id, token, "PUT", "/answers/s-ok", value=True)
    await _execute(api, run_id, token, "POST", "/steps/s-t/skip")
    story = await (await at_desk(api, "viewer")).told(f"/runs/{run_id}/story")
    [section] = story["sections"]
    assert section["title"] == "Cold store"
    assert [(step["id"], step["state"], step["display"]) for step in section["steps"]] == [
        ("s-intro", "instruction", None),
        ("s-ok", "answered", "Yes"),
        ("s-why", "not_applicable", None),
        ("s-t", "skipped", None),
        ("s-door", "open", None),
    ]
    assert story["missing_steps"] == ["s-door"]
    assert (story["executor_ref"], story["status"], story["progress"]["answered"]) == ("order-7", "in_progress", 1)
    assert story["webhook"] == {"host": "hooks.example.com", "events": ["run.completed"]}
    assert "secret/path" not in str(story)


async def test_members_are_named_who_act_in_the_story(api: Api) -> None:
    desk = await at_desk(api, "editor", name="Robin Baker")
    template = await api.account.create_template(**TEMPLATE)
    made = (await desk.post("/runs", {"template_id": template["id"]})).json()
    story = await desk.told(f"/runs/{made['run_id']}/story")
    assert (story["created_by_name"], story["people"]) == ("Robin Baker", {})


async def test_the_link_is_the_one_that_was_dispatched_and_is_for_those_who_may_dispatch(api: Api) -> None:
    run_id, token = await _run(api)
    editor, viewer = await at_desk(api, "editor"), await at_desk(api, "viewer")
    response = await editor.get(f"/runs/{run_id}/link")
    told = response.json()
    assert told["link"].endswith(f"/r/{run_id}#{token}")
    assert response.headers["Cache-Control"] == "no-store"
    # A QR code is a square with three finders; each begins with a row of seven dark modules.
    assert told["qr"]["path"].startswith("M0 0h7v1h-7z")
    assert (told["qr"]["size"] - 17) % 4 == 0
    assert error(await viewer.get(f"/runs/{run_id}/link")) == (403, "forbidden")


@pytest.mark.parametrize("part", ["story", "link"])
async def test_a_foreign_run_is_told_of_like_one_that_is_not_there(api: Api, part: str) -> None:
    other = await api.make_account()
    template = await other.create_template()
    foreign = (await other.dispatch(template["id"]))["run_id"]
    desk = await at_desk(api)

    def told(response: httpx.Response) -> tuple[int, bytes]:
        return response.status_code, response.content.replace(response.headers["X-Request-Id"].encode(), b"")

    theirs = await desk.get(f"/runs/{foreign}/{part}")
    nobodys = await desk.get(f"/runs/r-00000000-0000-4000-8000-000000000000/{part}")
    assert error(theirs) == (404, "run_not_found")
    assert told(theirs) == told(nobodys)
