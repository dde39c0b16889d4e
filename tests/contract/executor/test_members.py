"""Members as executors: who gets to a run whose template says `identity_required: member`, and whose it is then."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
from tests.contract.conftest import Api, StartApi, owned, shared_api, until_status
from tests.contract.dashboard_client import member_of
from tests.contract.executor_client import OPERATIONS, Json, Person, error_of, person_for, step, without_request_id
from tests.contract.pictures import picture

from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import DASHBOARD_SESSION, MEMBER, RUN
from checklist_crds.times import utc_now
from checklist_dev.local.people import Person as Member

api = shared_api

EVERYTHING = [
    *OPERATIONS,
    ("PUT", "/answers/s-a", {"value": "no boolean"}),
    ("PUT", "/answers/s-a", {"value": True, "geo": "nowhere"}),
    ("POST", "/operations", {"operations": [{"type": "answer", "step_id": "s-a", "op_id": "without a value"}]}),
]


@dataclass(frozen=True)
class Signed(Person):
    """The person with the link, in a browser in which a member has signed in."""

    member: Member

    async def call(self, method: str, path: str = "", **arguments: Any) -> httpx.Response:
        headers = {"Sec-Fetch-Site": "same-origin"} | self.member.headers | arguments.pop("headers", {})
        return await super().call(method, path, headers=headers, **arguments)

    async def make(self, method: str, path: str, body: Json) -> httpx.Response:
        return await self.call(method, path, **_sent(method, path, body))


def _sent(method: str, path: str, body: Json) -> Json:
    if method in ("POST", "PUT") and path.endswith(("/photos", "/signature")):
        return {"content": picture(), "headers": {"Content-Type": "image/jpeg"}}
    return {"json": body} if body else {}


def _with(person: Person, member: Member) -> Signed:
    return Signed(person.run_id, person.api, person.token, member)


async def _run_for_members(api: Api, *steps: Json, **more: Any) -> Person:
    return await person_for(api, *(steps or (step("a"),)), identity="member", allow_skip=True, **more)


async def test_nothing_opens_without_a_session_or_without_the_links_token(api: Api) -> None:
    person = await _run_for_members(api)
    for method, path, body in EVERYTHING:
        response = await person.call(method, path, **_sent(method, path, body))
        assert error_of(response) == (401, "sign_in_required"), (method, path)
        assert response.headers["WWW-Authenticate"] == "Cookie"
        assert response.json()["details"] == {
            "organization": "Test organization",
            "template_name": "Checklist",
            "created_by_name": "Ada Lovelace",
            "sign_in": f"https://checklists.example/dashboard/sign-in?return_to=/r/{person.run_id}",
        }
    wrong = replace(_with(person, await member_of(api, "admin")), token="A" * 43)
    for method, path, body in EVERYTHING:
        assert error_of(await wrong.make(method, path, body)) == (401, "unauthorized"), (method, path)
    assert (await person.stored())["phase"] == "Pending"
    assert await person.events() == []


async def test_a_member_of_another_organization_gets_what_a_stranger_gets_for_an_unknown_run(api: Api) -> None:
    member = await member_of(api, "admin", account=await api.make_account())
    signed = _with(await _run_for_members(api), member)
    unknown_id = new_id("r")
    unknown = Person(unknown_id, api, api.token(unknown_id))
    for method, path, body in EVERYTHING:
        theirs = await signed.make(method, path, body)
        strangers = await unknown.call(method, path, **_sent(method, path, body))
        assert without_request_id(theirs) == without_request_id(strangers), (method, path)
        assert theirs.headers.get("WWW-Authenticate") == strangers.headers.get("WWW-Authenticate")
        assert theirs.status_code == 404 or "nowhere" in str(body), (method, path)
    assert "assignedTo" not in await signed.stored()


async def test_a_viewer_answers_as_any_member_does_from_the_first_look_to_the_end(api: Api) -> None:
    member = await member_of(api, "viewer", name="Vera Viewer")
    signed = _with(await _run_for_members(api, step("a"), step("b"), step("p", "photo")), member)
    me = {"mode": "member", "user_id": member.member_id}
    view = await signed.look()
    assert (view["assigned_to"], view["executor_identity"]) == (None, {"mode": "member", "user_id": None})
    assert view["signed_in_as"] == {"user_id": member.member_id, "name": "Vera Viewer", "email": member.email}
    assert (await signed.call("POST", "/open")).status_code == 200
    view = await signed.look()
    assert (view["assigned_to"], view["executor_identity"], view["status"]) == (member.member_id, me, "pending")
    assert (await signed.answer("a")).json()["answer"]["by"] == member.member_id
    assert (await signed.upload("p", picture())).json()["answer"]["by"] == member.member_id
    assert (await signed.skip("b")).status_code == 200
    assert (await signed.submit()).json()["status"] == "completed"
    owners = (await api.http.get(f"/v1/runs/{signed.run_id}")).json()
    assert (owners["assigned_to"], owners["executor_identity"]) == (member.member_id, me)
    assert {answer["by"] for answer in owners["answers"].values()} == {member.member_id}
    stored = await signed.stored()
    assert (stored["assignedTo"], stored["identity"]) == (member.member_id, {"userId": member.member_id})
    [listed] = (await api.http.get("/v1/runs")).json()["data"]
    assert (listed["assigned_to"], listed["executor_identity"]) == (member.member_id, me)


async def test_once_assigned_another_member_gets_neither_answers_nor_a_name_whatever_their_role(api: Api) -> None:
    first, other = await member_of(api, "viewer", name="Firstly Found"), await member_of(api, "admin")
    run = await _run_for_members(api)
    mine, theirs = _with(run, first), _with(run, other)
    await mine.answer("a", op_id="1")
    for method, path, body in EVERYTHING:
        if "boolean" in str(body) or "nowhere" in str(body) or path == "/identity":
            continue
        response = await theirs.make(method, path, body)
        assert error_of(response) == (403, "assigned_to_another"), (method, path)
        for secret in (first.member_id, "Firstly Found", first.email):
            assert secret not in response.text
    # The same op_id is no way to an answer either.
    assert error_of(await theirs.answer("a", op_id="1")) == (403, "assigned_to_another")
    assert error_of(await theirs.answer("a", "no boolean")) == (403, "assigned_to_another")
    await mine.submit()
    assert error_of(await theirs.call("GET")) == (403, "assigned_to_another")
    assert list((await mine.look())["answers"]) == ["s-a"]


async def test_of_members_who_race_exactly_one_gets_the_run(start_api: StartApi) -> None:
    api, second = await start_api(), await start_api()
    people = [await member_of(api, name=f"Racer {number}") for number in range(6)]
    run = await _run_for_members(api)
    racers = [replace(_with(run, each), api=(api, second)[number % 2]) for number, each in enumerate(people)]
    responses = await asyncio.gather(*(racer.call("POST", "/open") for racer in racers))
    statuses = sorted(response.status_code for response in responses)
    assert statuses == [200, 403, 403, 403, 403, 403]
    [winner] = [racer for racer, response in zip(racers, responses, strict=True) if response.status_code == 200]
    assert (await run.stored())["assignedTo"] == winner.member.member_id
    answers = await asyncio.gather(*(racer.answer("a") for racer in racers))
    assert sorted(response.status_code for response in answers) == statuses


async def test_a_queued_answer_is_not_sent_as_another_member(api: Api) -> None:
    first, other = await member_of(api), await member_of(api)
    signed = _with(await _run_for_members(api), other)

    def answer_of(member: Member) -> Any:
        headers = {"Answering-Member": member.member_id}
        return signed.call("PUT", "/answers/s-a", json={"value": True}, headers=headers)

    assert error_of(await answer_of(first)) == (403, "assigned_to_another")
    assert "assignedTo" not in await signed.stored()
    kept = await answer_of(other)
    assert kept.json()["answer"]["by"] == other.member_id


async def test_a_session_that_ends_in_the_middle_stops_the_answers_and_a_new_one_goes_on(api: Api) -> None:
    member = await member_of(api)
    signed = _with(await _run_for_members(api), member)
    assert (await signed.answer("a", op_id="1")).status_code == 200
    sessions, _ = await api.kube.list_all(DASHBOARD_SESSION, api.namespace)
    [session] = [body["metadata"]["name"] for body in sessions if body["spec"]["subject"] == member.subject]
    await api.kube.delete(DASHBOARD_SESSION, session, api.namespace)
    await until_status(401, lambda: signed.call("GET"))
    assert error_of(await signed.answer("a", False, op_id="2")) == (401, "sign_in_required")
    # The same person signs in once more: another session, the same member.
    other = await member_of(api, account=await api.make_account(), subject=member.subject)
    again = _with(signed, replace(member, secret=other.secret))
    kept = await again.answer("a", False, op_id="2")
    assert (kept.json()["answer"]["by"], kept.json()["replayed"]) == (member.member_id, False)
    replay = await again.answer("a", True, op_id="1")
    assert (replay.status_code, replay.json()["replayed"]) == (200, True)
    # A member who was removed gets nowhere with the same session.
    await api.kube.delete(MEMBER, member.member_id, api.namespace)
    await until_status(404, lambda: again.call("GET"))
    assert error_of(await again.answer("a", False)) == (404, "run_not_found")
    assert (await again.stored())["assignedTo"] == member.member_id


async def test_an_expired_run_is_gone_for_its_member_and_for_who_has_no_session(start_api: StartApi) -> None:
    now = utc_now()
    api = await start_api(clock=lambda: now)
    member = await member_of(api, now=now)
    stranger = await member_of(api, account=await api.make_account(), now=now)
    person = await _run_for_members(api, dispatch={"expires_in_hours": 0.25})
    await _with(person, member).answer("a")
    now += timedelta(minutes=15)
    assert error_of(await _with(person, member).call("GET")) == (410, "run_expired")
    assert error_of(await _with(person, member).answer("a")) == (410, "run_expired")
    assert error_of(await person.call("GET")) == (410, "run_expired")
    assert error_of(await _with(person, stranger).call("GET")) == (404, "run_not_found")


async def test_a_write_that_another_site_makes_is_refused(api: Api) -> None:
    person, member = await _run_for_members(api), await member_of(api)
    for site in ("cross-site", "same-site", "none"):
        for method, path, body in EVERYTHING[5:6] + EVERYTHING[3:4]:
            response = await _with(person, member).call(method, path, json=body, headers={"Sec-Fetch-Site": site})
            assert error_of(response) == (403, "request_forged")
    assert "assignedTo" not in await person.stored()
    # A client that is no browser says nothing of sites.
    assert (await person.call("POST", "/open", headers=member.headers)).status_code == 200


async def test_a_session_changes_nothing_in_runs_of_other_modes(api: Api) -> None:
    person = await person_for(api, step("a"), identity="external")
    signed = _with(person, await member_of(api, "admin"))
    assert (await signed.call("POST", "/open")).status_code == 200
    assert (await signed.answer("a")).json()["details"][0]["code"] == "identity_required"
    await signed.call("PUT", "/identity", json={"name": "Eve", "email": "eve@example.com"})
    assert (await signed.answer("a")).json()["answer"]["by"] is None
    view = await signed.look()
    assert (view["assigned_to"], view["signed_in_as"]) == (None, None)
    assert "user_id" not in view["executor_identity"]
    assert view == await person.look()
    # Nor does it matter where a request comes from that is in no member's name.
    forged = await signed.call("PUT", "/answers/s-a", json={"value": True}, headers={"Sec-Fetch-Site": "cross-site"})
    assert forged.status_code == 200


async def test_a_run_made_by_kubectl_is_answered_by_its_members_alike(api: Api) -> None:
    """Its specification knows nothing of identities; the template that it was admitted with does."""
    template = await api.account.create_template(execution={"identity_required": "member"})
    made = await api.account.dispatch(template["id"])
    resolved = (await api.kube.get(RUN, made["run_id"], api.namespace))["spec"]["resolved"]
    run_id = new_id("r")
    body = owned(RUN, run_id, api.organization, api.namespace, {"templateId": template["id"]})
    await api.kube.create(RUN, body, api.namespace)
    await api.kube.patch_status(RUN, run_id, {"resolved": resolved}, api.namespace)
    person, member = Person(run_id, api, api.token(run_id)), await member_of(api)
    assert error_of(await person.call("GET")) == (401, "sign_in_required")
    assert (await _with(person, member).answer("clean")).json()["answer"]["by"] == member.member_id
    assert (await person.stored())["identity"] == {"userId": member.member_id}
