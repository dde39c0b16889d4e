"""Answers that were given without network: when they were given, and when they arrived (contract section 11)."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.contract.conftest import Api, StartApi
from tests.contract.executor_client import Json, Person, error_of, paths, person_for, step
from tests.contract.pictures import picture
from tests.contract.runs.test_exports import lines, table
from tests.contract.runs.test_pdf import pdf_of, text_of

from checklist_crds.times import format_timestamp, utc_now


class Clock:
    """A clock that a test can set."""

    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now


class Delay:
    """A run that was dispatched half an hour ago."""

    def __init__(self, api: Api, person: Person, clock: Clock) -> None:
        self.api, self.person = api, person
        self.dispatched = clock.now
        clock.now += timedelta(minutes=30)
        self.received = clock.now
        self.times = {"at": self.after(minutes=5), "received_at": format_timestamp(self.received)}
        """Of an answer that was given five minutes after the dispatch."""

    def after(self, **delay: float) -> str:
        return format_timestamp(self.dispatched + timedelta(**delay))


async def delayed(start_api: StartApi, *steps: Json, **settings: Any) -> Delay:
    clock = Clock()
    api = await start_api(clock=clock)
    return Delay(api, await person_for(api, *steps, **settings), clock)


def times(answer: Json) -> Json:
    return {name: answer[name] for name in ("at", "received_at")}


async def test_the_times_of_an_offline_queue_are_those_of_giving_in_reads_events_and_exports(
    start_api: StartApi,
) -> None:
    offline = await delayed(start_api, *(step(f"q{number}") for number in range(12)), step("skip"), allow_skip=True)
    person, api = offline.person, offline.api
    queue: list[Json] = [
        {"type": "answer", "step_id": f"s-q{number}", "value": True, "op_id": f"{number}"}
        | {"given_at": offline.after(minutes=2 * number + 1)}
        for number in range(12)
    ]
    queue.append({"type": "skip", "step_id": "s-skip", "op_id": "12", "given_at": offline.times["at"]})
    results = await person.results(*queue)
    given = [operation["given_at"] for operation in queue[:12]]
    received = offline.times["received_at"]
    assert [times(result["answer"]) for result in results[:12]] == [{"at": at, "received_at": received} for at in given]
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert [run["answers"][f"s-q{number}"]["at"] for number in range(12)] == given
    assert run["started_at"] == given[0]
    assert {answer["received_at"] for answer in (await person.look())["answers"].values()} == {received}
    outbox = (await person.stored())["outbox"]
    assert [json.loads(entry["data"])["at"] for entry in outbox] == [*given, offline.times["at"]]
    assert {json.loads(entry["data"])["received_at"] for entry in outbox} == {received}

    rows = await table(api)
    assert [row["answered_utc"] for row in rows[:12]] == [at[:19].replace("T", " ") for at in given]
    assert {row["received_utc"] for row in rows[:12]} == {received[:19].replace("T", " ")}
    [line] = await lines(api)
    assert times(line["answers"]["s-q0"]) == {"at": given[0], "received_at": received}
    text = " ".join(text_of(await pdf_of(api.http, person.run_id)).split())
    both = [f"{moment[:19].replace('T', ' ')} UTC" for moment in (given[3], received)]
    assert f"{both[0]}, received {both[1]}" in text


async def test_without_its_time_and_online_an_answer_has_one_time_and_takes_no_more_room(start_api: StartApi) -> None:
    offline = await delayed(start_api, step("a"), step("b"), step("c"))
    now = offline.received
    await offline.person.answer("a")
    await offline.person.answer("b", given_at=format_timestamp(now - timedelta(milliseconds=800)))
    await offline.person.answer("c", given_at=None)
    answers = (await offline.person.look())["answers"].values()
    assert [answer["at"] == answer["received_at"] for answer in answers] == [True, True, True]
    stored = (await offline.person.stored())["answers"].values()
    assert {frozenset(answer) for answer in stored} == {frozenset({"value", "at"})}
    document = (await offline.api.http.get(f"/v1/runs/{offline.person.run_id}/export?format=json")).json()
    assert {"received_at" in answer for answer in document["answers"].values()} == {False}, "digests stay the same"


async def test_photos_have_the_time_of_giving_and_their_removal_too(start_api: StartApi) -> None:
    offline = await delayed(start_api, step("shelf", "photo", config={"min": 1, "max": 3}))
    person = offline.person
    for image in (picture(), picture(color="teal")):
        response = await person.upload("shelf", image, given_at=offline.times["at"])
        assert response.status_code == 201, response.text
        assert times(response.json()["answer"]) == offline.times
    removed = await person.take_back("shelf", photo_index=0, given_at=offline.after(minutes=6))
    assert removed.json()["answer"]["at"] == offline.after(minutes=6)
    for response in (
        await person.upload("shelf", picture(), given_at="now"),
        await person.take_back("shelf", given_at="2026-11-21"),
    ):
        assert (error_of(response), paths(response)) == ((400, "invalid_parameter"), ["given_at"])


@pytest.mark.parametrize("given_at", ["yesterday", "2026-11-21T13:50:00", 1_700_000_000, True, "10000-01-01T00:00:00Z"])
async def test_what_is_no_timestamp_is_refused(start_api: StartApi, given_at: Any) -> None:
    person = (await delayed(start_api, step("a"), allow_skip=True)).person
    for response in (await person.answer("a", given_at=given_at), await person.skip("a", given_at=given_at)):
        assert (error_of(response), paths(response)) == ((422, "validation_failed"), ["given_at"])
    batched = {"type": "answer", "step_id": "s-a", "value": True, "op_id": "1", "given_at": given_at}
    [refused] = await person.results(batched)
    assert (refused["status"], refused["details"][0]["path"]) == (422, "given_at")
    assert "answers" not in await person.stored()
