"""Members in the dashboard: invited once, changed and removed by admins, and one admin always stays."""

import asyncio

import pytest

from checklist_crds.kube.kinds import MEMBER
from checklist_dev.people import make_member

from .conftest import Api, StartApi
from .dashboard_client import Desk, at_desk, error

INVITED = {"email": "Grace@Example.com", "name": "Grace Hopper", "role": "editor"}


async def _admins(api: Api) -> int:
    bodies, _ = await api.kube.list_all(MEMBER, api.namespace)
    own = [body["spec"] for body in bodies if body["spec"]["organizationRef"]["name"] == api.organization]
    return sum(1 for spec in own if spec.get("role") == "admin")


async def _of(desk: Desk, member_id: str) -> dict[str, object]:
    listed = await desk.told("/members?per_page=100")
    return dict(next(member for member in listed["data"] if member["id"] == member_id))


async def test_an_invited_member_is_listed_and_has_not_signed_in(api: Api) -> None:
    desk = await at_desk(api)
    response = await desk.post("/members", INVITED)
    made = response.json()
    assert response.status_code == 201
    assert (made["email"], made["name"], made["role"]) == ("grace@example.com", "Grace Hopper", "editor")
    assert (made["signed_in"], made["issuer"], made["managed_by"], made["you"]) == (False, None, None, False)
    assert await _of(desk, made["id"]) == {key: value for key, value in made.items() if key != "invitation"}
    own = await _of(desk, desk.member_id)
    assert (own["you"], own["signed_in"], own["issuer"]) == (True, True, "https://people.example")


async def test_an_invitation_has_a_link_that_works_once_and_can_be_made_anew(api: Api) -> None:
    desk = await at_desk(api)
    made = (await desk.post("/members", INVITED)).json()
    again = await desk.post(f"/members/{made['id']}/invitation")
    assert again.status_code == 201
    links = [made["invitation"]["link"], again.json()["link"]]
    assert all(link.startswith("https://checklists.example/dashboard/sign-in#link=") for link in links)

    async def sign_in(link: str) -> int:
        response = await api.anonymous.post(
            "/dashboard/api/sign-in/link",
            json={"secret": link.partition("#link=")[2]},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        return response.status_code

    assert [await sign_in(link) for link in (links[0], links[1], links[1])] == [401, 200, 401]
    assert (await _of(desk, made["id"]))["issuer"] == "local"
    told = (await desk.get("/audit")).text
    assert "member.link_made" in told
    assert not any(link.partition("#link=")[2] in told for link in links)


async def test_without_local_accounts_an_invitation_has_no_link(start_api: StartApi) -> None:
    api = await start_api(
        CHECKLISTS_LOCAL_ACCOUNTS="0",
        CHECKLISTS_OIDC_ISSUER="https://people.example",
        CHECKLISTS_OIDC_CLIENT_ID="checklists",
        CHECKLISTS_OIDC_CLIENT_SECRET="secret-of-the-test",
    )
    desk = await at_desk(api)
    made = await desk.post("/members", INVITED)
    assert (made.status_code, made.json()["invitation"]) == (201, None)
    assert error(await desk.post(f"/members/{made.json()['id']}/invitation")) == (404, "not_found")


async def test_an_address_is_invited_once_whatever_its_case_and_however_many_ask_at_once(start_api: StartApi) -> None:
    first, second = await start_api(), await start_api()
    desk = await at_desk(first)
    other = Desk(desk.person, second.anonymous, desk.headers)
    answers = await asyncio.gather(*(each.post("/members", INVITED) for each in (desk, other) * 4))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    assert {answer.json()["error"] for answer in answers if answer.status_code == 409} == {"member_exists"}
    assert error(await desk.post("/members", {**INVITED, "email": "GRACE@example.COM"})) == (409, "member_exists")
    members = (await desk.told("/members"))["data"]
    assert [member["email"] for member in members].count("grace@example.com") == 1


async def test_one_person_can_be_invited_by_several_organizations(api: Api) -> None:
    desk, other = await at_desk(api), await at_desk(api, account=await api.make_account())
    ids = [(await each.post("/members", INVITED)).json()["id"] for each in (desk, other)]
    assert ids[0] != ids[1]


@pytest.mark.parametrize(
    "change",
    [{"email": "nobody"}, {"email": "a b@c.d"}, {"email": 3}, {"name": " "}, {"name": "x" * 201}, {"role": "owner"}],
)
async def test_an_invitation_that_is_wrong_is_refused_with_its_field(api: Api, change: dict[str, object]) -> None:
    desk = await at_desk(api)
    response = await desk.post("/members", {**INVITED, **change})
    assert error(response) == (422, "validation_failed")
    assert [problem["path"] for problem in response.json()["details"]] == list(change)


async def test_viewers_see_names_and_roles_and_no_addresses(api: Api) -> None:
    admin, viewer = await at_desk(api, "admin", name="Ada"), await at_desk(api, "viewer", name="Vera")
    response = await viewer.get("/members")
    assert {member["name"] for member in response.json()["data"]} == {"Ada", "Ada Lovelace", "Vera"}
    assert "@" not in response.text
    assert {member["email"] for member in (await admin.told("/members"))["data"]} >= {"ada@example.com"}


async def test_role_and_name_are_changed_and_told_with_what_they_were(api: Api) -> None:
    desk = await at_desk(api)
    made = (await desk.post("/members", INVITED)).json()
    response = await desk.patch(f"/members/{made['id']}", {"role": "viewer", "name": "Grace B. Hopper"})
    assert (response.json()["role"], response.json()["name"]) == ("viewer", "Grace B. Hopper")
    same = await desk.patch(f"/members/{made['id']}", {"role": "viewer"})
    assert same.status_code == 200
    [changed, invited] = (await desk.told("/audit"))["data"]
    assert (changed["action"], changed["details"]) == (
        "member.role_changed",
        {"role_before": "editor", "role": "viewer", "name": "Grace B. Hopper"},
    )
    assert (invited["action"], invited["details"]["email"]) == ("member.invited", "grace@example.com")


@pytest.mark.parametrize(("body", "told"), [({}, 400), ({"role": "king"}, 422), ({"email": "x@y.z", "name": "X"}, 422)])
async def test_a_change_that_is_none_is_refused(api: Api, body: dict[str, str], told: int) -> None:
    desk = await at_desk(api)
    assert (await desk.patch(f"/members/{desk.member_id}", body)).status_code == told


async def test_a_removed_member_is_out_at_once_and_can_be_invited_again(api: Api) -> None:
    desk, editor = await at_desk(api), await at_desk(api, "editor")
    assert (await editor.get("/templates")).status_code == 200
    assert (await desk.delete(f"/members/{editor.member_id}")).status_code == 204
    assert (await editor.get("/templates")).status_code == 404
    assert error(await desk.delete(f"/members/{editor.member_id}")) == (404, "member_not_found")
    again = {"email": editor.person.email, "name": "Back again", "role": "viewer"}
    assert (await desk.post("/members", again)).status_code == 201


async def test_a_reset_takes_the_sign_in_away(api: Api) -> None:
    desk, editor = await at_desk(api), await at_desk(api, "editor")
    response = await desk.post(f"/members/{editor.member_id}/reset")
    assert (response.status_code, response.json()["signed_in"]) == (200, False)
    assert (await editor.get("/templates")).status_code == 404
    body = await api.kube.get(MEMBER, editor.member_id, api.namespace)
    assert "binding" not in body["status"]


async def test_the_last_admin_can_neither_be_removed_nor_demoted(api: Api) -> None:
    desk = await at_desk(api)
    await at_desk(api, "editor")
    assert error(await desk.delete(f"/members/{desk.member_id}")) == (409, "last_admin")
    assert error(await desk.patch(f"/members/{desk.member_id}", {"role": "viewer"})) == (409, "last_admin")
    assert (await desk.patch(f"/members/{desk.member_id}", {"name": "Still here"})).status_code == 200
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
            while (await desk.get("/keys")).status_code != 200:
                await asyncio.sleep(0.01)
        answers = await asyncio.gather(
            *(
                desk.patch(f"/members/{ring[(place + 1) % len(ring)].member_id}", {"role": "viewer"})
                for place, desk in enumerate(ring)
            )
        )
        taken = [answer for answer in answers if answer.status_code == 200]
        refused = {error(answer) for answer in answers if answer.status_code != 200}
        assert await _admins(replicas[0]) == len(ring) - len(taken) >= 1
        assert len(taken) >= 1
        assert refused <= {(409, "last_admin"), (403, "forbidden")}


async def test_members_that_gitops_manages_are_shown_as_such_and_stay_as_they_are(api: Api) -> None:
    desk = await at_desk(api)
    member = await make_member(api.kube, organization=api.organization, namespace=api.namespace, role="editor")
    annotations = {"argocd.argoproj.io/tracking-id": "people:checklists.dev/Member:team/ada"}
    await api.kube.patch(MEMBER, member, {"metadata": {"annotations": annotations}}, api.namespace)
    for method, body in (("PATCH", {"role": "admin"}), ("DELETE", None)):
        response = await desk.call(method, f"/members/{member}", body)
        assert error(response) == (409, "member_managed")
        assert response.json()["details"]["managed_by"]["manager"] == "Argo CD"
    for _ in range(100):
        if (await _of(desk, member))["managed_by"]:
            break
        await asyncio.sleep(0.02)
    assert (await _of(desk, member))["managed_by"] == {
        "manager": "Argo CD",
        "reason": "Argo CD applies it (application people).",
    }


async def test_a_member_named_by_hand_is_found_by_the_id_that_the_list_shows(api: Api) -> None:
    desk = await at_desk(api)
    spec = {"organizationRef": {"name": api.organization}, "name": "By hand", "email": "hand@example.com"}
    metadata = {"name": "by-hand", "namespace": api.namespace}
    await api.kube.create(
        MEMBER, {"apiVersion": MEMBER.api_version, "kind": "Member", "metadata": metadata, "spec": spec}, api.namespace
    )
    for _ in range(100):
        found = [member for member in (await desk.told("/members"))["data"] if member["name"] == "By hand"]
        if found:
            break
        await asyncio.sleep(0.02)
    response = await desk.patch(f"/members/{found[0]['id']}", {"role": "viewer"})
    assert (response.status_code, response.json()["role"]) == (200, "viewer")
