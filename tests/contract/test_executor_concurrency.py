"""Several devices on one run: nothing is lost, nothing happens twice (contract section 6)."""

import asyncio
import json

from .conftest import Api, StartApi, shared_api
from .executor_client import Person, person_for, step

api = shared_api


async def test_fifty_answers_at_once_through_two_processes_are_all_kept_with_gapless_events(
    start_api: StartApi,
) -> None:
    first, second = await start_api(), await start_api()
    one = await person_for(first, *(step(str(number)) for number in range(50)))
    two = Person(one.run_id, second, one.token)
    responses = await asyncio.gather(
        *((one, two)[number % 2].answer(str(number), op_id=f"op-{number}") for number in range(50))
    )
    assert [response.status_code for response in responses] == [200] * 50
    stored = await one.stored()
    assert len(stored["answers"]) == 50
    assert [entry["seq"] for entry in stored["outbox"]] == list(range(1, 51))
    assert len({entry["eventId"] for entry in stored["outbox"]}) == 50
    assert stored["progress"] == {"total": 50, "answered": 50, "skipped": 0}


async def test_one_operation_sent_ten_times_at_once_happens_once(api: Api) -> None:
    person = await person_for(api, step("a"))
    responses = await asyncio.gather(*(person.answer("a", op_id="same") for _ in range(10)))
    assert [response.status_code for response in responses] == [200] * 10
    assert sum(not response.json()["replayed"] for response in responses) == 1
    assert await person.events() == ["step.completed"]


async def test_the_first_submit_wins(api: Api) -> None:
    person = await person_for(api, step("a"))
    responses = await asyncio.gather(*(person.submit(op_id=str(number)) for number in range(8)), person.cancel())
    assert sorted(response.status_code for response in responses) == [200] + [409] * 8
    assert len(await person.events()) == 1


async def test_answers_at_once_to_one_step_leave_the_last_and_tell_all(api: Api) -> None:
    person = await person_for(api, step("a", "number"))
    await asyncio.gather(*(person.answer("a", number) for number in range(6)))
    told = [json.loads(entry["data"]) for entry in (await person.stored())["outbox"]]
    assert [each["revision"] for each in told] == [1, 2, 3, 4, 5, 6]
    assert (await person.look())["answers"]["s-a"]["value"] == told[-1]["value"]
