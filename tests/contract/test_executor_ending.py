"""Identity, submit and cancel through the executor API, and what a closed run answers (contract sections 5 and 6)."""

import pytest

from .conftest import Api
from .executor_client import error_of, paths, person_for, step

ADA = {"name": "Ada Lovelace", "email": "ada@example.com"}


async def test_an_external_executor_says_who_they_are_first(api: Api) -> None:
    person = await person_for(api, step("a"), identity="external")
    assert (await person.look())["executor_identity"] == {"mode": "external", "name": None, "email": None}
    refused = await person.answer("a")
    assert (error_of(refused), paths(refused)) == ((422, "validation_failed"), ["identity"])
    response = await person.call("PUT", "/identity", json=ADA)
    assert (response.status_code, response.json()["status"]) == (200, "pending")
    assert (await person.answer("a")).status_code == 200
    owners = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert owners["executor_identity"] == {"mode": "external", **ADA}


async def test_an_anonymous_run_takes_no_identity(api: Api) -> None:
    person = await person_for(api, step("a"))
    assert error_of(await person.call("PUT", "/identity", json=ADA)) == (422, "validation_failed")


async def test_a_run_for_members_takes_no_answers_from_somebody_who_only_has_the_link(api: Api) -> None:
    person = await person_for(api, step("a"), identity="member")
    assert error_of(await person.answer("a")) == (401, "sign_in_required")


async def test_missing_and_wrong_members_of_an_identity_are_told_together(api: Api) -> None:
    person = await person_for(api, step("a"), identity="external")
    missing = await person.call("PUT", "/identity", json={})
    assert (error_of(missing), paths(missing)) == ((400, "missing_field"), ["name", "email"])
    wrong = await person.call("PUT", "/identity", json={"name": " ", "email": "x", "op_id": 1})
    assert sorted(paths(wrong)) == ["email", "name", "op_id"]


async def test_submit_completes_the_run(api: Api) -> None:
    person = await person_for(api, step("a", required=True))
    await person.answer("a")
    response = await person.submit(op_id="1")
    assert (response.status_code, response.json()["status"]) == (200, "completed")
    assert await person.events() == ["step.completed", "run.completed"]
    assert (await person.look())["completed_at"] is not None


async def test_submit_with_gaps_names_every_missing_step(api: Api) -> None:
    person = await person_for(
        api, step("a", required=True), step("b"), step("c", "photo", required=True), signature_on_complete=True
    )
    response = await person.submit()
    assert error_of(response) == (422, "required_steps_missing")
    assert paths(response) == ["s-a", "s-c", "signature"]
    assert (await person.look())["missing_steps"] == ["s-a", "s-c"]


async def test_the_signature_is_kept_and_shown(api: Api) -> None:
    person = await person_for(api, step("a"), signature_on_complete=True)
    assert (await person.submit(signature={"name": "Ada"})).status_code == 200
    assert (await person.look())["signature"]["name"] == "Ada"


async def test_cancel_keeps_the_reason_for_the_owner(api: Api) -> None:
    person = await person_for(api, step("a"), step("b"))
    await person.answer("a")
    response = await person.cancel(reason=" wrong kitchen ")
    assert (response.status_code, response.json()["status"]) == (200, "cancelled")
    owners = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert (owners["status"], owners["cancel_reason"], list(owners["answers"])) == (
        "cancelled",
        "wrong kitchen",
        ["s-a"],
    )


@pytest.mark.parametrize("end", ["submit", "cancel", "owner"])
async def test_a_closed_run_takes_no_more_changes_but_shows_its_receipt(api: Api, end: str) -> None:
    person = await person_for(api, step("a"), identity="external", allow_skip=True)
    await person.call("PUT", "/identity", json=ADA)
    await person.answer("a", op_id="1")
    if end == "owner":
        assert (await api.http.post(f"/v1/runs/{person.run_id}/cancel")).status_code == 200
    else:
        assert (await (person.submit if end == "submit" else person.cancel)(op_id="2")).status_code == 200
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
    assert (view["status"], view["answers"]["s-a"]["value"]) == ("completed" if end == "submit" else "cancelled", True)
    assert (await person.call("POST", "/open")).status_code == 200
    # What was accepted before the end may be sent again after it.
    assert (await person.answer("a", op_id="1")).json()["replayed"] is True
    if end != "owner":
        assert (await (person.submit if end == "submit" else person.cancel)(op_id="2")).json()["replayed"] is True
    last = {"submit": "run.completed", "cancel": "run.cancelled", "owner": "run.cancelled"}[end]
    assert await person.events() == ["step.completed", last]
