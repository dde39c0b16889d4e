"""Answering, clearing and skipping steps through the executor API (contract sections 3, 4 and 6), also by several
devices at once: nothing is lost, nothing happens twice."""

import asyncio
import json
from typing import Any

from .conftest import Api, StartApi, shared_api
from .executor_client import Person, error_of, paths, person_for, step

api = shared_api

OPTIONS = {"options": [{"id": "o-a", "label": "A"}, {"id": "o-b", "label": "B"}]}
ANSWERS: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("boolean", {}, False, False),
    ("number", {"min": -5, "decimal": 1}, -4.5, -4.5),
    ("multi_choice", OPTIONS, ["o-b", "o-a"], ["o-a", "o-b"]),
    ("text", {"multiline": True}, "two\nlines \N{SNOWMAN}", "two\nlines \N{SNOWMAN}"),
    ("datetime", {}, "2026-11-21T15:50:00+02:00", "2026-11-21T13:50:00.000Z"),
]


async def test_a_step_takes_the_answer_of_its_type_in_its_normal_form(api: Api) -> None:
    steps = [step(kind, kind, config=config) for kind, config, _, _ in ANSWERS]
    person = await person_for(api, *steps)
    for number, (kind, _, given, kept) in enumerate(ANSWERS, 1):
        response = await person.answer(kind, given)
        assert response.status_code == 200, response.text
        change = response.json()
        assert (change["answer"]["value"], change["status"]) == (kept, "in_progress")
        assert change["progress"] == {"total": len(ANSWERS), "answered": number, "skipped": 0}
        assert (change["applicable_steps"], change["replayed"]) == ([one["id"] for one in steps], False)
        assert (await person.look())["answers"][f"s-{kind}"] == change["answer"]
        owners = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
        assert owners["answers"][f"s-{kind}"] == change["answer"]


async def test_a_step_is_answered_answered_again_cleared_and_skipped(api: Api) -> None:
    follow_up = step("why", "text", condition={"when": {"step": "s-a", "op": "eq", "value": False}})
    person = await person_for(api, step("a"), follow_up, step("b", required=True), allow_skip=True)
    refused = await person.answer("why", "x")
    assert (error_of(refused), paths(refused)) == ((422, "answer_invalid"), ["s-why"])
    assert (await person.answer("a", False)).json()["applicable_steps"] == ["s-a", "s-why", "s-b"]
    await person.answer("why", "broken")
    change = (await person.answer("a", True)).json()
    assert (change["answer"]["value"], change["progress"]["total"], change["replayed"]) == (True, 2, False)
    assert (await person.look())["answers"]["s-why"]["value"] == "broken"
    for _ in range(2):
        cleared = (await person.clear("a")).json()
        assert (cleared["progress"]["answered"], cleared["replayed"]) == (0, False)
    skipped = (await person.skip("a")).json()
    assert (skipped["status"], skipped["skipped_steps"]) == ("in_progress", ["s-a"])
    assert skipped["progress"] == {"total": 2, "answered": 0, "skipped": 1}
    assert error_of(await person.skip("b")) == (422, "answer_invalid")
    assert await person.events() == ["step.completed"] * 3 + ["step.skipped"]
    strict = await person_for(api, step("a"))
    assert error_of(await strict.skip("a")) == (422, "answer_invalid")


async def test_an_unknown_step_and_an_instruction_are_not_found(api: Api) -> None:
    person = await person_for(api, step("a"), step("read", "instruction"), allow_skip=True)
    for name in ("unknown", "read", "%20", "a%2Fb"):
        for response in (await person.answer(name), await person.clear(name), await person.skip(name)):
            assert error_of(response) == (404, "not_found")


async def test_all_problems_of_an_answer_are_told_at_once(api: Api) -> None:
    person = await person_for(api, step("a", "number", config={"min": 0}))
    missing = await person.call("PUT", "/answers/s-a", json={"op_id": "1"})
    assert (error_of(missing), paths(missing)) == ((400, "missing_field"), ["value"])
    assert error_of(await person.answer("a", None)) == (422, "answer_invalid")
    response = await person.answer("a", -1, geo={"lat": 91, "lng": "x"}, op_id=5)
    assert error_of(response) == (422, "validation_failed")
    assert sorted(paths(response)) == ["geo.lat", "geo.lng", "op_id", "value"]
    response = await person.answer("a", -1, geo={"lat": 91, "lng": 0})
    assert (error_of(response), sorted(paths(response))) == ((422, "answer_invalid"), ["geo.lat", "value"])
    assert await person.events() == []


BAD_BODIES = [
    *((content, "application/json", (400, "malformed_json")) for content in (b"", b"[]", b'{"value": 1, "value": 2}')),
    (b'{"value": true}', "text/plain", (415, "unsupported_media_type")),
    (b" " * 300_000, "application/json", (413, "payload_too_large")),
]


async def test_a_body_that_is_no_json_object_and_another_method_are_refused(api: Api) -> None:
    person = await person_for(api, step("a"), allow_skip=True)
    for content, media_type, expected in BAD_BODIES:
        headers = {"Content-Type": media_type}
        response = await person.call("PUT", "/answers/s-a", content=content, headers=headers)
        assert error_of(response) == expected, content[:30]
    response = await person.call("PATCH", "/answers/s-a", json={})
    assert error_of(response) == (405, "method_not_allowed")
    assert {"PUT", "DELETE"} <= set(response.headers["Allow"].split(", "))
    # Operations without needed fields take no body at all.
    for operation in ("POST /open", "POST /steps/s-a/skip", "DELETE /answers/s-a", "POST /submit"):
        assert (await person.call(*operation.split())).status_code == 200, operation


async def test_an_answer_sent_again_makes_no_second_event_and_its_op_id_is_for_no_other(api: Api) -> None:
    person = await person_for(api, step("a"), step("b"))
    first = await person.answer("a", op_id="op-1")
    again = await person.answer("a", op_id="op-1")
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == first.json() | {"replayed": True}
    for response in (await person.answer("b", op_id="op-1"), await person.answer("a", False, op_id="op-1")):
        assert error_of(response) == (422, "idempotency_key_reused")
    assert await person.events() == ["step.completed"]
    assert (await person.answer("a")).json()["replayed"] is False
    assert await person.events() == ["step.completed"] * 2


async def test_a_delete_carries_one_good_op_id_in_query_header_or_body(api: Api) -> None:
    person = await person_for(api, step("a"))
    for op_id, given in (
        ("op-1", {"params": {"op_id": "op-1"}}),
        ("op-2", {"headers": {"Op-Id": "op-2"}}),
        ("op-3", {"json": {"op_id": "op-3"}}),
    ):
        await person.answer("a")
        assert (await person.clear("a", **given)).json()["replayed"] is False
        await person.answer("a")
        assert (await person.clear("a", params={"op_id": op_id})).json()["replayed"] is True
        assert list((await person.look())["answers"]) == ["s-a"]
    for bad in ({"params": {"op_id": "x" * 129}}, {"headers": {"Op-Id": "1"}, "params": {"op_id": "2"}}):
        assert error_of(await person.clear("a", **bad)) == (400, "invalid_parameter")
    ambiguous = await person.clear("a", headers={"Op-Id": "1"}, json={"op_id": "2"})
    assert (error_of(ambiguous), paths(ambiguous)) == ((422, "validation_failed"), ["op_id"])


# --- several devices on one run


async def test_fifty_answers_at_once_through_two_processes_are_kept_with_gapless_events(start_api: StartApi) -> None:
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
