"""One-time sign-in links and invitations: who gets in by one, how often, and where."""

import asyncio
from datetime import timedelta

import pytest
from tests.waiting import eventually

from checklist_api.dashboard.access import COOKIE
from checklist_api.dashboard.accounts import AccountExists
from checklist_crds.account_links import account_name, new_token
from checklist_crds.kube.kinds import DASHBOARD_SESSION, LOCAL_ACCOUNT, MEMBER
from checklist_dev.people import make_member

from .conftest import PASSWORD, Api, MakeLink, with_password
from .person import PersonAt

GRACE = "grace@example.com"


async def test_a_link_binds_the_members_of_its_address_and_ends_the_session_that_the_browser_had(
    api: Api, make_link: MakeLink
) -> None:
    other, person = await api.make_account(), PersonAt(api.anonymous)
    members = {
        await make_member(
            api.kube, organization=at, namespace=api.namespace, role=role, email="Grace@Example.com"
        ): role
        for at, role in ((api.organization, "editor"), (other.organization, "viewer"))
    }
    token = await make_link(GRACE)
    account = await api.kube.get(LOCAL_ACCOUNT, account_name(GRACE), api.namespace)
    secret = token.split(".")[1]
    assert (len(secret), secret in str(account), "link" in account["spec"]) == (43, False, True), "its digest is kept"
    response = await person.post("sign-in/link", {"secret": token})
    assert (response.status_code, response.json()) == (200, {"choose_password": False})
    person.assert_host_cookie(COOKIE)
    cookie = person.set_cookies[COOKIE]
    assert (cookie["max-age"], cookie["expires"], len(cookie.value)) == ("", "", 43)
    assert "link" not in (await api.kube.get(LOCAL_ACCOUNT, account_name(GRACE), api.namespace))["spec"]
    session = await person.session()
    assert {one["member_id"]: one["role"] for one in session["organizations"]} == members
    for member in members:
        binding = (await api.kube.get(MEMBER, member, api.namespace))["status"]["binding"]
        assert (session["method"], binding["issuer"], binding["subject"]) == ("link", "local", account_name(GRACE))

    before = PersonAt(api.anonymous, cookies=dict(person.cookies))
    await person.post("sign-in/link", {"secret": await make_link(GRACE)})
    assert person.secret != before.secret
    assert await person.is_signed_in()
    assert not await before.is_signed_in()


async def test_however_many_use_a_link_at_once_one_gets_in(api: Api, make_link: MakeLink) -> None:
    token = await make_link("ada@example.com")
    people = [PersonAt(api.anonymous) for _ in range(12)]
    responses = await asyncio.gather(*(person.post("sign-in/link", {"secret": token}) for person in people))
    assert sorted(response.status_code for response in responses) == [200] + [401] * 11
    assert len((await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0]) == 1


async def test_a_used_link_an_expired_one_and_an_unknown_one_look_alike(api: Api, make_link: MakeLink) -> None:
    used = await make_link("ada@example.com")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": used})).status_code == 200
    expired = await make_link("old@example.com", lifetime=timedelta(seconds=-1))
    replaced, _ = await make_link("twice@example.com"), await make_link("twice@example.com")
    told = []
    for secret in (used, expired, replaced, new_token("nobody@example.com"), "nonsense", ""):
        response = await PersonAt(api.anonymous).post("sign-in/link", {"secret": secret})
        told.append((response.status_code, response.headers.get("Set-Cookie"), response.json() | {"request_id": ""}))
    assert told == [told[0]] * 6
    assert (told[0][0], told[0][2]["error"]) == (401, "link_not_valid")


async def test_a_link_of_a_disabled_account_is_not_valid_and_its_sessions_end(api: Api, make_link: MakeLink) -> None:
    person = await with_password(api, make_link, "ada@example.com")
    other = await with_password(api, make_link, "grace@example.com")
    token = await make_link("ada@example.com")
    await api.kube.patch(LOCAL_ACCOUNT, account_name("ada@example.com"), {"spec": {"disabled": True}}, api.namespace)
    await eventually(person.is_out)
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})).status_code == 401
    # Deleted, so that they stay ended when the account is enabled again; those of a removed account are, too.
    await api.kube.delete(LOCAL_ACCOUNT, account_name("grace@example.com"), api.namespace)
    await eventually(other.is_out)

    async def none_left() -> bool:
        return not (await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0]

    await eventually(none_left)


@pytest.mark.parametrize("path", ["sign-in/link", "sign-in/password"])
async def test_another_page_cannot_sign_a_browser_in(api: Api, make_link: MakeLink, path: str) -> None:
    token = await make_link("ada@example.com")
    body = {"secret": token, "email": "ada@example.com", "password": "x"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}):
        response = await PersonAt(api.anonymous).post(path, body, headers=headers)
        assert (response.status_code, response.json()["error"]) == (403, "request_forged")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})).status_code == 200


async def _by_invitation(api: Api, organization: str) -> PersonAt:
    token, _ = await api.services.accounts.invite(email=GRACE, name="Grace", organization=organization)
    person = PersonAt(api.anonymous)
    response = await person.post("sign-in/link", {"secret": token})
    assert response.json() == {"choose_password": True}
    return person


async def test_an_admin_becomes_nobody_elsewhere_by_inviting_their_address(api: Api) -> None:
    other = await api.make_account()
    for organization in (api.organization, other.organization):
        await make_member(api.kube, organization=organization, namespace=api.namespace, role="admin", email=GRACE)
    person, again = await _by_invitation(api, api.organization), PersonAt(api.anonymous)
    assert [one["id"] for one in (await person.session())["organizations"]] == [api.organization]
    await person.post("account/password", {"new_password": PASSWORD})
    assert (await again.post("sign-in/password", {"email": GRACE, "password": PASSWORD})).status_code == 200
    assert [one["id"] for one in (await again.session())["organizations"]] == [api.organization]
    assert (await again.get(f"{other.organization}/runs")).status_code == 404


async def test_nobody_gets_a_link_to_an_account_that_is_somebodys_already(api: Api, make_link: MakeLink) -> None:
    other, invite = await api.make_account(), api.services.accounts.invite
    await invite(email=GRACE, name="Grace", organization=api.organization)
    with pytest.raises(AccountExists):
        await invite(email=GRACE, name="Eve", organization=other.organization)
    first = await _by_invitation(api, api.organization)  # no password yet: the same organization may ask again
    await first.session()
    await first.post("account/password", {"new_password": PASSWORD})
    await with_password(api, make_link, "operator-made@example.com")
    for email in (GRACE, "Operator-Made@example.com"):
        with pytest.raises(AccountExists):
            await invite(email=email, name="Eve", organization=api.organization)
