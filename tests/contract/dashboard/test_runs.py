"""Runs in the dashboard: a run's page and its link for those who may have it, and the usage of the month."""

from datetime import UTC, datetime, timedelta

from tests.contract.conftest import Api, StartApi, shared_api
from tests.contract.dashboard_client import at_desk
from tests.contract.executor_client import Json, Person, checklist, error_of, person_for, step

from checklist_crds.resources.kinds import RUN

api = shared_api

SECRET = "s" * 16
WEBHOOK = {"url": "https://hooks.example.com/secret/path?key=1", "secret": SECRET, "events": ["run.completed"]}
STEPS: list[Json] = [
    step("intro", "instruction"),
    step("ok", required=True),
    step("why", "text", condition={"when": {"step": "s-ok", "op": "eq", "value": False}}),
    step("t", "number", config={"unit": "°C", "decimal": 1}),
    step("door", required=True),
]


async def _run(api: Api) -> Person:
    return await person_for(api, *STEPS, dispatch={"webhook": WEBHOOK, "executor_ref": "order-7"}, allow_skip=True)


async def test_the_story_has_every_step_in_order_with_what_became_of_it(api: Api) -> None:
    person = await _run(api)
    assert (await person.answer("ok")).status_code == 200
    assert (await person.skip("t")).status_code == 200
    story = await (await at_desk(api, "viewer")).read(f"/runs/{person.run_id}/story")
    [section] = story["sections"]
    assert section["title"] == "All"
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
    template = await api.account.create_template(**checklist(*STEPS))
    made = (await desk.post("/runs", {"template_id": template["id"]})).json()
    story = await desk.read(f"/runs/{made['run_id']}/story")
    assert (story["created_by_name"], story["people"], story["webhook"]) == ("Robin Baker", {}, None)


async def test_the_link_is_the_one_that_was_dispatched_and_is_for_those_who_may_dispatch(api: Api) -> None:
    person = await _run(api)
    editor, viewer = await at_desk(api, "editor"), await at_desk(api, "viewer")
    path = f"/runs/{person.run_id}"
    response = await editor.get(f"{path}/link")
    shown = response.json()
    assert shown["link"] == f"https://checklists.example/r/{person.run_id}#{person.token}"
    assert response.headers["Cache-Control"] == "no-store"
    # A QR code is a square with three finders; each begins with a row of seven dark modules.
    assert shown["qr"]["path"].startswith("M0 0h7v1h-7z")
    assert (shown["qr"]["size"] - 17) % 4 == 0
    assert error_of(await viewer.get(f"{path}/link")) == (403, "forbidden")
    for desk, link in ((editor, shown["link"]), (viewer, None)):
        rest = (await api.http.get(f"/v1{path}")).json()
        webhook = {"host": "hooks.example.com", "events": ["run.completed"]}
        assert await desk.read(path) == {**rest, "link": link, "webhook": webhook}
    assert SECRET not in str(await api.kube.get(RUN, person.run_id, api.namespace))


async def test_the_days_of_the_month_add_up_to_what_is_used(start_api: StartApi) -> None:
    now = datetime.now(UTC).replace(day=2, hour=12, minute=0, second=0, microsecond=0)
    api = await start_api(clock=lambda: now)
    desk, template = await at_desk(api, "viewer"), await api.account.create_template()
    for runs in (2, 0, 3):
        for _ in range(runs):
            await api.account.dispatch(template["id"])
        now += timedelta(days=1)
    shown = await desk.read("/usage")
    month = now.strftime("%Y-%m")
    used = {"01": 0, "02": 2, "03": 0, "04": 3, "05": 0}
    assert shown["by_day"] == [{"day": f"{month}-{day}", "used": number} for day, number in used.items()]
    assert (shown["used"], shown["limit"], shown["period"], shown["plan"]) == (5, None, month, "default")
    assert shown["limit_reached"] is None


async def test_a_reached_limit_is_shown_in_the_words_that_a_dispatch_is_refused_with(api: Api) -> None:
    account = await api.make_account(plan={"name": "trial", "runsPerMonth": 1})
    desk = await at_desk(api, "viewer", account=account)
    template = await account.create_template()
    assert (await desk.read("/usage"))["limit_reached"] is None
    await account.dispatch(template["id"])
    refused = await account.http.post("/v1/runs", json={"template_id": template["id"]})
    assert refused.status_code == 402
    body = refused.json()
    body.pop("request_id")
    assert (await desk.read("/usage"))["limit_reached"] == body
