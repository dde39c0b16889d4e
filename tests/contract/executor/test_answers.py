"""Answering a run through the executor API to its end (contract sections 3 to 6), also by several devices at once:
nothing is lost, nothing happens twice."""

import asyncio
import json
from typing import Any

import pytest
from tests.contract.conftest import Api, shared_api
from tests.contract.executor_client import error_of, paths, person_for, step

api = shared_api

ADA = {"name": "Ada Lovelace", "email": "ada@example.com"}

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


async def test_a_run_that_is_full_of_marks_can_be_submitted(api: Api) -> None:
    """The Kubernetes API stores each of them as six characters, and etcd takes 1.5 MiB."""
    person = await person_for(api, *(step(f"{number}", "text", config={"multiline": True}) for number in range(40)))
    answers = [await person.answer(f"{number}", "<" * 4000, note="&" * 2000) for number in range(40)]
    assert [answer.status_code for answer in answers] == sorted(answer.status_code for answer in answers)
    assert {answer.status_code for answer in answers[1:10]} == {200}
    refused = {error_of(answer) for answer in answers if answer.status_code != 200}
    assert refused <= {(422, "answer_invalid"), (503, "service_unavailable")} and refused
    assert not any("outcome_unknown" in answer.text for answer in answers), "we refuse it, not etcd"
    assert (await person.submit()).status_code == 200


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
    strict = await person_for(api, step("a"), step("read", "instruction"))
    assert error_of(await strict.skip("a")) == (422, "answer_invalid")
    for who, name in ((person, "unknown"), (person, "%20"), (person, "a%2Fb"), (strict, "read")):
        for response in (await who.answer(name), await who.clear(name)):
            assert error_of(response) == (404, "not_found")
    assert error_of(await person.skip("unknown")) == (404, "not_found")


async def test_a_body_that_is_no_json_object_and_another_method_are_refused(api: Api) -> None:
    person = await person_for(api, step("a"), allow_skip=True)
    # The others: tests/contract/service/test_requests.py.
    for media_type, expected in (
        ("application/json", (400, "malformed_json")),
        ("text/plain", (415, "unsupported_media_type")),
    ):
        response = await person.call("PUT", "/answers/s-a", content=b"[]", headers={"Content-Type": media_type})
        assert error_of(response) == expected
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
    # A delete carries its op_id in query, header or body.
    for op_id, given in (
        ("op-2", {"params": {"op_id": "op-2"}}),
        ("op-3", {"headers": {"Op-Id": "op-3"}}),
        ("op-4", {"json": {"op_id": "op-4"}}),
    ):
        await person.answer("a")
        assert (await person.clear("a", **given)).json()["replayed"] is False
        assert (await person.clear("a", params={"op_id": op_id})).json()["replayed"] is True
    differing = await person.clear("a", headers={"Op-Id": "1"}, params={"op_id": "2"})
    assert error_of(differing) == (400, "invalid_parameter")


# --- identity, submit and cancel, and what a closed run answers (contract sections 5 and 6)


async def test_an_external_executor_and_no_other_says_who_they_are_first(api: Api) -> None:
    person = await person_for(api, step("a"), identity="external")
    assert (await person.look())["executor_identity"] == {"mode": "external", "name": None, "email": None}
    refused = await person.answer("a")
    assert (error_of(refused), paths(refused)) == ((422, "validation_failed"), ["identity"])
    missing = await person.call("PUT", "/identity", json={})
    assert (error_of(missing), paths(missing)) == ((400, "missing_field"), ["name", "email"])
    wrong = await person.call("PUT", "/identity", json={"name": " ", "email": "x", "op_id": 1})
    assert sorted(paths(wrong)) == ["email", "name", "op_id"]
    response = await person.call("PUT", "/identity", json=ADA)
    assert (response.status_code, response.json()["status"]) == (200, "pending")
    assert (await person.answer("a")).status_code == 200
    owners = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert owners["executor_identity"] == {"mode": "external", **ADA}
    anonymous = await person_for(api, step("a"))
    assert error_of(await anonymous.call("PUT", "/identity", json=ADA)) == (422, "validation_failed")


@pytest.mark.parametrize("end", ["submit", "cancel", "owner"])
async def test_a_closed_run_takes_no_more_changes_but_shows_its_receipt(api: Api, end: str) -> None:
    person = await person_for(api, step("a"), identity="external", allow_skip=True)
    await person.call("PUT", "/identity", json=ADA)
    await person.answer("a", op_id="1")
    path, status = f"/v1/runs/{person.run_id}", "completed" if end == "submit" else "cancelled"
    finish = {
        "submit": lambda: person.submit(op_id="2"),
        "cancel": lambda: person.cancel(op_id="2", reason=" wrong kitchen "),
        "owner": lambda: api.http.post(f"{path}/cancel"),
    }[end]
    assert (await finish()).status_code == 200
    refusals = [
        await person.answer("a", False),
        await person.clear("a"),
        await person.skip("a"),
        await person.submit(op_id="3"),
        await person.cancel(),
        await person.call("PUT", "/identity", json=ADA),
    ]
    assert {error_of(response) for response in refusals} == {(409, "run_closed")}
    view = await person.look()
    assert (view["status"], view["answers"]["s-a"]["value"]) == (status, True)
    owners = (await api.http.get(path)).json()
    assert (owners["status"], list(owners["answers"])) == (status, ["s-a"])
    reasons = {"submit": None, "cancel": "wrong kitchen", "owner": "cancelled_by_owner"}
    assert owners["cancel_reason"] == reasons[end]
    assert (await person.call("POST", "/open")).status_code == 200
    # What was accepted before the end may be sent again after it.
    assert (await person.answer("a", op_id="1")).json()["replayed"] is True
    assert end == "owner" or (await finish()).json()["replayed"] is True
    assert await person.events() == ["step.completed", f"run.{status}"]


# --- several devices on one run


async def test_one_operation_sent_often_at_once_happens_once_the_last_answer_stays_and_the_first_submit_wins(
    api: Api,
) -> None:
    person = await person_for(api, step("a", "number"))
    responses = await asyncio.gather(*(person.answer("a", 7, op_id="same") for _ in range(10)))
    assert [response.status_code for response in responses] == [200] * 10
    assert sum(not response.json()["replayed"] for response in responses) == 1
    assert await person.events() == ["step.completed"]
    await asyncio.gather(*(person.answer("a", number) for number in range(5)))
    sent = [json.loads(entry["data"]) for entry in (await person.stored())["outbox"]]
    assert [each["revision"] for each in sent] == [1, 2, 3, 4, 5, 6]
    assert (await person.look())["answers"]["s-a"]["value"] == sent[-1]["value"]
    ends = await asyncio.gather(*(person.submit(op_id=str(number)) for number in range(8)), person.cancel())
    assert sorted(response.status_code for response in ends) == [200] + [409] * 8
    assert len(await person.events()) == 7
