"""`GET /v1/runs/{run_id}?wait=N`: the answer comes with the end of the run, on every replica."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract.conftest import Account, Api, StartApi, http_client, shared_api
from tests.contract.executor_client import error_of
from tests.contract.own_process import own_process
from tests.waiting import eventually

from checklist_api.runs import waiting
from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import API_KEY, RUN
from checklist_crds.runs.commands import AnswerStep, Cancel, Submit
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_dev.local.controlplane import ControlPlane

api = shared_api

ANSWER = AnswerStep(step_id="s-clean", value=True)


def wait_for(http: httpx.AsyncClient, run_id: str, seconds: Any = 60) -> Awaitable[httpx.Response]:
    return http.get(f"/v1/runs/{run_id}", params={"wait": seconds}, timeout=90)


@asynccontextmanager
async def one_waits(
    api: Api, run_id: str, seconds: int = 60, *, account: Account | None = None
) -> AsyncIterator["asyncio.Task[httpx.Response]"]:
    """A request that waits in this process when the block begins."""
    before = len(api.services.run_waits)
    request = asyncio.ensure_future(wait_for((account or api.account).http, run_id, seconds))
    try:
        await eventually(lambda: is_so(len(api.services.run_waits) == before + 1))
        yield request
    finally:
        request.cancel()


async def is_so(holds: bool) -> bool:
    return holds


async def metric(api: Api, pattern: str) -> float:
    """The sum of the samples whose name and labels match."""
    text = (await api.anonymous.get("/metrics")).text
    found = re.findall(rf"^{pattern} (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))


@pytest.mark.parametrize("given", ["0", "61", "-1", "1.5", "thirty", "", "+5", "٣", "9" * 40, ["1", "2"]])
async def test_another_wait_than_1_to_60_is_refused(api: Api, given: str | list[str]) -> None:
    run_id = await api.account.new_run()
    response = await wait_for(api.http, run_id, given)
    assert error_of(response) == (400, "invalid_parameter")
    assert response.json()["details"][0]["path"] == "wait"


async def test_a_run_that_has_ended_or_is_not_there_is_answered_at_once(api: Api) -> None:
    ended = await api.account.new_run()
    await api.does(ended, Cancel(reason="enough"))
    foreign = await (await api.make_account()).new_run()
    async with asyncio.timeout(45):  # of the 60 that they would wait
        assert (await wait_for(api.http, ended)).json()["status"] == "cancelled"
        for run_id in (new_id("r"), foreign, "nonsense"):
            response = await wait_for(api.http, run_id)
            assert error_of(response) == (404, "run_not_found")


async def test_after_the_time_the_answer_is_the_run_as_it_is_then(api: Api) -> None:
    run_id = await api.account.new_run()
    async with one_waits(api, run_id, 2) as request:
        await api.does(run_id, ANSWER)
        run = (await request).json()
    assert (run["status"], run["answers"]["s-clean"]["value"]) == ("in_progress", True)
    assert len(api.services.run_waits) == 0


async def test_every_end_of_a_run_ends_the_wait_on_every_replica(start_api: StartApi) -> None:
    one, other = await start_api(), await start_api()
    ends: dict[str, Callable[[str], Awaitable[None]]] = {
        "completed": lambda run_id: one.does(run_id, ANSWER, Submit()),
        "cancelled": lambda run_id: one.does(run_id, Cancel(reason="enough")),
    }
    for status, end in ends.items():
        run_id = await one.account.new_run()
        async with one_waits(one, run_id) as here, one_waits(other, run_id) as there:
            await end(run_id)
            async with asyncio.timeout(45):
                answers = await asyncio.gather(here, there)
        assert [answer.json()["status"] for answer in answers] == [status, status]
        assert answers[0].json() == answers[1].json()


async def test_a_run_that_another_replica_made_a_moment_ago_can_be_waited_for_at_once(start_api: StartApi) -> None:
    one, other = await start_api(), await start_api()
    template = (await one.account.create_template())["id"]
    for _ in range(5):
        run_id = (await one.account.dispatch(template))["run_id"]
        async with one_waits(other, run_id) as request:
            await one.does(run_id, Cancel(reason="enough"))
            async with asyncio.timeout(45):
                assert (await request).json()["status"] == "cancelled"


async def test_a_run_ends_the_wait_when_it_expires_without_any_operator(api: Api) -> None:
    run_id = await api.account.new_run(expires_in_hours=2 / 3600)
    async with asyncio.timeout(45):
        response = await wait_for(api.http, run_id)
    assert (response.status_code, response.json()["status"]) == (200, "expired")


async def test_a_run_that_is_deleted_meanwhile_is_not_found(api: Api) -> None:
    run_id = await api.account.new_run()
    async with one_waits(api, run_id) as request:
        await api.kube.delete(RUN, run_id, api.namespace)
        async with asyncio.timeout(45):
            response = await request
    assert error_of(response) == (404, "run_not_found")


async def test_a_wait_counts_once_reads_the_run_once_and_is_no_time_to_answer(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RATE_LIMIT="1/s burst 1000")
    of_route = re.escape('checklists_http_request_seconds_sum{route="/v1/runs/{run_id}"}')
    run_id = await api.account.new_run()
    await eventually(lambda: is_so(bool(api.services.index.owners_of(run_id))))
    counted: list[str] = []
    wait_for_turn = api.services._limiter.wait_for

    async def count(subject: str, *given: Any) -> float:
        counted.append(subject)
        return float(await wait_for_turn(subject, *given))

    api.services._limiter.wait_for = count  # type: ignore[method-assign]
    calls: list[tuple[str, str]] = []
    call = api.services.client._call

    async def note(method: str, path: str, **given: Any) -> Any:
        if "/runs" in path:  # the dispatch still confirms what it used of the quota
            calls.append((method, path.rpartition("/")[2]))
        return await call(method, path, **given)

    api.services.client._call = note  # type: ignore[method-assign]
    began = time.monotonic()
    response = await wait_for(api.http, run_id, 3)
    took_s = time.monotonic() - began
    assert (response.status_code, response.json()["status"]) == (200, "pending")
    assert counted == [f"key:{digest(api.account.key)}"]
    assert calls == [("GET", run_id)]
    assert 0 < await metric(api, of_route) < took_s - 2.9, "three seconds of it were waited"


async def test_a_caller_that_goes_away_waits_no_longer(api: Api) -> None:
    run_id = await api.account.new_run()
    async with http_client(api.base_url, api.account.key) as http:
        request = asyncio.ensure_future(wait_for(http, run_id))
        await eventually(lambda: is_so(len(api.services.run_waits) == 1))
        assert await metric(api, "checklists_run_waits") == 1
        request.cancel()
    await eventually(lambda: is_so(len(api.services.run_waits) == 0))
    assert await metric(api, "checklists_run_waits") == 0


async def test_a_key_that_is_revoked_meanwhile_reads_nothing(api: Api) -> None:
    account = await api.make_account()
    run_id = await account.new_run()
    async with one_waits(api, run_id, account=account) as request:
        name = api_keys.object_name(digest(account.key))
        await api.kube.patch(API_KEY, name, {"spec": {"revoked": True}}, account.namespace)
        await eventually(lambda: is_so(api.services.keys.known(digest(account.key)) is None))
        await api.does(run_id, Cancel(reason="enough"))
        async with asyncio.timeout(45):
            response = await request
    assert error_of(response) == (401, "unauthorized")


async def test_what_happens_to_another_run_or_to_the_run_without_an_end_wakes_no_waiter(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, other = await api.account.new_run(), await api.account.new_run()
    woken: list[waiting._Waiter] = []

    def note(waiter: waiting._Waiter) -> None:
        woken.append(waiter)

    monkeypatch.setattr(waiting._Waiter, "wake", note)
    async with one_waits(api, run_id):
        await api.does(other, ANSWER, Submit())
        await api.does(run_id, ANSWER)
        assert woken == []
        await api.does(run_id, Submit())
        assert woken


async def test_too_many_waits_of_an_organization_or_of_all_are_refused(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await api.make_account()
    run_id, foreign = await api.account.new_run(), await other.new_run()
    monkeypatch.setattr(waiting, "WAITS_OF_AN_ORGANIZATION", 1)
    async with one_waits(api, run_id):
        response = await wait_for(api.http, run_id)
        assert error_of(response) == (429, "rate_limited")
        assert int(response.headers["Retry-After"]) >= 1
        async with one_waits(api, foreign, account=other):
            monkeypatch.setattr(waiting, "WAITS_OF_A_PROCESS", 2)
            monkeypatch.setattr(waiting, "WAITS_OF_AN_ORGANIZATION", 10)
            response = await wait_for(api.http, run_id)
            assert error_of(response) == (503, "service_unavailable")
            assert int(response.headers["Retry-After"]) >= 1
    await eventually(lambda: is_so(len(api.services.run_waits) == 0))


async def test_a_process_that_is_stopped_answers_those_who_wait(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    run_id = await api.account.new_run()
    async with own_process(api, control_plane, tmp_path) as (program, http):
        requests = [asyncio.ensure_future(wait_for(http, run_id)) for _ in range(3)]

        async def all_wait() -> bool:
            return "checklists_run_waits 3.0" in (await http.get("/metrics")).text

        await eventually(all_wait)
        await asyncio.to_thread(program.child.stop)
        for response in await asyncio.gather(*requests):
            assert (response.status_code, response.json()["status"]) == (200, "pending")
            assert response.headers["Connection"] == "close"
