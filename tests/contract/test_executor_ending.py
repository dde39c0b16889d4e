"""Identity, submit and cancel through the executor API, and what a closed run answers (contract sections 5 and 6)."""

import pytest

from .conftest import Api, shared_api
from .executor_client import error_of, paths, person_for, step

api = shared_api

ADA = {"name": "Ada Lovelace", "email": "ada@example.com"}


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


async def test_submit_names_every_gap_and_keeps_the_signature(api: Api) -> None:
    person = await person_for(
        api, step("a", required=True), step("b"), step("c", required=True), signature_on_complete=True
    )
    response = await person.submit()
    assert error_of(response) == (422, "required_steps_missing")
    assert paths(response) == ["s-a", "s-c", "signature"]
    assert (await person.look())["missing_steps"] == ["s-a", "s-c"]
    for name in ("a", "c"):
        await person.answer(name)
    assert (await person.submit(signature={"name": "Ada"})).json()["status"] == "completed"
    view = await person.look()
    assert view["signature"]["name"] == "Ada"
    assert view["completed_at"] is not None


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
