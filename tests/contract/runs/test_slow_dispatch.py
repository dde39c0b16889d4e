"""A replica that is slow, and a caller who asks another one meanwhile: whatever comes first, one run counts as one.

A count that is older than ten seconds is taken over by the next request for the same run, as if its maker were dead.
Here that one is alive, and only slow.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.contract.conftest import Account, Api, StartApi
from tests.contract.runs.test_idempotency import Gate

from checklist_crds.kube.errors import KubeInvalid
from checklist_crds.resources.kinds import ORGANIZATION, RUN
from checklist_crds.times import utc_now

TAKEN_OVER_AFTER = timedelta(seconds=12)
REFUSED_AFTER = timedelta(seconds=26)


def held(api: Api, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """The next creation of a run by `api` waits at the point of being sent, until `go_on`."""
    monkeypatch.setattr(api.services.client, "create", gate := Gate(api.services.client.create))
    return gate


async def refuse(*_: Any) -> Any:
    raise KubeInvalid("not today", status=422)


async def dispatch(account: Account, template: str) -> httpx.Response:
    return await account.http.post("/v1/runs", json={"template_id": template}, headers={"Idempotency-Key": "key-1"})


async def counted(api: Api, *others: Api) -> tuple[int, int, int]:
    """Runs that are counted, those of them that are pending, and runs that exist, when all has been written."""
    for one in (api, *others):
        await one.services.quota.flush(api.organization)
    quota = (await api.kube.get(ORGANIZATION, api.organization))["status"]["quota"]
    return quota["used"], len(quota["pending"]), len(await api.all_of(RUN))


async def test_the_slow_one_takes_no_count_back_that_is_another_s_by_now(
    start_api: StartApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = utc_now()
    slow, quick = await start_api(clock=lambda: now), await start_api(clock=lambda: now)
    template = (await slow.account.create_template())["id"]
    gate = held(slow, monkeypatch)
    first = asyncio.create_task(dispatch(slow.account, template))
    await gate.reached.wait()
    now += TAKEN_OVER_AFTER
    confirmed: list[Callable[[], None]] = []
    confirm = quick.services.quota.confirm
    monkeypatch.setattr(quick.services.quota, "confirm", lambda *which: confirmed.append(lambda: confirm(*which)))
    second = await dispatch(quick.account, template)
    assert second.status_code == 201
    gate.go_on.set()
    assert (await first).json() == second.json()
    assert await counted(slow, quick) == (1, 1, 1), "the replica that made the run has not confirmed it yet"
    for confirm_now in confirmed:
        confirm_now()
    assert await counted(slow, quick) == (1, 0, 1)


async def test_a_failed_takeover_keeps_the_count(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    now = utc_now()
    slow, refused = await start_api(clock=lambda: now), await start_api(clock=lambda: now)
    template = (await slow.account.create_template())["id"]
    monkeypatch.setattr(refused.services.client, "create", refuse)
    assert (await dispatch(refused.account, template)).status_code == 500
    assert await counted(refused) == (0, 0, 0), "what the cluster refuses is not counted"
    gate = held(slow, monkeypatch)
    first = asyncio.create_task(dispatch(slow.account, template))
    await gate.reached.wait()
    now += TAKEN_OVER_AFTER
    assert (await dispatch(refused.account, template)).status_code == 500
    await refused.services.quota.flush(slow.organization)
    gate.go_on.set()
    assert (await first).status_code == 201
    assert await counted(slow, refused) == (1, 0, 1)


async def test_no_run_is_made_without_its_count(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    now = utc_now()
    api = await start_api(clock=lambda: now)
    template = (await api.account.create_template())["id"]
    ensure = api.services.dispatcher._revisions.ensure

    async def slowly(*given: Any) -> None:
        nonlocal now
        await ensure(*given)
        now += REFUSED_AFTER

    monkeypatch.setattr(api.services.dispatcher._revisions, "ensure", slowly)
    response = await dispatch(api.account, template)
    assert (response.status_code, response.json()["error"]) == (503, "service_unavailable")
    assert await counted(api) == (0, 0, 0)
    monkeypatch.setattr(api.services.dispatcher._revisions, "ensure", ensure)
    assert (await dispatch(api.account, template)).status_code == 201
    assert await counted(api) == (1, 0, 1)
