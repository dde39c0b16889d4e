"""Members and keys in the dashboard: members are invited once, changed and removed, and one admin always stays."""

import asyncio
import re
import uuid
from functools import partial
from typing import Any

import pytest
from tests.contract.conftest import Api, StartApi, http_client, owned, shared_api, until, until_status
from tests.contract.dashboard_client import Desk, at_desk
from tests.contract.executor_client import error_of, paths

from checklist_crds.resources.kinds import API_KEY, AUDIT_ENTRY, MEMBER
from checklist_crds.secrets.digest import digest
from checklist_dev.local.people import make_member

api = shared_api


@pytest.fixture
def grace() -> dict[str, str]:
    """An invitation of a person of this test only: accounts are those of the whole installation."""
    return {"email": f"Grace-{uuid.uuid4().hex}@Example.com", "name": "Grace Hopper", "role": "editor"}


async def _admins(api: Api) -> int:
    return sum(1 for body in await api.all_of(MEMBER) if body["spec"].get("role") == "admin")


async def _of(desk: Desk, member_id: str) -> dict[str, Any]:
    listed = await desk.read("/members?per_page=100")
    return dict(next(member for member in listed["data"] if member["id"] == member_id))


async def test_an_invitation_has_a_link_that_works_once_and_can_be_replaced(api: Api, grace: dict[str, str]) -> None:
    desk = await at_desk(api)
    response = await desk.post("/members", grace)
    made = response.json()
    assert response.status_code == 201
    expected = {**grace, "email": grace["email"].lower(), "signed_in": False, "issuer": None, "managed_by": None}
    assert {name: made[name] for name in expected} == expected
    assert await _of(desk, made["id"]) == {key: value for key, value in made.items() if key != "invitation"}
    own = await _of(desk, desk.member_id)
    assert (own["you"], own["signed_in"], own["issuer"]) == (True, True, "https://people.example")

    again = await desk.post(f"/members/{made['id']}/invitation")
    assert again.status_code == 201
    links = [made["invitation"]["link"], again.json()["link"]]
    assert all(link.startswith("https://checklists.example/dashboard/sign-in#link=") for link in links)
    secrets, page = [link.partition("#link=")[2] for link in links], {"Sec-Fetch-Site": "same-origin"}
    signed_in = [
        await api.anonymous.post("/dashboard/api/sign-in/link", json={"secret": secret}, headers=page)
        for secret in (secrets[0], secrets[1], secrets[1])
    ]
    assert [response.status_code for response in signed_in] == [401, 200, 401]
    assert (await _of(desk, made["id"]))["issuer"] == "local"
    trail = (await desk.get("/audit")).text
    assert "member.link_made" in trail
    assert not any(secret in trail for secret in secrets)


async def test_without_local_accounts_an_invitation_has_no_link(start_api: StartApi, grace: dict[str, str]) -> None:
    api = await start_api(
        CHECKLISTS_LOCAL_ACCOUNTS="0",
        CHECKLISTS_OIDC_ISSUER="https://people.example",
        CHECKLISTS_OIDC_CLIENT_ID="checklists",
        CHECKLISTS_OIDC_CLIENT_SECRET="secret-of-the-test",
    )
    desk = await at_desk(api)
    made = await desk.post("/members", grace)
    assert (made.status_code, made.json()["invitation"]) == (201, None)
    assert error_of(await desk.post(f"/members/{made.json()['id']}/invitation")) == (404, "not_found")


async def test_an_address_is_invited_once_in_an_organization(start_api: StartApi, grace: dict[str, str]) -> None:
    first, second = await start_api(), await start_api()
    desk = await at_desk(first)
    other = Desk(desk.person, second.anonymous, desk.headers)
    answers = await asyncio.gather(*(each.post("/members", grace) for each in (desk, other) * 4))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    assert {answer.json()["error"] for answer in answers if answer.status_code == 409} == {"member_exists"}
    upper = {**grace, "email": grace["email"].upper()}
    assert error_of(await desk.post("/members", upper)) == (409, "member_exists")
    members = (await desk.read("/members"))["data"]
    assert [member["email"] for member in members].count(grace["email"].lower()) == 1
    elsewhere = await at_desk(first, account=await first.make_account())
    assert (await elsewhere.post("/members", grace)).status_code == 201


async def test_a_wrong_invitation_or_change_is_refused_with_its_field(api: Api, grace: dict[str, str]) -> None:
    desk = await at_desk(api)
    for change in (
        *({"email": wrong} for wrong in ("no-address", "a b@c.d", 3)),
        *({"name": wrong} for wrong in (" ", "x" * 201)),
        {"role": "owner"},
    ):
        response = await desk.post("/members", {**grace, **change})
        assert (error_of(response), paths(response)) == ((422, "validation_failed"), list(change))
    for body, status in (({}, 400), ({"role": "king"}, 422), ({"email": "x@y.z", "name": "X"}, 422)):
        assert (await desk.patch(f"/members/{desk.member_id}", body)).status_code == status


async def test_viewers_see_names_and_roles_and_no_addresses(api: Api) -> None:
    admin, viewer = await at_desk(api, "admin", name="Ada"), await at_desk(api, "viewer", name="Vera")
    response = await viewer.get("/members")
    assert {member["name"] for member in response.json()["data"]} == {"Ada", "Ada Lovelace", "Vera"}
    assert "@" not in response.text
    assert {member["email"] for member in (await admin.read("/members"))["data"]} >= {"ada@example.com"}


async def test_role_and_name_are_changed_and_audited_with_their_former_values(api: Api, grace: dict[str, str]) -> None:
    desk = await at_desk(api)
    path = f"/members/{(await desk.post('/members', grace)).json()['id']}"
    response = await desk.patch(path, {"role": "viewer", "name": "Grace B. Hopper"})
    assert (response.json()["role"], response.json()["name"]) == ("viewer", "Grace B. Hopper")
    assert (await desk.patch(path, {"role": "viewer"})).status_code == 200
    [changed, invited] = (await desk.read("/audit"))["data"]
    assert changed["action"] == "member.role_changed"
    assert changed["details"] == {"role_before": "editor", "role": "viewer", "name": "Grace B. Hopper"}
    assert (invited["action"], invited["details"]["email"]) == ("member.invited", grace["email"].lower())


async def test_a_removed_or_reset_member_is_out_at_once_and_a_removed_one_can_be_invited_again(api: Api) -> None:
    desk, removed, reset = await at_desk(api), await at_desk(api, "editor"), await at_desk(api, "editor")
    for member in (removed, reset):
        assert (await member.get("/templates")).status_code == 200
    assert (await desk.delete(f"/members/{removed.member_id}")).status_code == 204
    response = await desk.post(f"/members/{reset.member_id}/reset")
    assert (response.status_code, response.json()["signed_in"]) == (200, False)
    for member in (removed, reset):
        assert (await member.get("/templates")).status_code == 404
    assert "binding" not in (await api.kube.get(MEMBER, reset.member_id, api.namespace))["status"]
    assert error_of(await desk.delete(f"/members/{removed.member_id}")) == (404, "member_not_found")
    again = {"email": removed.person.email, "name": "Back again", "role": "viewer"}
    assert (await desk.post("/members", again)).status_code == 201


async def test_the_last_admin_can_neither_be_removed_nor_demoted(api: Api) -> None:
    desk = await at_desk(api)
    await at_desk(api, "editor")
    path = f"/members/{desk.member_id}"
    assert error_of(await desk.delete(path)) == (409, "last_admin")
    assert error_of(await desk.patch(path, {"role": "viewer"})) == (409, "last_admin")
    assert (await desk.patch(path, {"name": "Still here"})).status_code == 200
    assert await _admins(api) == 1


async def test_admins_who_take_each_other_away_at_once_leave_one(start_api: StartApi) -> None:
    """Five admins in a ring, each takes the next one away, through two replicas, round after round."""
    replicas = [await start_api(), await start_api()]
    desks = [await at_desk(replicas[number % 2]) for number in range(5)]
    for number in range(4):
        ring = desks[number:]
        for desk in desks:
            role = "admin" if desk in ring else "viewer"
            await replicas[0].kube.patch(MEMBER, desk.member_id, {"spec": {"role": role}}, replicas[0].namespace)
        for desk in ring:
            await until_status(200, partial(desk.get, "/keys"))
        answers = await asyncio.gather(
            *(
                desk.patch(f"/members/{ring[(place + 1) % len(ring)].member_id}", {"role": "viewer"})
                for place, desk in enumerate(ring)
            )
        )
        taken = sum(answer.status_code == 200 for answer in answers)
        refused = {error_of(answer) for answer in answers if answer.status_code != 200}
        assert await _admins(replicas[0]) == len(ring) - taken >= 1
        assert taken >= 1
        assert refused <= {(409, "last_admin"), (403, "forbidden")}


async def test_members_that_gitops_manages_are_shown_as_such_and_stay_as_they_are(api: Api) -> None:
    desk = await at_desk(api)
    member = await make_member(api.kube, organization=api.organization, namespace=api.namespace, role="editor")
    annotations = {"argocd.argoproj.io/tracking-id": "people:checklists.dev/Member:team/ada"}
    await api.kube.patch(MEMBER, member, {"metadata": {"annotations": annotations}}, api.namespace)
    for method, body in (("PATCH", {"role": "admin"}), ("DELETE", None)):
        response = await desk.call(method, f"/members/{member}", body)
        assert error_of(response) == (409, "member_managed")
        assert response.json()["details"]["managed_by"]["manager"] == "Argo CD"

    managed = {"manager": "Argo CD", "reason": "Argo CD applies it (application people)."}
    await until(lambda: _of(desk, member), lambda shown: shown["managed_by"] == managed)


async def test_a_member_named_by_hand_is_found_by_the_id_that_the_list_shows(api: Api) -> None:
    desk = await at_desk(api)
    spec = {"name": "By hand", "email": "hand@example.com"}
    body = owned(MEMBER, "by-hand", api.organization, api.namespace, spec)
    del body["metadata"]["labels"]
    await api.kube.create(MEMBER, body, api.namespace)

    listed = await until(lambda: desk.read("/members"), lambda found: "By hand" in str(found))
    [member] = [each["id"] for each in listed["data"] if each["name"] == "By hand"]
    response = await desk.patch(f"/members/{member}", {"role": "viewer"})
    assert (response.status_code, response.json()["role"]) == (200, "viewer")


# --- API keys: made once, shown once, revoked everywhere


async def test_a_new_key_is_shown_once_opens_the_api_and_knows_its_maker_and_its_last_use(api: Api) -> None:
    desk = await at_desk(api, name="Grace Hopper")
    response = await desk.post("/keys", {"name": "  Nightly export "})
    made = response.json()
    assert response.status_code == 201
    assert re.fullmatch(r"cds_live_[0-9A-Za-z]{32}", made["key"])
    assert (made["name"], made["prefix"], made["last_four"]) == ("Nightly export", "cds_live_", made["key"][-4:])
    assert (made["created_by"], made["last_used_at"]) == ({"id": desk.member_id, "name": "Grace Hopper"}, None)
    async with http_client(api.base_url, made["key"]) as bearer:
        assert (await bearer.get("/v1/templates")).status_code == 200
    listed = await desk.read("/keys")
    newest = listed["data"][0]
    assert (newest["id"], newest["revoked"], listed["pagination"]["total"]) == (made["id"], False, 2)
    assert "key" not in newest
    assert made["key"] not in str(listed)

    listed = await until(lambda: desk.read("/keys"), lambda found: found["data"][0]["last_used_at"] is not None)
    assert listed["data"][0]["last_used_at"] >= newest["created_at"][:19]
    # The plaintext is nowhere in the cluster.
    keys, entries = await api.all_of(API_KEY), await api.all_of(AUDIT_ENTRY)
    assert entries
    assert made["key"] not in str(keys + entries)
    assert digest(made["key"]) in {body["spec"]["sha256"] for body in keys}


async def test_a_name_that_is_none_is_refused_and_nothing_is_made(api: Api) -> None:
    desk = await at_desk(api)
    assert error_of(await desk.post("/keys", {})) == (400, "missing_field")
    for name in ("", "  ", "x" * 201, 7, "two\nlines", None):
        assert error_of(await desk.post("/keys", {"name": name})) == (422, "validation_failed")
    assert (await desk.read("/keys"))["pagination"]["total"] == 1
    assert (await desk.read("/audit"))["pagination"]["total"] == 0


async def test_a_revoked_key_stays_in_the_list_and_revoking_it_again_changes_nothing(api: Api) -> None:
    desk = await at_desk(api)
    made = (await desk.post("/keys", {"name": "export"})).json()
    for _ in range(2):
        response = await desk.post(f"/keys/{made['id']}/revoke")
        assert (response.status_code, response.json()["revoked"]) == (200, True)
    assert (await desk.read("/keys"))["data"][0]["revoked"] is True
    actions = [entry["action"] for entry in (await desk.read("/audit"))["data"]]
    assert actions == ["api_key.revoked", "api_key.created"]
    for name in ("key-" + "0" * 40, "NOT A NAME", "-x", "a" * 300):
        assert error_of(await desk.post(f"/keys/{name}/revoke")) == (404, "api_key_not_found")


async def test_a_revoked_key_is_refused_at_once_by_another_replica_too(start_api: StartApi) -> None:
    """It has used the key a moment before, so it has it in its copy. One that kubectl revokes:
    tests/contract/service/test_authentication.py."""
    first, second = await start_api(), await start_api()
    desk = await at_desk(first)
    made = (await desk.post("/keys", {"name": "export"})).json()
    async with http_client(second.base_url, made["key"]) as bearer:
        assert (await bearer.get("/v1/templates")).status_code == 200
        await desk.post(f"/keys/{made['id']}/revoke")
        await until_status(401, partial(bearer.get, "/v1/templates"), within_s=10)
