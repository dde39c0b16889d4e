"""Several operations in one request (contract section 6): the same as singly, in one write."""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from tests.contract.conftest import Api, StartApi, shared_api
from tests.contract.executor_client import Json, Person, error_of, paths, person_for, step

from checklist_api.executor.models import MAX_BATCH
from checklist_api.http.json_body import MAX_BODY_BYTES
from checklist_crds.kube.errors import KubeOutcomeUnknown
from checklist_crds.resources.kinds import RUN
from checklist_crds.runs import batch as run_batch

api = shared_api
ADA = {"name": "Ada Lovelace", "email": "ada@example.com"}
_numbers = itertools.count(1)


def operation(kind: str, name: str | None = None, /, **members: Any) -> Json:
    of_step = {} if name is None else {"step_id": f"s-{name}"}
    return {"type": kind, "op_id": f"op-{next(_numbers)}"} | of_step | members


async def singly(person: Person, each: Json) -> tuple[int, Json]:
    """The operation as its own request; status and its result."""
    method, path = {
        "answer": ("PUT", f"/answers/{each.get('step_id')}"),
        "clear": ("DELETE", f"/answers/{each.get('step_id')}"),
        "skip": ("POST", f"/steps/{each.get('step_id')}/skip"),
    }.get(each["type"], ("PUT" if each["type"] == "identity" else "POST", f"/{each['type']}"))
    members = {name: value for name, value in each.items() if name not in ("type", "step_id")}
    response = await person.call(method, path, json=members)
    kept = ("error", "message", "details") if response.status_code >= 400 else ("replayed",)
    return response.status_code, {name: value for name, value in response.json().items() if name in kept}


def results_of(results: Sequence[Json]) -> list[tuple[int, Json]]:
    return [
        (each["status"], {k: v for k, v in each.items() if k not in ("op_id", "status", "answer")}) for each in results
    ]


async def story(person: Person) -> list[Any]:
    """What the run has become, and its events, without what differs from run to run."""
    stored = await person.stored()
    answers = {step: (answer["value"], answer["revision"]) for step, answer in stored["answers"].items()}
    events = []
    for entry in stored["outbox"]:
        data = json.loads(entry["data"]) if "data" in entry else {}
        events.append((entry["seq"], entry["event"], {**data, "at": None}))
    names = ("phase", "progress", "skippedSteps", "operations", "identity", "signature", "cancelReason", "seq")
    state = {name: stored.get(name) for name in names}
    return [answers, events, state | {"signature": (state["signature"] or {}).get("name")}]


STORY = (
    operation("answer", "ok", value=False),  # the identity is missing yet
    operation("identity", **ADA),
    operation("identity", name=" ", email="nowhere"),
    operation("answer", "ok", value=False),
    operation("answer", "why", value="mould"),
    operation("answer", "why", value=5, geo={"lat": 91, "lng": 0}),
    operation("answer", "why"),
    operation("answer", "temp", value=99),
    operation("answer", "temp", value=4, geo={"lat": 1, "lng": 2}),
    operation("skip", "why"),
    operation("skip", "ok"),
    operation("answer", "nowhere", value=1),
    operation("clear", "temp"),
    operation("answer", "temp", value=5),
    operation("submit"),
    operation("answer", "ok", value=True),
    operation("answer", "why", value="does not apply now"),
    operation("submit", signature={"name": "Ada"}),
    operation("answer", "temp", value=6),
    operation("cancel", reason="late"),
)


async def for_the_story(api: Api) -> Person:
    why = step("why", "text", condition={"when": {"step": "s-ok", "op": "eq", "value": False}})
    steps = (step("ok", required=True), why, step("temp", "number", config={"max": 50}))
    return await person_for(api, *steps, identity="external", allow_skip=True, signature_on_complete=True)


@pytest.mark.parametrize("before", [0, 9, len(STORY)])
async def test_a_batch_does_what_its_operations_do_singly_also_when_some_of_them_came_before(
    api: Api, before: int
) -> None:
    one, other = await for_the_story(api), await for_the_story(api)
    for person in (one, other):
        for each in STORY[:before]:
            await singly(person, each)
    expected = [await singly(one, each) for each in STORY]
    assert results_of(await other.results(*STORY)) == expected
    assert await story(other) == await story(one)
    assert {200, 400, 409, 422} <= {status for status, _ in expected}
    # Sent again, it changes nothing.
    done = await other.stored()
    again = await other.results(*STORY)
    assert all(each["replayed"] for each in again if each["status"] == 200)
    assert await other.stored() == done


async def test_the_answer_tells_the_state_after_all_of_it_and_the_answers_as_they_are_kept(api: Api) -> None:
    person = await person_for(api, step("a"), step("b", "number"), step("c"), allow_skip=True)
    asked = (operation("answer", "a", value=True), operation("answer", "b", value=1), operation("clear", "a"))
    answer = (await person.batch(*asked, operation("answer", "b", value=2), operation("skip", "c"))).json()
    kept = (await person.look())["answers"]["s-b"]
    assert [each["answer"] for each in answer.pop("results")] == [None, kept, None, kept, None]
    view = await person.look()
    assert answer == {name: view[name] for name in answer}
    assert (kept["value"], answer["progress"]) == (2, {"total": 3, "answered": 1, "skipped": 1})


async def test_forty_answers_are_one_write_and_very_large_ones_a_few(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [step(str(number), "text", config={"multiline": True}) for number in range(40)]
    client, patch_status = api.services.client, api.services.client.json_patch_status
    writes: list[str] = []

    async def counted(*given: Any, **named: Any) -> Any:
        writes.append(given[0].plural)
        return await patch_status(*given, **named)

    monkeypatch.setattr(client, "json_patch_status", counted)
    for text, most in (("short", 1), ("x" * 4_000, 3)):
        person = await person_for(api, *steps)
        asked = [operation("answer", str(number), value=text) for number in range(40)]
        writes.clear()
        assert {each["status"] for each in await person.results(*asked)} == {200}
        assert 1 <= writes.count(RUN.plural) <= most
        assert (text == "short") == (writes.count(RUN.plural) == 1)
        assert [entry["seq"] for entry in (await person.stored())["outbox"]] == list(range(1, 41))


async def test_of_a_batch_whose_second_write_fails_the_first_is_kept_and_the_rest_done_at_the_next_try(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = await person_for(api, *(step(str(number), "text") for number in range(4)))
    asked = [operation("answer", str(number), value="x" * 400) for number in range(4)]
    monkeypatch.setattr(run_batch.decide_in_turn, "__kwdefaults__", {"max_added": 2_000})
    client, patch_status, runs = api.services.client, api.services.client.json_patch_status, 0

    async def second_fails(kind: Any, *given: Any, **named: Any) -> Any:
        nonlocal runs
        runs += kind is RUN
        if kind is RUN and runs == 2:
            raise KubeOutcomeUnknown("gone")
        return await patch_status(kind, *given, **named)

    monkeypatch.setattr(client, "json_patch_status", second_fails)
    response = await person.batch(*asked)
    assert error_of(response) == (503, "service_unavailable")
    assert response.json()["details"][0]["code"] == "outcome_unknown"
    there = len((await person.stored())["answers"])
    assert 0 < there < 4
    assert [each["replayed"] for each in await person.results(*asked)] == [True] * there + [False] * (4 - there)
    assert await person.events() == ["step.completed"] * 4


async def test_batches_and_single_operations_that_come_at_once_do_everything_once(start_api: StartApi) -> None:
    apis = [await start_api(), await start_api()]
    person = await person_for(apis[0], *(step(str(number), "number") for number in range(8)))
    people = [Person(person.run_id, api, person.token) for api in apis]
    asked = [operation("answer", str(number), value=number) for number in range(8)]
    await asyncio.gather(*(each.batch(*asked) for each in people * 2), *(singly(people[1], each) for each in asked))
    assert Counter(await person.events()) == {"step.completed": 8}
    assert [each["replayed"] for each in await person.results(*asked)] == [True] * 8


async def test_what_is_no_batch_of_operations_is_refused_whole_with_every_problem(api: Api) -> None:
    person = await person_for(api, step("a"))
    missing = await person.call("POST", "/operations", json={})
    assert (error_of(missing), paths(missing)) == ((400, "missing_field"), ["operations"])
    good = operation("answer", "a", value=True)
    for wrong in ("x", None, {}, [], [good] * (MAX_BATCH + 1)):
        response = await person.call("POST", "/operations", json={"operations": wrong})
        assert (error_of(response), paths(response)) == ((422, "validation_failed"), ["operations"])
    several = [good, 5, {}, good | {"op_id": "x" * 129, "step_id": 7}, {**good, "type": "photo"}, {**good, "type": {}}]
    response = await person.batch(*several)  # type: ignore[arg-type]
    assert error_of(response) == (422, "validation_failed")
    assert paths(response) == [
        *("operations[1]", "operations[2].op_id", "operations[2].type", "operations[3].op_id", "operations[3].step_id"),
        *("operations[4].type", "operations[5].type"),
    ]
    large = await person.batch(good, operation("answer", "a", value="x" * MAX_BODY_BYTES))
    assert error_of(large) == (413, "payload_too_large")
    assert await person.events() == []
    assert len(await person.results(*[good] * MAX_BATCH)) == MAX_BATCH


async def test_a_batch_counts_as_many_requests_of_the_run_as_it_has_operations(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RUN_RATE_LIMIT="1/h burst 12", CHECKLISTS_ADDRESS_RATE_LIMIT="1/h burst 9")
    person = await person_for(api, step("a"))
    asked = [operation("answer", "a", value=True) for _ in range(5)]
    assert [(await person.batch(*asked)).status_code for _ in range(3)] == [200, 200, 429]
    assert [(await person.answer("a")).status_code for _ in range(3)] == [200, 200, 429]
    other = await person_for(api, step("a"))
    # More than a run may ever send at once are as many as it may; a body that is no batch is one request.
    assert (await other.batch(*asked * 4)).status_code == 200
    assert (await other.call("POST", "/operations", json={})).status_code == 429
    # Each of these eight requests counted once for the address, and so do the ones that are refused.
    assert [(await other.call("GET")).status_code for _ in range(2)] == [429, 429]
