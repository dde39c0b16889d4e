"""The overview and the search of the command palette: what is counted and found, and for whom."""

from datetime import timedelta

from tests.contract.conftest import Api, shared_api
from tests.contract.dashboard_client import at_desk
from tests.contract.delivery_stories import completed_story, five_failures, sent
from tests.contract.executor_client import error_of
from tests.waiting import eventually

from checklist_crds.ids import new_id
from checklist_crds.times import format_timestamp, utc_now

api = shared_api

NOTHING = {"dispatched": 0, "completed": 0, "open": 0, "expiring": 0, "expired": 0, "flagged": 0}


async def test_the_overview_counts_what_the_filtered_lists_have(api: Api) -> None:
    account = await api.make_account()
    story = await completed_story(api, account)
    await story.keeps(*five_failures())
    template = await account.create_template(name="Opening check")
    for hours in (1, 48, None):
        await account.dispatch(template["id"], **({} if hours is None else {"expires_in_hours": hours}))
    viewer = await at_desk(api, "viewer", account=account)
    start = utc_now() - timedelta(hours=1)
    shown = await viewer.read(f"/overview?since={format_timestamp(start)}")
    assert shown["runs"] == {"dispatched": 4, "completed": 1, "open": 3, "expiring": 1, "expired": 0, "flagged": 0}
    soon = format_timestamp(utc_now() + timedelta(hours=24))
    for name, query in (
        ("dispatched", f"created_after={format_timestamp(start)}"),
        ("completed", f"status=completed&completed_after={format_timestamp(start)}"),
        ("open", "status=open"),
        ("expiring", f"status=open&expires_before={soon}"),
        ("expired", f"status=expired&expires_after={format_timestamp(start)}"),
        ("flagged", f"flagged=true&created_after={format_timestamp(start - timedelta(days=6))}"),
    ):
        listed = await viewer.read(f"/runs?{query}")
        assert listed["pagination"]["total"] == shown["runs"][name], name
    assert (shown["failed_deliveries"], shown["failing_endpoints"]["total"]) == (1, 1)
    [endpoint] = shown["failing_endpoints"]["data"]
    assert (endpoint["host"], endpoint["failed"]) == ("hooks.example.com", 1)
    assert endpoint["last_error"]["outcome"] == "http_5xx"
    assert "a-token" not in str(shown)
    [times] = shown["templates"]
    assert times["runs"] == 1
    assert 0 <= times["median_ms"] == times["p90_ms"] < 60_000
    # A success after it: the endpoint no longer fails.
    await story.records(sent(at=utc_now() + timedelta(seconds=1)), seq=2)

    async def is_well() -> bool:
        return bool((await viewer.read("/overview"))["failing_endpoints"]["total"] == 0)

    await eventually(is_well)


async def test_another_organization_sees_nothing_of_it(api: Api) -> None:
    account = await api.make_account()
    story = await completed_story(api, account)
    await story.keeps(*five_failures())
    await account.create_template(name="Secret plan")
    other = await at_desk(api, "admin", account=await api.make_account(), name="Eve Elsewhere")
    shown = await other.read("/overview")
    assert (shown["runs"], shown["templates"], shown["failed_deliveries"]) == (NOTHING, [], 0)
    assert shown["failing_endpoints"] == {"total": 0, "data": []}
    for text in (story.run_id, story.run_id[2:10], "Secret plan", "hooks"):
        found = await other.read(f"/search?q={text}")
        assert (found["runs"], found["templates"]) == ([], [])


async def test_runs_and_templates_are_found_by_what_people_remember_of_them(api: Api) -> None:
    account = await api.make_account()
    template = await account.create_template(name="Fridge check")
    made = await account.dispatch(template["id"], executor_ref="Order 4711/B")
    viewer = await at_desk(api, "viewer", account=account)
    for text in ("4711", "order 4711/b", made["run_id"], made["run_id"][:12], "fridge"):
        [run] = (await viewer.read(f"/search?q={text}"))["runs"]
        assert (run["run_id"], run["executor_ref"], run["status"]) == (made["run_id"], "Order 4711/B", "pending")
    assert (await viewer.read("/search?q=FRIDGE"))["templates"][0]["id"] == template["id"]
    for nothing in (new_id("r"), "no such thing", ""):
        found = await viewer.read(f"/search?q={nothing}")
        assert (found["runs"], found["templates"], found["searched_all"]) == ([], [], True)


async def test_wrong_queries_are_refused(api: Api) -> None:
    viewer = await at_desk(api, "viewer")
    for path in (
        "/search?q=x",
        f"/search?q={'x' * 201}",
        "/overview?since=today",
        "/overview?since=2020-01-01T00:00:00Z",
    ):
        assert error_of(await viewer.get(path)) == (400, "invalid_parameter")
