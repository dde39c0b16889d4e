"""The month's runs in the dashboard, by day, and the limit in the words of the API."""

from datetime import UTC, datetime, timedelta

from .conftest import Api, StartApi, shared_api
from .dashboard_client import at_desk

api = shared_api


async def test_the_days_of_the_month_add_up_to_what_is_used(start_api: StartApi) -> None:
    now = datetime.now(UTC).replace(day=2, hour=12, minute=0, second=0, microsecond=0)
    api = await start_api(clock=lambda: now)
    desk, template = await at_desk(api, "viewer"), await api.account.create_template()
    for runs in (2, 0, 3):
        for _ in range(runs):
            await api.account.dispatch(template["id"])
        now += timedelta(days=1)
    told = await desk.told("/usage")
    month = now.strftime("%Y-%m")
    used = {"01": 0, "02": 2, "03": 0, "04": 3, "05": 0}
    assert told["by_day"] == [{"day": f"{month}-{day}", "used": number} for day, number in used.items()]
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
