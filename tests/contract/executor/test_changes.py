"""Waiting for changes of a run: how the page learns at once what another device did."""

import asyncio
import time

import httpx
import pytest
from tests.contract.conftest import Api, StartApi, shared_api
from tests.contract.executor_client import Person, error_of, paths, person_for, step
from tests.waiting import eventually

from checklist_crds.kube.run_store import RunStore

api = shared_api

WAIT_S = 30


async def waits(person: Person, after: int, wait: int = WAIT_S) -> httpx.Response:
    return await person.call("GET", "/changes", params={"after": after, "wait": wait}, timeout=WAIT_S + 20)


async def changes(response: httpx.Response) -> int:
    assert response.status_code == 200, response.text
    body = response.json()
    assert set(body) == {"run_id", "changes"}
    return int(body["changes"])


async def test_the_number_of_changes_grows_with_each_and_is_in_every_answer(api: Api) -> None:
    person = await person_for(api, step("a"), step("b"))
    assert (await person.look())["changes"] == 0
    assert (await person.answer("a")).json()["changes"] == 1
    assert (await person.answer("a", op_id="1")).json()["changes"] == 2
    assert (await person.answer("a", op_id="1")).json()["changes"] == 2
    answer = {"type": "answer", "value": True}
    batch = await person.batch(*(answer | {"step_id": f"s-{name}", "op_id": name} for name in "ab"))
    assert batch.json()["changes"] == (await person.look())["changes"] == 3
    assert await changes(await waits(person, 2)) == 3
    assert await changes(await waits(person, 3, wait=0)) == 3


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_reader_learns_of_a_change_through_any_replica(start_api: StartApi, elsewhere: bool) -> None:
    one = await start_api()
    other = await start_api() if elsewhere else one
    person = await person_for(one, step("a"))
    device = Person(person.run_id, other, person.token)
    await eventually(lambda: other.services.index.owners_of(person.run_id))
    waiting = asyncio.create_task(waits(device, 0))
    await eventually(lambda: other.services.run_changes.readers == 1)
    assert not waiting.done()
    began = time.monotonic()
    await person.answer("a")
    assert await changes(await waiting) == 1
    assert time.monotonic() - began < WAIT_S / 2, "it did not wait to the end"
    waiting = asyncio.create_task(waits(device, 1))
    await eventually(lambda: other.services.run_changes.readers == 1)
    await person.submit()
    assert await changes(await waiting) == 2


async def test_waiting_again_reads_nothing_from_the_cluster(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    person = await person_for(api, step("a"))
    assert await changes(await waits(person, 0, wait=0)) == 0

    async def read(*_: object) -> None:
        raise AssertionError("read the cluster")

    monkeypatch.setattr(RunStore, "get", read)
    for _ in range(3):
        assert await changes(await waits(person, 0, wait=0)) == 0


async def test_the_time_of_waiting_is_not_counted_as_time_to_answer(api: Api) -> None:
    person = await person_for(api, step("a"))
    assert await changes(await waits(person, 0, wait=1)) == 0
    text = api.services.metrics.as_text().decode()
    [total] = [
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith('checklists_http_request_seconds_sum{route="/v1/executor/runs/{run_id}/changes"')
    ]
    assert total < 1


async def test_a_reader_that_disconnects_gives_its_place_back_at_once(api: Api) -> None:
    person = await person_for(api, step("a"))
    staying, leaving = (asyncio.create_task(waits(person, 0)) for _ in range(2))
    await eventually(lambda: api.services.run_changes.readers == 2)
    leaving.cancel()
    await eventually(lambda: api.services.run_changes.readers == 1, within_s=WAIT_S / 2)
    assert not staying.done()
    await person.answer("a")
    assert await changes(await staying) == 1


async def test_a_wrong_query_and_a_wrong_token_are_refused(api: Api) -> None:
    person = await person_for(api, step("a"))
    for query in ({"wait": "61"}, {"wait": "-1"}, {"after": "x"}, {"wait": "1.5"}):
        response = await person.call("GET", "/changes", params=query)
        assert (error_of(response), paths(response)) == ((400, "invalid_parameter"), [*query])
    stranger = Person(person.run_id, api, "x" * 43)
    assert error_of(await waits(stranger, 0, wait=0)) == (401, "unauthorized")
    member = await person_for(api, step("a"), identity="member")
    for _ in range(2):
        assert error_of(await waits(member, 0, wait=0)) == (401, "sign_in_required")
