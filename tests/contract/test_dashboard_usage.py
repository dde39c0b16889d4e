"""The month's runs in the dashboard, by day, and the limit in the words of the API."""

from datetime import UTC, datetime, timedelta

from checklist_crds.kube.kinds import ORGANIZATION

from .conftest import Api, StartApi
from .dashboard_client import at_desk


class _Clock:
    """Goes where a test sets it."""

    def __init__(self) -> None:
        now = datetime.now(UTC)
        self.now = now.replace(day=2, hour=12, minute=0, second=0, microsecond=0)

    def __call__(self) -> datetime:
        return self.now


async def test_the_days_of_the_month_add_up_to_what_is_used(start_api: StartApi) -> None:
    clock = _Clock()
    api = await start_api(clock=clock)
    desk, template = await at_desk(api, "viewer"), await api.account.create_template()
    for runs in (2, 0, 3):
        for _ in range(runs):
            await api.account.dispatch(template["id"])
        clock.now += timedelta(days=1)
    told = await desk.told("/usage")
    month = clock.now.strftime("%Y-%m")
    assert told["by_day"] == [
        {"day": f"{month}-01", "used": 0},
        {"day": f"{month}-02", "used": 2},
        {"day": f"{month}-03", "used": 0},
        {"day": f"{month}-04", "used": 3},
        {"day": f"{month}-05", "used": 0},
    ]
    assert (told["used"], told["limit"], told["period"], told["plan"]) == (5, None, month, "default")
    assert told["limit_reached"] is None


async def test_a_reached_limit_is_told_in_the_words_that_a_dispatch_is_refused_with(api: Api) -> None:
    account = await api.make_account(plan={"name": "trial", "runsPerMonth": 1})
    desk = await at_desk(api, "viewer", account=account)
    template = await account.create_template()
    assert (await desk.told("/usage"))["limit_reached"] is None
    await account.dispatch(template["id"])
    refused = await account.http.post("/v1/runs", json={"template_id": template["id"]})
    assert refused.status_code == 402
    body = refused.json()
    body.pop("request_id")
    assert (await desk.told("/usage"))["limit_reached"] == body


async def test_a_count_that_an_older_release_began_is_read_and_goes_on(api: Api) -> None:
    month = datetime.now(UTC).strftime("%Y-%m")
    old = {"quota": {"period": month, "used": 7, "pending": []}}
    await api.kube.patch_status(ORGANIZATION, api.organization, old)
    desk = await at_desk(api, "viewer")
    told = await desk.told("/usage")
    assert (told["used"], sum(day["used"] for day in told["by_day"])) == (7, 0)
    await api.account.new_run()
    told = await desk.told("/usage")
    assert (told["used"], told["by_day"][-1]["used"]) == (8, 1)


async def test_what_is_counted_ahead_for_a_crowd_is_in_no_day(api: Api) -> None:
    import asyncio

    desk, template = await at_desk(api, "viewer"), await api.account.create_template()
    await asyncio.gather(*(api.account.dispatch(template["id"]) for _ in range(40)))
    told = await desk.told("/usage")
    assert (told["used"], sum(day["used"] for day in told["by_day"])) == (40, 40)
