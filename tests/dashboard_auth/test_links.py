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


async def test_a_link_signs_in_and_binds_the_members_of_its_address(api: Api, make_link: MakeLink) -> None:
    member = await make_member(
        api.kube, organization=api.organization, namespace=api.namespace, role="editor", email="Grace@Example.com"
    )
    other = await api.make_account()
    elsewhere = await make_member(
        api.kube, organization=other.organization, namespace=api.namespace, role="viewer", email="grace@example.com"
    )
    person = PersonAt(api.anonymous)
    response = await person.post("sign-in/link", {"secret": await make_link("grace@example.com")})
    assert (response.status_code, response.json()) == (200, {"choose_password": False})
    session = await person.session()
    roles = {one["member_id"]: one["role"] for one in session["organizations"]}
    assert (session["method"], roles) == ("link", {member: "editor", elsewhere: "viewer"})
    binding = (await api.kube.get(MEMBER, member, api.namespace))["status"]["binding"]
    assert (binding["issuer"], binding["subject"]) == ("local", account_name("grace@example.com"))


async def test_the_cookie_is_one_that_no_script_and_no_other_site_gets(api: Api, make_link: MakeLink) -> None:
    person = PersonAt(api.anonymous)
    await person.post("sign-in/link", {"secret": await make_link("ada@example.com")})
    person.assert_host_cookie(COOKIE)
    cookie = person.set_cookies[COOKIE]
    assert cookie["max-age"] == cookie["expires"] == ""
    assert len(cookie.value) == 43


async def test_however_many_use_a_link_at_once_one_gets_in(api: Api, make_link: MakeLink) -> None:
    token = await make_link("ada@example.com")
    people = [PersonAt(api.anonymous) for _ in range(12)]
    responses = await asyncio.gather(*(person.post("sign-in/link", {"secret": token}) for person in people))
    assert sorted(response.status_code for response in responses) == [200] + [401] * 11
    assert {response.json()["error"] for response in responses if response.status_code == 401} == {"link_not_valid"}
    sessions, _ = await api.kube.list_all(DASHBOARD_SESSION, api.namespace)
    assert len(sessions) == 1


async def test_a_used_link_an_expired_one_and_an_unknown_one_look_alike(api: Api, make_link: MakeLink) -> None:
    used = await make_link("ada@example.com")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": used})).status_code == 200
    expired = await make_link("old@example.com", lifetime=timedelta(seconds=-1))
    replaced = await make_link("twice@example.com")
    await make_link("twice@example.com")
    told = set()
    for secret in (used, expired, replaced, new_token("nobody@example.com"), "nonsense", ""):
        response = await PersonAt(api.anonymous).post("sign-in/link", {"secret": secret})
        body = {name: value for name, value in response.json().items() if name != "request_id"}
        told.add((response.status_code, str(body), response.headers.get("Set-Cookie")))
    assert len(told) == 1
    assert next(iter(told))[0] == 401


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


async def test_the_account_keeps_nothing_of_a_link_but_its_digest(api: Api, make_link: MakeLink) -> None:
    token = await make_link("ada@example.com")
    account = await api.kube.get(LOCAL_ACCOUNT, account_name("ada@example.com"), api.namespace)
    assert token.split(".")[1] not in str(account)
    assert len(token.split(".")[1]) == 43
    await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})
    account = await api.kube.get(LOCAL_ACCOUNT, account_name("ada@example.com"), api.namespace)
    assert "link" not in account["spec"]


@pytest.mark.parametrize("path", ["sign-in/link", "sign-in/password"])
async def test_another_page_cannot_sign_a_browser_in(api: Api, make_link: MakeLink, path: str) -> None:
    token = await make_link("ada@example.com")
    body = {"secret": token, "email": "ada@example.com", "password": "x"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}):
        response = await PersonAt(api.anonymous).post(path, body, headers=headers)
        assert (response.status_code, response.json()["error"]) == (403, "request_forged")
    assert (await PersonAt(api.anonymous).post("sign-in/link", {"secret": token})).status_code == 200


async def test_a_sign_in_ends_the_session_that_the_browser_had(api: Api, make_link: MakeLink) -> None:
    person = PersonAt(api.anonymous)
    await person.post("sign-in/link", {"secret": await make_link("ada@example.com")})
    before = PersonAt(api.anonymous, cookies=dict(person.cookies))
    assert await before.is_signed_in()
    await person.post("sign-in/link", {"secret": await make_link("ada@example.com")})
    assert person.secret != before.secret
    assert await person.is_signed_in()
    assert not await before.is_signed_in()


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
    person = await _by_invitation(api, api.organization)
    assert [one["id"] for one in (await person.session())["organizations"]] == [api.organization]
    await person.session()
    await person.post("account/password", {"new_password": PASSWORD})
    again = PersonAt(api.anonymous)
    assert (await again.post("sign-in/password", {"email": GRACE, "password": PASSWORD})).status_code == 200
    assert [one["id"] for one in (await again.session())["organizations"]] == [api.organization]
    assert (await again.get(f"{other.organization}/runs")).status_code == 404


async def test_nobody_gets_a_link_to_an_account_that_is_somebodys_already(api: Api, make_link: MakeLink) -> None:
    other = await api.make_account()
    invite = api.services.accounts.invite
    await invite(email=GRACE, name="Grace", organization=api.organization)
    with pytest.raises(AccountExists):
        await invite(email=GRACE, name="Eve", organization=other.organization)
    first = await _by_invitation(api, api.organization)  # no password yet: the same organization may ask again
    await first.session()
    await first.post("account/password", {"new_password": PASSWORD})
    with pytest.raises(AccountExists):
        await invite(email=GRACE, name="Grace", organization=api.organization)
    await with_password(api, make_link, "operator-made@example.com")
    with pytest.raises(AccountExists):
        await invite(email="Operator-Made@example.com", name="Eve", organization=api.organization)
